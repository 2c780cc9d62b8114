// Rows can be ticked one by one, in ranges with Shift, or all at once; a bar says how many and what can be done with them. Where a list offers
// all that match its filter, beyond this page, that is a box of its own.
import { announce } from "./page.js";
import { copyText } from "./copy.js";

const form = document.getElementById("selection");
const boxes = () => (form ? [...form.querySelectorAll('tbody input[name="id"]')] : []);
const matching = document.getElementById("matching");
let last = null;

/** How many rows are ticked. */
export const selectedCount = () => boxes().filter((b) => b.checked).length;

/** Ticks or unticks a row; with range, every row since the last one as well. */
export function toggleRow(row, range) {
  const box = row && row.querySelector('input[name="id"]');
  if (!box) return;
  set(box, !box.checked, range);
}

export function clearSelection() {
  for (const b of boxes()) b.checked = false;
  last = null;
  show();
}

function set(box, on, range) {
  const all = boxes(), a = all.indexOf(last), b = all.indexOf(box);
  if (range && a >= 0) for (const x of all.slice(Math.min(a, b), Math.max(a, b) + 1)) x.checked = on;
  else box.checked = on;
  last = box;
  show();
}

function show() {
  if (!form) return;
  const all = boxes(), n = selectedCount();
  if (matching && n < all.length) matching.checked = false;
  const bar = document.getElementById("selbar"), head = document.getElementById("all");
  for (const b of all) b.closest("tr").toggleAttribute("aria-selected", b.checked);
  for (const b of all) if (b.checked) b.closest("tr").setAttribute("aria-selected", "true");
  bar.dataset.count = n;
  const said = matching?.checked ? matching.dataset.said : `${n} selected`;
  document.getElementById("selected").textContent = said;
  if (head) { head.checked = n > 0 && n === all.length; head.indeterminate = n > 0 && n < all.length; }
  if (n > 0) announce(said, true);
  document.dispatchEvent(new Event("fleetglass:hold"));
}

export function selection() {
  if (!form) return;
  let shift = false;
  form.addEventListener("click", (e) => { shift = e.shiftKey; }, true);
  form.addEventListener("change", (e) => {
    if (e.target.id === "all" || e.target === matching) {
      if (e.target.id === "all" || matching.checked) for (const b of boxes()) b.checked = e.target.checked;
      show();
    } else if (e.target.name === "id") {
      set(e.target, e.target.checked, shift);
    }
  });
  document.getElementById("clear").addEventListener("click", clearSelection);
  document.getElementById("copy-ids").addEventListener("click", (e) =>
    copyText(boxes().filter((b) => b.checked).map((b) => b.closest("tr").dataset.id).join("\n"), e.currentTarget));
  addEventListener("pageshow", show); // The browser may restore ticks when the reader comes back.
  show();
}
