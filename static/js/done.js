// The notice of what the reader just did, with Undo where the server offers it. It goes by itself, but not from under the pointer or the focus; what was done
// stays on the page it is about.
import { announce } from "./page.js";

const stay = 10000; // Milliseconds.
const notice = () => document.getElementById("done");
const undo = () => document.querySelector("#done .undo");
let timer = 0, from = null, told = "";

/** Moves the focus to Undo. Enter takes back then: no single key does. */
export function goToUndo() {
  if (!undo()) return;
  from = document.activeElement;
  undo().focus();
}

/** Closes the notice, and the address no longer names what was done. False where there is none. */
export function closeDone() {
  const open = notice();
  if (!open) return false;
  const here = new URL(location.href), inside = open.contains(document.activeElement);
  open.remove();
  here.searchParams.delete("did");
  history.replaceState(history.state, "", here);
  if (inside) from?.focus({ preventScroll: true });
  return true;
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(() => { if (notice()?.matches(":hover, :focus-within") || document.hidden) wait(); else closeDone(); }, stay);
}

function show() {
  const text = notice()?.querySelector(".said").textContent.trim() || "";
  if (text && !told) {
    announce(undo() ? `${text}. Press z to go to Undo.` : text, true);
    wait();
  }
  told = text;
}

export function doneNotice() {
  document.addEventListener("fleetglass:patched", show); // An operation may end while its page is open.
  document.addEventListener("click", (e) => {
    if (!e.target.closest?.("#done [data-close]")) return;
    e.preventDefault();
    closeDone();
  });
  show();
}
