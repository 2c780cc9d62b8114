// The search box completes the word at the cursor from the list that the page carries. Without this the browser offers the same
// list for the whole field.

const most = 9;

export function suggestions() {
  const input = document.getElementById("q"), words = document.getElementById("words");
  if (!input || !words) return;
  const all = [...words.options].map((o) => ({ value: o.value, label: o.label }));
  const fields = all.filter((o) => o.value.endsWith(":")), options = all.filter((o) => !o.value.endsWith(":"));
  input.removeAttribute("list");
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  input.after(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]]) input.setAttribute(name, value);

  let at = -1;
  const word = () => {
    const end = input.selectionStart ?? input.value.length;
    let start = input.value.lastIndexOf(" ", end - 1) + 1;
    if (input.value[start] === "-") start++; // A minus leaves out what follows.
    return { start, end, text: input.value.slice(start, end) };
  };
  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (n) => {
    at = n;
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) input.setAttribute("aria-activedescendant", list.children[at].id);
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (value) => {
    const w = word(), done = value.endsWith(":") ? value : value + " ";
    input.value = input.value.slice(0, w.start) + done + input.value.slice(w.end).trimStart();
    input.setSelectionRange(w.start + done.length, w.start + done.length);
    input.focus();
    if (value.endsWith(":")) open();
    else close();
  };
  const matches = (text) => {
    const low = text.toLowerCase();
    if (low === "") return fields;
    const known = fields.filter((f) => f.value.startsWith(low) && f.value !== low);
    const first = options.filter((o) => o.value.toLowerCase().startsWith(low) && o.value !== text);
    const inside = low.length > 1 && !low.includes(":") ? options.filter((o) => o.value.toLowerCase().includes(":" + low)) : [];
    return [...known, ...first, ...inside].slice(0, most);
  };
  const open = () => {
    const found = matches(word().text);
    list.replaceChildren(...found.map((o, i) => {
      const li = document.createElement("li"), value = document.createElement("code"), label = document.createElement("span");
      li.id = `suggestion-${i}`;
      li.setAttribute("role", "option");
      value.textContent = o.value;
      label.textContent = o.label;
      li.append(value, label);
      li.addEventListener("pointerdown", (e) => { e.preventDefault(); take(o.value); });
      return li;
    }));
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    mark(-1);
  };
  input.addEventListener("input", open);
  input.addEventListener("click", open);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && !list.hidden) { e.preventDefault(); e.stopPropagation(); close(); return; }
    if (e.key === "ArrowDown" && list.hidden) { open(); return; }
    if (list.hidden || list.children.length === 0) return;
    if (e.key === "ArrowDown") { e.preventDefault(); mark((at + 1) % list.children.length); }
    else if (e.key === "ArrowUp") { e.preventDefault(); mark((at + list.children.length) % (list.children.length + 1) - 1); }
    else if ((e.key === "Enter" || e.key === "Tab") && at >= 0) { e.preventDefault(); take(list.children[at].querySelector("code").textContent); }
  });
}
