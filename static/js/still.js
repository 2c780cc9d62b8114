// Parts of a page that hold still while the pointer or the focus is in them. Their rows change in place; when rows come, go or change their
// order, a button in the corner says so and shows it. The button takes no room, so that nothing moves.
import { announce, morph } from "./page.js";

const later = new Map(); // What waits, by the id of the part.

const slot = (part) => part.dataset.live === "slot";
const rows = (part) => slot(part) ? [...part.children].filter((e) => e.id) : [...part.querySelectorAll("tr[id], li[id]")];
const ids = (part) => rows(part).map((r) => r.id);
const inUse = (part) => part.matches(":hover") || part.contains(document.activeElement);

/** Whether a part is left as it is for now. Rows that stay are changed all the same. */
export function holdsStill(part, now) {
  if (!part.matches("[data-still]") || !inUse(part)) {
    later.delete(part.id);
    return false;
  }
  const before = ids(part), after = ids(now);
  if (before.join() === after.join()) return false;
  for (const row of slot(part) ? [] : rows(now)) {
    const same = document.getElementById(row.id);
    if (same && part.contains(same) && !same.isEqualNode(row)) morph(same, document.adoptNode(row.cloneNode(true)));
  }
  later.set(part.id, now.cloneNode(true));
  offer(part, after.filter((id) => !before.includes(id)).length);
  return true;
}

function offer(part, n) {
  let button = part.querySelector(":scope > .later");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "chip later";
    button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => show(part));
    part.append(button);
  }
  const text = n > 0 ? `${n} new: show` : "Changed: show";
  if (button.textContent !== text) announce(text);
  button.textContent = text;
}

function show(part) {
  const now = later.get(part.id);
  later.delete(part.id);
  if (now) morph(part, document.adoptNode(now));
  document.dispatchEvent(new Event("fleetglass:patched"));
}

/** Looks at the server again once the reader has left a part in which something waits. */
export function letGo(look) {
  const left = () => { if ([...later.keys()].some((id) => { const part = document.getElementById(id); return part && !inUse(part); })) look(); };
  document.addEventListener("pointerout", () => setTimeout(left), { passive: true });
  document.addEventListener("focusout", () => setTimeout(left));
}
