// Pages follow the fleet. The stream only says that something changed; the page then asks its own address again and patches the
// parts that are marked, so that what is shown is always what the server would write. Rows of a list never move under the cursor:
// new ones wait behind "12 new: show" (still.js). Nothing is patched while the reader pauses, has ticked rows, or has a menu open.
import { hear, isLost, lose, watch } from "./connection.js";
import { adoptTime, announce, load, morph } from "./page.js";
import { checked } from "./clock.js";
import { takeFiring, titleBadge } from "./notify.js";
import { selectedCount } from "./select.js";
import { holdsStill, letGo } from "./still.js";
import { follow, wishFor } from "./stream.js";

const least = Math.max(1000, Number(document.body.dataset.liveEvery)); // Milliseconds between two looks at the server; more where looking takes long.
let about = document.body.dataset.liveSign; // The sign of the ended task that the page is about; empty for other pages.
const others = 60000;    // The page of an ended task looks this long after others changed: its navigation counts them.
const pulse = 5000;      // Countdowns and bars are looked at again after this time, even without a change.
const fullPage = 50;     // Rows of a page that is followed by another one.
const title = document.title.replace(/^▲\d+\+? /, "");

let paused = sessionStorage.getItem("fleetglass.paused") === "1";
let moved = -Infinity;
let alarm = document.body.dataset.alarm || "", failures = 0;
let dirty = false, running = false, next = 0, timer = 0, later = 0, missed = 0, fresh = 0, waiting = null, told = false;

const held = () => paused || selectedCount() > 0 || !!document.querySelector("details.menu[open], [popover]:popover-open, dialog[open]");

function badge() {
  const n = fresh + (document.hidden || paused ? missed : 0);
  document.title = titleBadge() + (n > 0 ? `(${n > 99 ? "99+" : n}) ${title}` : title);
}

function schedule() {
  dirty = true;
  badge();
  if (timer || running || document.hidden || paused || isLost()) return;
  timer = setTimeout(refresh, Math.max(0, next - performance.now()));
}

async function refresh() {
  timer = 0;
  if (!dirty || running || document.hidden || paused || isLost()) return;
  running = true;
  dirty = false;
  const began = performance.now(), here = location.href;
  const page = await load(here);
  failures = page ? 0 : failures + 1;
  next = performance.now() + Math.max(least, 4 * (performance.now() - began), page ? 0 : Math.min(30000, 1000 * 2 ** failures));
  running = false;
  if (page && here === location.href) apply(page);
  else dirty = true; // Nothing came, or the reader opened something else meanwhile.
  if (dirty) schedule();
}

function apply(page) {
  const before = text("lede") || text("summary");
  adoptTime(page);
  wishFor(about = page.body.dataset.liveSign || "");
  countFresh(page);
  if (held()) {
    waiting = page;
    document.dispatchEvent(new Event("fleetglass:hold"));
    return;
  }
  waiting = null;
  missed = 0;
  patch(page);
  badge();
  const after = text("lede") || text("summary");
  if (fresh === 0 && after && after !== before) announce(after);
}

const text = (id) => document.getElementById(id)?.textContent.trim() || "";

function patch(page) {
  keepCursor(page);
  for (const old of document.querySelectorAll("[data-live][id]")) {
    const now = page.getElementById(old.id);
    if (!now || now.isEqualNode(old) || sameParts(old, now)) continue;
    if (old.matches("tbody[data-list]") && now.matches("tbody")) patchRows(old, now);
    else if (old.tagName !== now.tagName) location.reload();
    else if (pushes(old, now)) dirty = true; // The next look comes soon.
    else if (!underHand(old) && !holdsStill(old, now)) morph(old, document.adoptNode(now));
  }
  document.dispatchEvent(new Event("fleetglass:patched"));
}

// Of a slot only its parts come and go: what is in them is live by itself, or a form that somebody fills in.
function sameParts(old, now) {
  const ids = (slot) => [...slot.children].map((e) => e.id).filter(Boolean).join(" ");
  return old.dataset.live === "slot" && ids(old) === ids(now);
}

// The server does not know which row the keyboard stands on.
function keepCursor(page) {
  const row = document.querySelector(".cursor[id]");
  if (row) page.getElementById(row.id)?.classList.add("cursor");
}

// A banner or a finding that comes or goes moves all below it, so that it waits while the pointer moves over the page.
const pushers = { banners: ":scope > *", attention: "li" };
function pushes(old, now) {
  const parts = pushers[old.id], many = (part) => part.querySelectorAll(parts).length;
  return parts && many(old) !== many(now) && !old.matches(":hover") && document.getElementById("main").matches(":hover") && performance.now() - moved < 3000;
}

// What the pointer is moving over is left as it is, and so are forms that the reader has opened; the next look comes soon.
function underHand(element) {
  if (element.matches(".actions-panel") && element.querySelector(".more[open]")) return true;
  return element.matches("#events, #timeline") && element.matches(":hover") && performance.now() - moved < 3000;
}

