// An event opens beside the list without leaving the page; without this its link loads the page with the event open.
import { adoptTime, load, morph } from "./page.js";

let asked = 0;

async function show(href, push) {
  const mine = ++asked, page = await load(href);
  if (mine !== asked) return; // The reader went on.
  if (!page || !page.getElementById("events")) { location.href = href; return; }
  adoptTime(page);
  for (const id of ["timeline", "events"]) {
    const old = document.getElementById(id), now = page.getElementById(id);
    if (old && now) morph(old, document.adoptNode(now));
  }
  document.dispatchEvent(new Event("fleetglass:patched"));
  if (push) history.pushState({ panel: true }, "", href);
}

export function panels() {
  if (!document.getElementById("events")) return;
  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-panel]");
    if (!link || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    const href = link.href instanceof SVGAnimatedString ? link.href.baseVal : link.href;
    show(new URL(href, location.href).href, true);
  });
  addEventListener("popstate", (e) => { if (e.state?.panel || document.getElementById("events")) show(location.href, false); });
}
