// What several modules need: saying things to screen readers, and patching the page from its own address.

const status = document.getElementById("announce");
let said = 0, later = 0;

/** Tells screen readers something, at most every few seconds unless it answers a person's own action. What comes sooner is said later; of several the last. */
export function announce(text, now = false) {
  clearTimeout(later);
  const wait = now ? 0 : said + 8000 - Date.now();
  if (wait > 0) {
    later = setTimeout(() => announce(text, true), wait);
    return;
  }
  said = Date.now();
  status.textContent = "";
  requestAnimationFrame(() => { status.textContent = text; });
}

let gone = 0;

/** Says in words what came of a person's own action: for a moment on the page, longer where it failed, and to screen readers. */
export function tell(text, failed = false) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  toast.classList.toggle("bad", failed);
  toast.hidden = false;
  clearTimeout(gone);
  gone = setTimeout(() => { toast.hidden = true; }, failed ? 10000 : 4000);
  announce(text, true);
}

/** Fetches a page of this site and returns its document, or null when that fails. */
export async function load(href) {
  try {
    const answer = await fetch(href, { headers: { Accept: "text/html" }, cache: "no-store", credentials: "same-origin" });
    if (answer.redirected && new URL(answer.url).pathname === "/login") location.assign(answer.url); // The session has ended.
    if (!(answer.headers.get("Content-Type") || "").startsWith("text/html")) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return null;
  }
}

/** Changes an element into another one, touching only what differs. What the reader opened stays open, and focus stays. */
export function morph(from, to) {
  for (const d of from.querySelectorAll("details[open]")) {
    const same = d.id ? to.querySelector(`#${CSS.escape(d.id)}`) : there(path(d, from), to);
    if (same && same.tagName === "DETAILS") same.open = true;
  }
  if (from.tagName === "DETAILS" && from.open) to.open = true;
  window.Idiomorph.morph(from, to, { morphStyle: "outerHTML", ignoreActiveValue: true });
}

/** The element at a path; nothing where there is none. */
function there(at, root) {
  return at && at.reduce((e, i) => e && e.children[i], root);
}

function path(element, root) {
  const at = [];
  for (let e = element; e !== root; e = e.parentElement) {
    if (!e.parentElement) return null;
    at.unshift([...e.parentElement.children].indexOf(e));
  }
  return at;
}

/** Takes over the time at which the server wrote a page. */
export function adoptTime(page) {
  const now = page.body.dataset.now;
  if (now) document.body.dataset.now = now;
  document.dispatchEvent(new Event("fleetglass:time"));
}
