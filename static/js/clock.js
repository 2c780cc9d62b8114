// Ages and countdowns go on between two looks at the server, by the server's clock.

import { isLost } from "./connection.js";

let offset = 0;

/** Milliseconds since the epoch by the server's clock. */
export const serverNow = () => Date.now() + offset;

function age(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** How long it is until something is due: "in 1 h" would be said of 119 minutes. */
function until(seconds) {
  return seconds < 3600 ? age(seconds) : duration(seconds).replace(/h 00m$/, " h").replace(/d 0h$/, " d");
}

/** How long so many seconds are, in words. */
export function duration(seconds) {
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  if (seconds <= -1) return "−" + duration(-seconds);
  if (seconds < 60) return `${Math.floor(Math.abs(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${two((seconds % 3600) / 60)}m`;
  return `${Math.floor(seconds / 86400)}d ${Math.floor((seconds % 86400) / 3600)}h`;
}

const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };

function tick() {
  if (document.hidden) return;
  const now = serverNow(), lost = isLost();
  for (const t of document.querySelectorAll(lost ? "time[data-ago=always]" : "time[data-ago]")) {
    const seconds = (now - Date.parse(t.dateTime)) / 1000;
    put(t, seconds >= 1 ? (t.dataset.ago === "due" ? "(due)" : `${age(seconds)} ago`) : seconds >= -1 ? "now" : `in ${until(-seconds)}`);
  }
  if (lost) return; // What counts down is not known any more; how long ago the last sign was still is.
  for (const t of document.querySelectorAll("[data-deadline]")) {
    const left = (Date.parse(t.dataset.deadline) - now) / 1000;
    const past = left <= -1 && !("over" in t.dataset), words = t.nextElementSibling;
    t.classList.toggle("bad", past);
    if (past && words?.dataset.past) put(words, words.dataset.past);
    put(t, duration(past && !words ? left : Math.abs(left)));
  }
  for (const t of document.querySelectorAll("tbody small[data-past]")) {
    if (t.textContent === t.dataset.past || !t.closest("tbody").querySelector("[data-deadline].bad")) continue;
    put(t, t.dataset.past);
    document.dispatchEvent(new Event("fleetglass:past"));
  }
}

/** Takes from the server when it last checked the rules of alerts: a page on which nothing changes is not asked for again. */
export function checked(at) {
  const mark = document.querySelector("#checked time");
  if (mark && Date.parse(at) > Date.parse(mark.dateTime)) mark.dateTime = at;
}

export function ticking() {
  const adopt = () => { const now = Date.parse(document.body.dataset.now); if (now) offset = now - Date.now(); };
  adopt();
  document.addEventListener("fleetglass:time", adopt);
  document.addEventListener("visibilitychange", tick);
  setInterval(tick, 1000);
}
