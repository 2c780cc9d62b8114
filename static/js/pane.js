// A message that died opens beside the list where the page is wide. Without this, and where the page is narrow, its link leads to its own page;
// the address of a list with an entry beside it works everywhere.
import { restoreDrafts } from "./drafts.js";
import { adoptTime, announce, load } from "./page.js";

const beside = document.getElementById("beside");
let asked = 0;

const chosen = () => new URL(location.href).searchParams.get("entry");
const shown = () => beside.firstElementChild;
const rowOf = (id) => [...document.querySelectorAll("#rows tr")].find((r) => r.dataset.id === id);
const linkOf = (row) => row?.querySelector("a.title");
const wide = () => getComputedStyle(beside).getPropertyValue("--opens").trim() === "beside"; // As the styles say it.

function withEntry(href, id) {
  const to = new URL(href);
  to.hash = "";
  if (id) to.searchParams.set("entry", id);
  else to.searchParams.delete("entry");
  return to.href;
}

/** Marks the row of the entry that the address names, and lets "Copy link" name it too. */
function mark() {
  const id = chosen();
  for (const row of document.querySelectorAll("#rows tr")) {
    row.classList.toggle("on", row.dataset.id === id);
    if (row.dataset.id === id) linkOf(row)?.setAttribute("aria-current", "true");
    else linkOf(row)?.removeAttribute("aria-current");
  }
  const copy = document.querySelector(".page-head [data-copy-link]");
  if (copy) copy.href = withEntry(copy.href, id);
}

/** Fills the pane, or empties it. The list gets narrower or wider then, so that its row is kept where the reader saw it. */
function fill(row, children) {
  const before = row?.getBoundingClientRect().top;
  beside.replaceChildren(...children);
  mark();
  if (row) scrollBy({ top: row.getBoundingClientRect().top - before, behavior: "instant" });
  document.dispatchEvent(new Event("fleetglass:patched"));
}

async function open(href, push) {
  const mine = ++asked, page = await load(href);
  if (mine !== asked) return; // The reader went on.
  const now = page?.getElementById("beside");
  if (!now?.firstElementChild) { location.href = href; return; }
  if (push) history.pushState(null, "", href);
  adoptTime(page);
  fill(rowOf(chosen()), document.adoptNode(now).children);
  announce(`${document.getElementById("entry-h").textContent}: open beside the list`, true);
  restoreDrafts(beside);
}

function choose(row) {
  if (shown()?.dataset.id === row.dataset.id) document.getElementById("entry-h").focus();
  else open(withEntry(location.href, row.dataset.id), true);
}

function empty(row) {
  asked++;
  const inside = beside.contains(document.activeElement);
  fill(row, []);
  if (inside) linkOf(row)?.focus({ preventScroll: true });
}

/** Closes the pane. False where none is open, or where the reader types in it: what was typed is not to be lost. */
export function closePane() {
  if (!beside || !shown() || document.activeElement.matches("#beside :is(input, textarea, select)")) return false;
  const row = rowOf(shown().dataset.id);
  history.pushState(null, "", withEntry(location.href, ""));
  empty(row);
  announce("Closed", true);
  return true;
}

function press(e) {
  if (e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const row = e.target.closest("#rows a.title")?.closest("tr");
  if (row && wide()) choose(row);
  else if (!e.target.closest("#beside [data-close]") || !closePane()) return;
  e.preventDefault();
}

function goBack() {
  const id = chosen();
  if (id === (shown()?.dataset.id ?? null)) return;
  if (id) open(location.href, false);
  else empty(rowOf(shown().dataset.id));
}

export function pane() {
  if (!beside) return;
  document.addEventListener("click", press);
  document.addEventListener("fleetglass:patched", mark);
  addEventListener("popstate", goBack);
}
