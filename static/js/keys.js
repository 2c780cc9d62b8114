// The keyboard: single keys that find, go and look. None of them changes anything in the fleet.
import { closeDone, goToUndo } from "./done.js";
import { clearSelection, selectedCount, toggleRow } from "./select.js";
import { togglePause } from "./live.js";
import { tell } from "./page.js";
import { closePane } from "./pane.js";
import { toggleTheme } from "./prefs.js";

const places = { o: "/", t: "/tasks", i: "/in-flight", a: "/agents", d: "/dlq?status=open", l: "/alerts", u: "/duplicates", r: "/reconciliation" };
let goUntil = 0;

const row = "table[data-rows] tbody tr, :is(ul, ol)[data-rows] > li";
const rows = () => [...document.querySelectorAll(row)].filter((r) => link(r) && r.getClientRects().length > 0);
const link = (row) => row.querySelector("a.title, a.ev, a.what");
const current = () => document.activeElement?.closest(row) || document.querySelector(".cursor") || document.querySelector("table[data-rows] tr.on");

function move(step) {
  const all = rows(), here = all.indexOf(current());
  const next = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step))];
  if (!next) return;
  document.querySelector(".cursor")?.classList.remove("cursor");
  next.classList.add("cursor");
  link(next).focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function search() {
  const box = document.getElementById("q");
  if (!box) return;
  box.focus();
  box.select();
}

// What was opened is closed first, and the focus goes back to what opened it. A browser does so for a popover.
function escape() {
  if (document.querySelector(":popover-open")) return;
  const menu = document.querySelector("details.menu[open]");
  if (menu) {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
  else if (closeDone()) return;
  else if (selectedCount() > 0) clearSelection();
  else if (!closePane()) {
    document.querySelector(".cursor")?.classList.remove("cursor");
    document.activeElement?.blur();
  }
}

/** Fetches the palette, which costs nothing until somebody wants it. */
async function palette() {
  const module = await import("./palette.js").catch(() => null);
  if (module) module.openPalette();
  else tell("The server does not answer, so the palette cannot be opened.", true);
}

/** Lists the keys that this page has something for. */
function help() {
  const sheet = document.getElementById("keys");
  for (const line of sheet.querySelectorAll("[data-needs]")) line.hidden = !document.querySelector(line.dataset.needs);
  sheet.showModal();
}

/** Whether a key goes into a field. */
export const isTyping = (e) => e.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

function press(e) {
  if (e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && !document.querySelector("dialog[open]")) {
    e.preventDefault();
    palette();
    return;
  }
  if (e.key === "Escape" && !document.querySelector("dialog[open]")) return escape();
  if (isTyping(e) || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
  if (goUntil > performance.now() && places[e.key]) {
    goUntil = 0;
    e.preventDefault();
    location.href = places[e.key];
    return;
  }
  goUntil = 0;
  const act = {
    "/": search,
    "?": help,
    g: () => { goUntil = performance.now() + 1500; },
    j: () => move(1),
    k: () => move(-1),
    x: () => toggleRow(current(), false),
    X: () => toggleRow(current(), true),
    r: () => document.getElementById("pause") && togglePause(),
    t: toggleTheme,
    z: goToUndo,
    Enter: () => { const row = document.querySelector(".cursor"); if (row && document.activeElement === document.body) link(row).click(); },
  }[e.key];
  if (!act) return;
  if (e.key !== "Enter") e.preventDefault();
  act();
}

export function keys() {
  document.addEventListener("keydown", press);
  document.getElementById("help").addEventListener("click", help);
}
