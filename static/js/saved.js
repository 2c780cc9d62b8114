// Views of the task list that a reader keeps, in this browser only.

const key = "fleetglass.views";
const place = document.getElementById("saved");

function read() {
  try { return JSON.parse(localStorage.getItem(key)) || []; } catch { return []; }
}

function write(views) {
  localStorage.setItem(key, JSON.stringify(views.slice(-20)));
  show();
}

function show() {
  const views = read();
  place.hidden = views.length === 0;
  place.querySelectorAll(".saved-view").forEach((e) => e.remove());
  for (const v of views) {
    const group = document.createElement("span"), link = document.createElement("a"), remove = document.createElement("button");
    group.className = "saved-view";
    link.className = "chip";
    link.href = v.search;
    link.textContent = v.name;
    if (v.search === (location.search || "?")) link.setAttribute("aria-current", "true");
    remove.className = "btn quiet icon";
    remove.type = "button";
    remove.textContent = "×";
    remove.setAttribute("aria-label", `Forget the view ${v.name}`);
    remove.addEventListener("click", () => write(read().filter((o) => o.name !== v.name)));
    group.append(link, remove);
    place.append(group);
  }
}

export function savedViews() {
  const button = document.getElementById("save-view"), dialog = document.getElementById("save-dialog");
  if (!place || !button || !dialog) return;
  const name = dialog.querySelector("input");
  button.addEventListener("click", () => { name.value = document.getElementById("q").value; dialog.showModal(); name.select(); });
  document.getElementById("save-cancel").addEventListener("click", () => dialog.close("cancel"));
  dialog.addEventListener("close", () => {
    const text = name.value.trim().slice(0, 60);
    if (dialog.returnValue !== "save" || !text) return;
    write([...read().filter((v) => v.name !== text), { name: text, search: location.search || "?" }]);
  });
  show();
}
