// The lanes of a task can be zoomed and moved: by Ctrl and the wheel, Shift and the wheel, the keys + − 0 ← →, buttons, and a brush on the map of the
// whole. The pointer reads the time. Without this they are a picture that scrolls.
import { instantAt, stopsOf, writerOf } from "./axis.js";
import { duration } from "./clock.js";
import { drawAxis, drawLanes } from "./lanes.js";
import { isTyping } from "./keys.js";
import { announce } from "./page.js";
import { brushing, showBrush } from "./brush.js";

const most = 4000;
let zoom = 1, drawn = "", asked = 0;

const box = () => document.querySelector("#timeline .lane-scroll");
const canvas = () => document.querySelector("#timeline .lane-canvas");

/** The part of the axis that shows: from 0 to 1. */
const view = () => { const b = box(), w = canvas().clientWidth; return [b.scrollLeft / w, (b.scrollLeft + b.clientWidth) / w]; };

function draw(always) {
  asked = 0;
  const c = canvas();
  if (!c) return;
  const [from, to] = view(), now = `${c.clientWidth} ${c.dataset.zone}`;
  if (always || now !== drawn) drawLanes(c);
  drawn = now;
  drawAxis(c, stopsOf(c.dataset.stops), from - (to - from), to + (to - from), writerOf(c.dataset.zone));
  showBrush(from, to);
  showSpan(stopsOf(c.dataset.stops), from, to);
}

const spanWords = (micros) => (micros < 1e6 ? `${Math.floor(micros / 1e3)} ms` : micros < 1e7 ? `${(micros / 1e6).toFixed(1)} s` : duration(micros / 1e6));

/** Says beside the axis how much of the whole shows. */
function showSpan(stops, from, to) {
  const cell = document.querySelector("#timeline .axis-row[data-whole]"), whole = cell?.dataset.whole;
  if (cell) cell.textContent = to - from > 0.999 ? whole : `${spanWords(instantAt(stops, to) - instantAt(stops, from))} of ${whole}`;
}

function drawSoon() {
  if (!asked) asked = requestAnimationFrame(() => draw(false));
}

/** Zooms so that the instant at a place of the axis stays at so many pixels from the left. */
function zoomTo(z, x, left) {
  zoom = Math.min(most, Math.max(1, z));
  document.documentElement.style.setProperty("--zoom", zoom);
  box().scrollLeft = x * canvas().clientWidth - left;
  draw(false);
}

function zoomBy(factor, left = box().clientWidth / 2) {
  zoomTo(zoom * factor, (box().scrollLeft + left) / canvas().clientWidth, left);
}

/** Shows the part of the axis between two places. */
function show(from, to) {
  const narrow = box().clientWidth / (canvas().clientWidth / zoom); // The lanes may be wider than their box even when all shows.
  zoomTo(narrow / Math.max(to - from, narrow / most), from, 0);
}

function say() {
  const c = canvas(), stops = stopsOf(c.dataset.stops), writer = writerOf(c.dataset.zone), [from, to] = view();
  announce(`${writer.clock(instantAt(stops, from))} to ${writer.clock(instantAt(stops, to))}`, true);
}

const acts = { in: () => zoomBy(1.6), out: () => zoomBy(1 / 1.6), all: () => zoomTo(1, 0, 0) };
const move = (share) => { box().scrollLeft += share * box().clientWidth; drawSoon(); };
const zooming = { "+": acts.in, "=": acts.in, "-": acts.out, "−": acts.out, 0: acts.all };
const moving = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2) }; // Elsewhere arrows scroll.

function press(e) {
  const act = zooming[e.key] || (e.target.closest?.(".lane-scroll") && moving[e.key]);
  if (!act || isTyping(e) || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  e.preventDefault();
  act();
  say();
}

function wheel(e) {
  if (!e.target.closest?.("#timeline .lane-scroll")) return;
  if (e.ctrlKey || e.metaKey) zoomBy(2 ** (-e.deltaY / 200), e.clientX - box().getBoundingClientRect().left);
  else if (e.shiftKey) box().scrollLeft += e.deltaY || e.deltaX;
  else return;
  e.preventDefault();
}

function cross(e) {
  const c = canvas(), line = c?.querySelector(".cross");
  if (!line) return;
  const inside = e.target.closest?.(".lane-canvas");
  line.hidden = !inside;
  if (!inside) return;
  const at = e.clientX - c.getBoundingClientRect().left, b = box();
  line.style.insetInlineStart = `${at}px`;
  line.toggleAttribute("data-end", at - b.scrollLeft > b.clientWidth - 110);
  line.firstChild.textContent = writerOf(c.dataset.zone).clock(instantAt(stopsOf(c.dataset.stops), at / c.clientWidth));
}

export function timeline() {
  if (!canvas()) return;
  document.addEventListener("keydown", press);
  document.addEventListener("wheel", wheel, { passive: false });
  document.addEventListener("pointermove", cross, { passive: true });
  document.addEventListener("scroll", (e) => { if (e.target === box()) drawSoon(); }, { capture: true, passive: true });
  document.addEventListener("click", (e) => { const act = acts[e.target.closest?.("[data-zoom]")?.dataset.zoom]; if (act) { act(); say(); } });
  document.addEventListener("fleetglass:patched", () => draw(true));
  addEventListener("resize", drawSoon);
  brushing(view, show);
  draw(true);
}
