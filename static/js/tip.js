// Shows a text about something while the pointer or the focus is on it: the whole of what is shortened in the lanes, a title that is cut, or why a figure is
// missing. Screen readers get the same text from the thing itself.

let tip = null, of = null;

/** The title that something is in, where it is cut. */
function cutTitle(at) {
  const title = at.closest?.("a.title");
  return title && (title.scrollWidth > title.clientWidth || title.scrollHeight > title.clientHeight + 2) ? title : null;
}

function show(e) {
  of = e.target.closest?.("[data-tip]") || cutTitle(e.target);
  if (!of) return hide();
  if (!tip) {
    tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("aria-hidden", "true");
    document.body.append(tip);
  }
  of.querySelector(":scope > title")?.remove(); // The browser would show it as well.
  of.removeAttribute("title");
  tip.textContent = of.dataset.tip || of.textContent;
  tip.hidden = false;
  place();
}

function place() {
  if (!of || !tip) return;
  const at = of.getBoundingClientRect(), size = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${at.bottom + size.height + 8 < innerHeight ? at.bottom + 6 : at.top - size.height - 6}px`;
}

function hide() {
  of = null;
  if (tip) tip.hidden = true;
}

export function tips() {
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, show, { passive: true });
  for (const kind of ["focusout", "pointerdown"]) document.addEventListener(kind, hide, { passive: true });
  document.addEventListener("scroll", place, { capture: true, passive: true });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
}
