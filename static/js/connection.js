// Whether the server is still there. A page whose stream is lost says so, greys its values and stops its countdowns, because what it
// shows is no longer true.
import { announce } from "./page.js";

const patience = 4000;              // Milliseconds without a sign of the server; it gives one every two seconds.
const first = 1000, most = 30000;   // Milliseconds between two tries to connect.

let heard = Date.now(), since = 0, tries = 0;

/** Whether the server is out of reach. */
export const isLost = () => since > 0;

/** How long to wait before the next try, in milliseconds; longer each time. */
export const nextTry = () => Math.min(most, first * 2 ** tries++);

/** Takes a sign of the server. It is true when the connection had been lost. */
export function hear() {
  heard = Date.now();
  if (!since) return false;
  since = tries = 0;
  show();
  announce("Connection restored", true);
  return true;
}

/** Says that the connection is lost. */
export function lose() {
  if (since) return;
  since = heard;
  show();
  announce("Connection lost", true);
}

function words(seconds) {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} m` : `${Math.floor(seconds / 3600)} h`;
}

function show() {
  const pill = document.getElementById("lost");
  document.body.toggleAttribute("data-lost", isLost());
  pill.hidden = !isLost();
  if (isLost()) pill.querySelector("b").textContent = words(Math.floor((Date.now() - since) / 1000));
}

/** Watches for silence, and counts the time since the last sign. */
export function watch() {
  heard = Date.now();
  setInterval(() => {
    if (Date.now() - heard > patience) lose();
    if (isLost()) show();
  }, 1000);
}
