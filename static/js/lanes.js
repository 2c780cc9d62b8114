// Draws the lanes of a timeline for the width that they have: round times, marks beside each other, texts where there is room. The server did the
// same for the least width.
import { letter, ticks } from "./axis.js";
import { spread } from "./spread.js";

const svg = (name, attributes, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text) e.textContent = text;
  return e;
};

const percent = (x) => `${Math.round(x * 1e7) / 1e5}%`;

/** Writes the times of the axis for the part that shows. */
export function drawAxis(canvas, stops, from, to, writer) {
  const group = canvas.querySelector(".axis-ticks"), bottom = group.dataset.height, out = [];
  for (const t of ticks(stops, canvas.clientWidth, from, to, writer)) {
    const x = percent(t.x);
    out.push(svg("line", { class: "grid", x1: x, x2: x, y1: 32, y2: bottom }), svg("text", { x, y: 25, "text-anchor": "middle" }, t.label));
    if (t.day) out.push(svg("text", { class: "day", x, y: 12, "text-anchor": "middle" }, t.day));
  }
  group.replaceChildren(...out);
}

/** Places the marks and texts of all lanes. */
export function drawLanes(canvas) {
  const pixels = canvas.clientWidth;
  for (const lane of canvas.querySelectorAll("[data-lane]")) {
    const marks = [...lane.querySelectorAll(".at")].map((e) => ({ e, x: Number(e.dataset.x), low: "low" in e.dataset, rank: Number(e.dataset.rank) }));
    spread(marks, pixels);
    marks.forEach(drawMark);
    const label = lane.querySelector("[data-x].lab");
    if (label) drawLabel(label, pixels);
  }
  for (const text of canvas.querySelectorAll(".in-bar")) text.classList.toggle("folded", !fits(text, pixels));
}

function drawMark(m) {
  const dx = Math.round(m.dx * 10) / 10, words = m.n > 1 ? `${m.e.dataset.label}, and ${m.n - 1} other ${m.n > 2 ? "events" : "event"} near it` : m.e.dataset.label;
  m.e.classList.toggle("folded", m.folded);
  m.e.querySelector(".stem").setAttribute("x2", dx);
  m.e.querySelector("g").setAttribute("transform", `translate(${dx})`);
  const count = m.e.querySelector(".count"), link = m.e.querySelector("a");
  count.classList.toggle("folded", m.n < 2);
  count.textContent = m.n > 1 ? m.n : "";
  const title = m.e.querySelector("title");
  if (title) title.textContent = words;
  if (link) { link.setAttribute("aria-label", words); link.dataset.tip = words; }
}

// A label stands right of its place where it fits there, else left where it fits, else on the side with more room, as far as it fits.
function drawLabel(text, pixels) {
  const x = Number(text.dataset.x), whole = text.dataset.whole, room = (share) => Math.floor((share * pixels - 14) / letter);
  const right = room(1 - x), left = room(x), toLeft = whole.length > right && (whole.length <= left || left > right);
  const most = Math.max(2, toLeft ? left : right);
  text.setAttribute("text-anchor", toLeft ? "end" : "start");
  text.setAttribute("dx", toLeft ? 6 : -6);
  text.textContent = whole.length > most ? whole.slice(0, most - 1) + "…" : whole;
  text.closest("a")?.setAttribute("aria-label", text.textContent === whole ? whole : `${text.textContent} In full: ${whole}`);
}

function fits(text, pixels) {
  const from = Number(text.dataset.x) * pixels, to = from + text.textContent.length * letter + 20;
  if (to >= from + Number(text.dataset.w) * pixels) return false;
  const marks = text.ownerSVGElement.querySelectorAll(`[data-lane="${text.dataset.lane}"] .at:not(.folded, [data-low])`);
  return ![...marks].some((m) => { const at = Number(m.dataset.x) * pixels + Number(m.querySelector(".stem").getAttribute("x2")); return at > from - 8 && at < to + 9; });
}