// Rows that are on the page change in place; others are left to the reader. What is gone from a list that one page holds is greyed.
function patchRows(old, now) {
  const whole = old.dataset.list === "first" && now.rows.length < fullPage;
  for (const row of old.rows) row.toggleAttribute("data-gone", whole && !!row.id && !now.querySelector(`#${CSS.escape(row.id)}`));
  for (const row of [...now.rows]) {
    const same = row.id && document.getElementById(row.id);
    if (same && old.contains(same) && !same.isEqualNode(row)) morph(same, document.adoptNode(row.cloneNode(true)));
  }
}

function countFresh(page) {
  const list = document.querySelector('tbody[data-list="first"]'), now = page.getElementById("rows"), chip = document.getElementById("fresh");
  if (!list || !chip || !now || !now.rows) return;
  const known = new Set([...list.rows].map((r) => r.id));
  const n = [...now.rows].filter((r) => !known.has(r.id)).length;
  const more = n > 0 && n === now.rows.length ? "+" : "";
  if (n !== fresh && n > 0) announce(`${n}${more} new`);
  fresh = n;
  chip.hidden = n === 0;
  chip.querySelector("span").textContent = `${n}${more} new: show`;
  badge();
}

async function showFresh(e) {
  const page = await load(document.getElementById("fresh").href);
  const list = document.getElementById("rows"), now = page && page.getElementById("rows");
  if (!now) return announce("Not shown: the server does not answer.");
  if (now.tagName !== list.tagName) return;
  const here = document.activeElement === e.target.closest("#fresh");
  keepCursor(page);
  list.replaceChildren(...document.adoptNode(now).children);
  fresh = 0;
  document.getElementById("fresh").hidden = true;
  if (here) list.querySelector("a")?.focus({ preventScroll: true }); // What had the focus is gone.
  badge();
  document.dispatchEvent(new Event("fleetglass:patched"));
}

/** Pauses live updates, or lets them go on. */
export function togglePause() {
  paused = !paused;
  sessionStorage.setItem("fleetglass.paused", paused ? "1" : "0");
  announce(paused ? "Live updates paused" : "Live updates resumed", true);
  showPause();
  if (!paused && (dirty || missed)) schedule();
}

function showPause() {
  const button = document.getElementById("pause");
  if (!button) return;
  button.setAttribute("aria-pressed", String(paused));
  button.querySelector("span").textContent = paused ? (missed ? `Resume (${missed > 99 ? "99+" : missed})` : "Resume") : "Pause";
  const use = button.querySelector("use");
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, paused ? "#play" : "#pause"));
  document.body.dataset.paused = paused ? "1" : "";
  badge();
}

// What concerns the page looks at the server at once. On the page of an ended task the rest only changes its navigation, which waits.
function scheduleFor(concerns) {
  if (concerns || !about) schedule();
  else later ||= setTimeout(() => { later = 0; schedule(); }, others);
}

function changed(tasks, signs) {
  if (about && signs !== undefined && !signs.split(" ").includes(about)) return scheduleFor(false);
  missed += tasks;
  if (paused) showPause();
  schedule();
}

// A sign of the stream: it is open, it is lost, it beats with how the program is, or tasks changed. What changed before the first sign, or while the stream was
// lost, nobody tells: the page looks then.
function pass(sign) {
  if (sign.lost) return lose();
  const untold = hear() || !told;
  told = true;
  if (untold) schedule();
  if (sign.alarm !== undefined) {
    if (alarm !== sign.alarm) schedule();
    alarm = sign.alarm;
  }
  if (sign.checked && !paused) checked(sign.checked);
  if (takeFiring(sign.firing)) scheduleFor(false);
  if (sign.tasks !== undefined) changed(sign.tasks, sign.signs);
}

// What came while the page was held is applied once it is not.
function release() {
  const waits = document.getElementById("waits");
  if (waits) waits.hidden = selectedCount() === 0;
  if (!held() && waiting) schedule();
}

export function live() {
  const url = document.body.dataset.liveUrl;
  if (!url) return;
  document.getElementById("pause")?.addEventListener("click", togglePause);
  document.getElementById("fresh")?.addEventListener("click", (e) => {
    e.preventDefault();
    showFresh(e);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { missed = 0; badge(); if (dirty) schedule(); } });
  document.addEventListener("fleetglass:hold", release);
  document.addEventListener("fleetglass:past", schedule); // What a lease is once its deadline has passed, the server says.
  document.addEventListener("toggle", release, true);
  document.addEventListener("close", release, true);
  addEventListener("pointermove", () => { moved = performance.now(); }, { passive: true });
  letGo(schedule);
  showPause();
  watch();
  follow(url, about, pass);
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
  setInterval(() => { if (document.querySelector(".lease, [data-deadline], [data-running]")) schedule(); }, pulse);
}
