// The palette: everything that can be reached from here, by the keyboard alone. It is fetched when it is first opened. What it finds is the page Search,
// which does the same without it.
import { announce, load } from "./page.js";

let dialog, input, list, at = -1, asked = 0, later = 0;
let waits = false, chosen = false; // What is shown is older than the text; Enter was pressed meanwhile.

/** Opens the palette, empty. */
export function openPalette() {
  if (!dialog) build();
  if (dialog.open) return;
  input.value = "";
  waits = chosen = false;
  dialog.showModal();
  fill([]);
  ask();
}

function build() {
  dialog = document.createElement("dialog");
  dialog.id = "palette";
  dialog.className = "dialog palette";
  dialog.setAttribute("aria-label", "Search everything");
  input = document.createElement("input");
  input.className = "input";
  input.type = "text";
  input.spellcheck = false;
  input.autocomplete = "off";
  input.placeholder = "Page, agent, task id, text or action";
  for (const [name, value] of [["role", "combobox"], ["aria-label", "Search everything"], ["aria-autocomplete", "list"], ["aria-expanded", "true"], ["aria-controls", "palette-list"]]) input.setAttribute(name, value);
  list = document.createElement("div");
  list.id = "palette-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Found");
  dialog.append(input, list);
  document.body.append(dialog);
  input.addEventListener("input", () => { waits = true; clearTimeout(later); later = setTimeout(ask, 150); });
  input.addEventListener("keydown", press);
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
}

/** What can be done on this page. A button that sends a form is only gone to: the palette changes nothing by itself. */
function actions(text) {
  const found = [], seen = new Set();
  for (const e of document.querySelectorAll(".main a.btn, .main button.btn, .main summary.btn, #pause, #theme, #help")) {
    const label = (e.getAttribute("aria-label") || e.innerText).trim().replace(/\s+/g, " ");
    if (!label || seen.has(label) || e.disabled || e.closest("#rows, #selbar, .pager") || e.getClientRects().length === 0) continue;
    seen.add(label);
    if (label.toLowerCase().includes(text.toLowerCase())) found.push({ label, note: "on this page", run: () => act(e) });
  }
  return found.slice(0, 12);
}

function act(e) {
  if (e.type === "submit" && e.form?.method === "post") {
    e.scrollIntoView({ block: "center" });
    e.focus();
  } else e.click();
}

async function ask() {
  const mine = ++asked, text = input.value.trim();
  const page = await load("/search?q=" + encodeURIComponent(text));
  if (mine !== asked || !dialog.open) return;
  const groups = [...(page?.querySelectorAll("#found section") || [])].map((s) => ({
    name: s.getAttribute("aria-label"),
    found: [...s.querySelectorAll("li")].map((li) => ({ label: li.querySelector("a").textContent, note: li.querySelector("span").textContent, run: () => location.assign(li.querySelector("a").getAttribute("href")) })),
  }));
  const problem = page ? page.querySelector("#problem")?.textContent.trim() : "The server does not answer.";
  const here = actions(text);
  waits = input.value.trim() !== text;
  fill([...(here.length && text ? [{ name: "Actions", found: here }] : []), ...groups, ...(here.length && !text ? [{ name: "Actions", found: here }] : [])], problem);
}

function fill(groups, problem = "") {
  let n = 0;
  list.replaceChildren(...groups.map((g) => {
    const group = document.createElement("div"), head = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", g.name);
    head.className = "sm dim";
    head.setAttribute("aria-hidden", "true");
    head.textContent = g.name;
    group.append(head, ...g.found.map((f) => option(f, n++)));
    return group;
  }));
  if (problem) {
    const p = document.createElement("div");
    p.className = "problem bad";
    p.setAttribute("role", "option");
    p.setAttribute("aria-disabled", "true");
    p.textContent = problem;
    list.prepend(p);
  }
  mark(n > 0 ? 0 : -1);
  if (chosen && !waits && n > 0) return choose(options()[0]);
  chosen = false;
  if (input.value.trim()) announce(n === 1 ? "1 found" : `${n} found`, true);
}

function option(f, n) {
  const o = document.createElement("div"), label = document.createElement("span"), note = document.createElement("span");
  o.id = `palette-${n}`;
  o.className = "option";
  o.setAttribute("role", "option");
  label.textContent = f.label;
  note.className = "sm dim";
  note.textContent = f.note;
  o.append(label, " ", note); // A reader that speaks the option hears two words, not one.
  o.run = f.run;
  o.addEventListener("click", () => choose(o));
  return o;
}

const options = () => [...list.querySelectorAll(".option")];

function mark(n) {
  at = n;
  options().forEach((o, i) => o.setAttribute("aria-selected", String(i === at)));
  const o = options()[at];
  if (o) {
    input.setAttribute("aria-activedescendant", o.id);
    o.scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
}

function choose(o) {
  dialog.close();
  o.run();
}

function press(e) {
  const all = options();
  if (e.key === "ArrowDown" && all.length) mark((at + 1) % all.length);
  else if (e.key === "ArrowUp" && all.length) mark((at + all.length - 1) % all.length);
  else if (e.key === "Enter" && waits) chosen = true; // What the text finds is chosen once it is known.
  else if (e.key === "Enter" && all[at]) choose(all[at]);
  else return;
  e.preventDefault();
}
