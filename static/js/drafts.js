// What somebody types into the forms about a dead letter is kept while the tab is open: another message may be opened, and the page left, before it is sent.
import { tell } from "./page.js";

const mine = 'form.act[action^="/dlq/"]';
const prefix = "fleetglass.draft ";

/** The fields of a form that somebody fills in, by name, and for choices by value. */
const fields = (form) => [...form.elements].filter((e) => e.name && !/^(hidden|submit|fieldset)$/.test(e.type));
const slot = (e) => (/^(radio|checkbox)$/.test(e.type) ? `${e.name}=${e.value}` : e.name);
const read = (e) => (/^(radio|checkbox)$/.test(e.type) ? e.checked : e.value);
const first = (e) => (/^(radio|checkbox)$/.test(e.type) ? e.defaultChecked : e.tagName === "SELECT" ? ([...e.options].find((o) => o.defaultSelected) || e.options[0])?.value : e.defaultValue);

function write(e, value) {
  if (typeof value === "boolean") e.checked = value;
  else e.value = value;
}

/** Names the draft of a form: the message, and the action in which way. */
function key(form) {
  const hidden = (name) => form.querySelector(`input[type=hidden][name=${name}]`)?.value || "";
  return prefix + [form.getAttribute("action"), hidden("action"), hidden("as")].join(" ");
}

function keep(form) {
  const typed = Object.fromEntries(fields(form).filter((e) => read(e) !== first(e)).map((e) => [slot(e), read(e)]));
  try {
    if (Object.keys(typed).length > 0) sessionStorage.setItem(key(form), JSON.stringify(typed));
    else sessionStorage.removeItem(key(form));
  } catch {
    // There is no room for it: it is kept on the page only.
  }
}

/** Puts what was typed before back into the forms of a part of the page, and opens them. */
export function restoreDrafts(part) {
  let found = 0;
  for (const form of part.querySelectorAll(`.actions-panel ${mine}`)) {
    const draft = JSON.parse(sessionStorage.getItem(key(form)) || "null");
    if (!draft) continue;
    for (const e of fields(form)) if (slot(e) in draft) write(e, draft[slot(e)]);
    const folded = form.closest("details");
    if (folded && found === 0) folded.open = true; // One is open at a time.
    found++;
  }
  if (found > 0) tell("What you typed before is still here");
}

/** Forgets the drafts of which the key begins so. */
function forget(start) {
  for (const k of Object.keys(sessionStorage)) if (k.startsWith(start)) sessionStorage.removeItem(k);
}

export function drafts() {
  document.addEventListener("input", (e) => { const form = e.target.closest?.(mine); if (form) keep(form); });
  document.addEventListener("submit", (e) => {
    const to = e.target.getAttribute("action") || "";
    if (e.target.id === "do" && to.startsWith("/dlq/")) forget(`${prefix}${to} `); // It is done.
    else if (to === "/logout") forget(prefix);
  });
  restoreDrafts(document);
}
