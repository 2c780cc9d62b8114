// Charts over time. Every step is a link without this; with it, one step of a chart is in the order of the Tab key and the arrow keys go on from there, the
// values of the step stand below the chart at once, and several steps can be marked: by dragging, or with Shift and the arrow keys.
const marked = new Map(); // The marked steps of a chart, by its id: the times of the first and the last one.

const steps = (chart) => [...chart.querySelectorAll("a.pt")];
const figureOf = (step) => step.closest("figure.plotted");
const stepAt = (target) => (target instanceof Element ? target.closest(".pts a.pt") : null);

let drag = null, ignoreClick = false;

/** Says the values of a step below its chart. */
function say(step) {
  const line = figureOf(step)?.querySelector(".readout");
  if (line) line.textContent = step.getAttribute("aria-label");
}

/** Makes one step of each chart reachable by the Tab key: the one that has the focus, else the last. */
function rove(figure, to) {
  const all = steps(figure);
  const here = to || all.find((s) => s === document.activeElement) || all[all.length - 1];
  for (const s of all) s.setAttribute("tabindex", s === here ? "0" : "-1");
}

/** Marks the steps from one to another, and offers what they lead to. */
function mark(figure, a, b) {
  const [from, to] = a.dataset.from <= b.dataset.from ? [a, b] : [b, a];
  marked.set(figure.id, { from: from.dataset.from, to: to.dataset.to });
  show(figure);
}

function clear(figure) {
  marked.delete(figure.id);
  show(figure);
}

function show(figure) {
  const span = marked.get(figure.id), bar = figure.querySelector(".marked-span");
  const within = steps(figure).filter((s) => span && s.dataset.from >= span.from && s.dataset.to <= span.to);
  for (const s of steps(figure)) s.classList.toggle("on", within.includes(s));
  bar.hidden = within.length === 0;
  if (bar.hidden) return;
  const words = within.length === 1 ? "1 step" : `${within.length} steps`;
  const begins = (s) => s.getAttribute("aria-label").split(": ")[0];
  bar.querySelector("span").textContent = `${words} marked: ${begins(within[0])}${within.length > 1 ? ` to ${begins(within.at(-1))}` : ""}`;
  for (const link of bar.querySelectorAll("a[data-brush]")) link.href = narrowed(figure.dataset[link.dataset.brush], span, link.dataset.brush === "tasks" && figure.dataset.by);
}

/** An address with the marked span in place of its own: of the last event, or of another time that a list is narrowed by. */
function narrowed(address, span, by) {
  const url = new URL(address, location.origin);
  if (by) {
    url.searchParams.set("q", `${by}:>=${span.from} ${by}:<${span.to}`);
    return url.pathname + url.search;
  }
  url.searchParams.delete("range");
  url.searchParams.set("from", span.from);
  url.searchParams.set("to", span.to);
  return url.pathname + url.search;
}

function press(e) {
  const step = stepAt(e.target);
  if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
  const figure = figureOf(step), all = steps(figure), here = all.indexOf(step);
  const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: all.length - 1 }[e.key];
  if (e.key === "Escape" && marked.has(figure.id)) clear(figure);
  if (to === undefined) return;
  e.preventDefault();
  const next = all[Math.min(all.length - 1, Math.max(0, to))];
  if (e.shiftKey) {
    figure.anchor ||= step;
    mark(figure, figure.anchor, next);
  } else {
    figure.anchor = null;
  }
  rove(figure, next);
  next.focus({ preventScroll: true });
}

function begin(e) {
  const step = stepAt(e.target);
  if (!step || e.button !== 0 || e.pointerType === "touch") return;
  drag = { figure: figureOf(step), from: step };
}

function move(e) {
  const step = stepAt(document.elementFromPoint(e.clientX, e.clientY));
  if (step) say(step);
  if (drag && step && figureOf(step) === drag.figure && (step !== drag.from || drag.moved)) {
    drag.moved = true;
    mark(drag.figure, drag.from, step);
  }
}

function end() {
  ignoreClick = !!drag?.moved; // What was a drag is no click on a link.
  drag = null;
  setTimeout(() => { ignoreClick = false; });
}

function setUp() {
  for (const figure of document.querySelectorAll("figure.plotted")) {
    rove(figure);
    show(figure);
    const here = figure.querySelector("a.pt:focus") || figure.querySelector("a.pt:hover");
    if (here) say(here); // The server does not know where the reader is.
  }
}

export function plots() {
  if (!document.querySelector("figure.plotted")) return;
  setUp();
  document.addEventListener("fleetglass:patched", setUp);
  document.addEventListener("focusin", (e) => { const step = stepAt(e.target); if (step) { rove(figureOf(step), step); say(step); } });
  document.addEventListener("keydown", press);
  document.addEventListener("pointerdown", begin);
  document.addEventListener("pointermove", move, { passive: true });
  document.addEventListener("pointerup", end);
  document.addEventListener("dragstart", (e) => { if (stepAt(e.target)) e.preventDefault(); });
  document.addEventListener("click", (e) => {
    if (ignoreClick && stepAt(e.target)) e.preventDefault();
    const button = e.target.closest?.('[data-brush="clear"]');
    if (button) clear(button.closest("figure"));
  }, true);
}
