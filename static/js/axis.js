// The axis of a timeline: instants and places, round times between, and how they are written in the reader's zone. Instants are microseconds
// since the epoch. views/axis.go writes the same for a page that no script stretches.

const second = 1e6, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute,
  10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day];

/** Pixels that a letter of the lanes takes, about. */
export const letter = 6.2;

/** The pairs of instants and places between which an axis is linear. */
export const stopsOf = (text) => text.split(" ").map((pair) => pair.split(":").map(Number));

/** The instant at a place. */
export function instantAt(stops, x) {
  const i = Math.max(1, stops.findIndex(([, to]) => x <= to));
  const [[at, from], [until, to]] = x > stops.at(-1)[1] ? stops.slice(-2) : stops.slice(i - 1, i + 1);
  const share = to > from ? (x - from) / (to - from) : 0;
  return at + Math.min(1, Math.max(0, share)) * (until - at);
}

function placeAt(stops, at) {
  const i = Math.max(1, stops.findIndex(([until]) => at <= until));
  const [[from, a], [to, b]] = stops.slice(i - 1, i + 1);
  return to > from ? a + (b - a) * (at - from) / (to - from) : a;
}

const width = (step) => (step < second ? 12 : step < minute ? 8 : 5) * letter + 30;

function stepFor(length, pixels) {
  return steps.find((step) => length / step * width(step) <= pixels) || Math.max(7 * day, Math.ceil(length / day) * day);
}

/** What writes instants of a zone. */
export function writerOf(zone) {
  const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", ...options });
  const clock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 }), date = format({ day: "numeric", month: "short" });
  const parts = format({ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  return {
    clock: (at) => clock.format(at / 1000),
    day: (at) => date.format(at / 1000),
    offset(at) {
      const p = Object.fromEntries(parts.formatToParts(at / 1000).map((x) => [x.type, Number(x.value)]));
      return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) * 1000 - Math.floor(at / second) * second;
    },
  };
}

/** Round times along an axis of so many pixels, of which the part between two places shows. */
export function ticks(stops, pixels, from, to, writer) {
  const out = [];
  let shown = "", end = 0;
  for (let i = 1; i < stops.length; i++) {
    const [[at, a], [until, b]] = stops.slice(i - 1, i + 1);
    if (b < from || a > to) continue;
    const step = stepFor(until - at, (b - a) * pixels), offset = writer.offset(at), half = width(step) / 2 / pixels;
    const first = Math.max(Math.floor((at + offset) / step), Math.floor((instantAt(stops, Math.max(a, from)) + offset) / step) - 1) + 1;
    for (let t = first * step - offset; t <= until && placeAt(stops, t) <= to + half; t += step) {
      const x = placeAt(stops, t), day = writer.day(t);
      if (x - half < end || x + half > 1) continue;
      out.push({ x, label: writer.clock(t).slice(0, step < second ? 12 : step < minute ? 8 : 5), day: day === shown ? "" : day });
      shown = day;
      end = x + half;
    }
  }
  return out;
}
