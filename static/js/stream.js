// The stream of changes, one for all tabs of a browser, because browsers open few connections to a site: one tab holds it and tells the
// others. A tab about an ended task wishes for the changes of that task only; where no tab wishes for more, the stream has no more.
import { nextTry } from "./connection.js";

const name = "fleetglass.live", wish = "fleetglass.wish ", everything = "";

let url, take, channel;
let sign, dropWish;             // What this tab wishes for, and the end of the lock that says so.
let holds = false, only, again; // Whether this tab holds the stream, what it asked for, and the next try.
const streams = [];             // The last is the one that counts. Those before it stay until it is open, so that nothing is missed.

/** Follows the task with the sign, or all where there is none. Each sign of the server goes to take. */
export function follow(address, about, took) {
  [url, take] = [address, took];
  addEventListener("pagehide", release);
  if (!navigator.locks || !window.BroadcastChannel) {
    sign = about;
    return hold();
  }
  channel = new BroadcastChannel(name);
  channel.addEventListener("message", (e) => (e.data.wish ? adjust() : take(e.data)));
  document.body.dataset.stream = "shared";
  wishFor(about);
  navigator.locks.request(name, () => new Promise((free) => {
    addEventListener("pagehide", free);
    hold();
  }));
}

/** Says anew what this tab wishes for. A lock keeps the wish for as long as the tab is there. */
export function wishFor(about) {
  if (about === sign) return;
  sign = about;
  if (!channel) return adjust();
  navigator.locks.request(wish + about, { mode: "shared" }, () => new Promise((free) => {
    dropWish?.();
    dropWish = free;
    channel.postMessage({ wish: true });
    adjust();
  }));
}

// What all tabs wish for: signs, or everything.
async function wishes() {
  if (!channel) return sign;
  const { held } = await navigator.locks.query();
  const signs = held.filter((lock) => lock.name.startsWith(wish)).map((lock) => lock.name.slice(wish.length));
  return signs.includes(everything) ? everything : [...new Set(signs)].sort().join(" ");
}

function hold() {
  holds = true;
  adjust();
}

function release() {
  holds = false;
  clearTimeout(again);
  for (const stream of streams.splice(0)) stream.close();
  dropWish?.();
}

// Asks for what is wished for now, where that is something else than before.
async function adjust() {
  const wished = await wishes();
  if (holds && (wished !== only || streams.length === 0)) open(wished);
}

// The browser's own way to connect again knows no longer pauses, so that each try is a stream of its own.
function open(wished) {
  clearTimeout(again);
  only = wished;
  const stream = new EventSource(only === everything ? url : `${url}?only=${encodeURIComponent(only)}`);
  streams.push(stream);
  stream.addEventListener("open", () => {
    const former = streams.splice(0, streams.indexOf(stream));
    for (const s of former) s.close();
    document.body.dataset.stream = "open";
    tell({ open: true });
    if (former.length > 0) tell({ tasks: 0 }); // A tab that came in between has not heard of everything.
  });
  stream.addEventListener("error", () => lost(stream));
  stream.addEventListener("change", (e) => tell(JSON.parse(e.data)));
  stream.addEventListener("reset", () => tell({ tasks: 0 }));
  stream.addEventListener("beat", (e) => {
    tell(JSON.parse(e.data));
    adjust(); // Nobody says that a tab was closed.
  });
}

function lost(stream) {
  stream.close();
  if (streams.includes(stream)) streams.splice(streams.indexOf(stream), 1);
  if (streams.length > 0 || !holds) return;
  document.body.dataset.stream = "lost";
  tell({ lost: true });
  again = setTimeout(adjust, nextTry());
}

function tell(message) {
  take(message);
  channel?.postMessage(message);
}
