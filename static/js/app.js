// The only script that pages name. Each module adds one thing to pages that work without it.
import { ticking } from "./clock.js";
import { keys } from "./keys.js";
import { live } from "./live.js";
import { pane } from "./pane.js";
import { panels } from "./panel.js";
import { preferences } from "./prefs.js";
import { savedViews } from "./saved.js";
import { selection } from "./select.js";
import { suggestions } from "./suggest.js";
import { copying } from "./copy.js";
import { notifications } from "./notify.js";
import { plots } from "./plot.js";

for (const start of [preferences, ticking, copying, selection, suggestions, savedViews, panels, pane, live, keys, notifications, plots]) start();

// The way back from a task keeps the list as it was.
const back = document.querySelector("[data-back]");
if (back && document.referrer.startsWith(location.origin + "/tasks?")) back.href = document.referrer;

// Only tasks have a timeline.
if (document.getElementById("timeline")) import("./timeline.js").then((module) => { module.timeline(); document.body.dataset.lanes = ""; });

document.documentElement.dataset.ready = "";
