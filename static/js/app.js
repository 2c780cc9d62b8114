// The only script that pages name. Each module adds one thing to pages that work without it.
import { ticking } from "./clock.js";
import { doneNotice } from "./done.js";
import { drafts } from "./drafts.js";
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
import { tips } from "./tip.js";

for (const start of [preferences, ticking, copying, selection, suggestions, savedViews, panels, pane, drafts, live, keys, notifications, tips, doneNotice]) start();

// The way back from a task keeps the list as it was.
const back = document.querySelector("[data-back]");
if (back && document.referrer.startsWith(location.origin + "/tasks?")) back.href = document.referrer;

// The current tab is in sight.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 99;

// Only some pages have a plot, and only tasks a timeline.
if (document.querySelector("figure.plotted")) (await import("./plot.js")).plots();
if (document.getElementById("timeline")) import("./timeline.js").then((module) => { module.timeline(); document.body.dataset.lanes = ""; });

document.documentElement.dataset.ready = "";
