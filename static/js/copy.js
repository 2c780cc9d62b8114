// Links and commands can be copied; without this they are plain links and text.
import { tell } from "./page.js";

/** Copies text, also where the browser keeps the clipboard from pages without TLS, and says what came of it. */
export async function copyText(text, button, done = "Copied", instead = "Select the text and copy it by hand.") {
  const copied = await write(text) || copySelected(text);
  tell(copied ? done : `Not copied: this browser does not allow it. ${instead}`, !copied);
  if (copied && button && !button.dataset.copied) {
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 1500);
  }
  return copied;
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// The older way: text that is selected in a field can be copied without the clipboard API.
function copySelected(text) {
  const field = document.createElement("textarea"), focused = document.activeElement;
  field.value = text;
  field.className = "vh";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return copied;
}

export function copying() {
  document.addEventListener("click", async (e) => {
    const link = e.target.closest("[data-copy-link]");
    if (link && !e.metaKey && !e.ctrlKey && !e.shiftKey) {
      e.preventDefault();
      if (!await copyText(link.href, link, "Link copied", "The address of the page is the link now.")) history.replaceState(history.state, "", link.href);
      return;
    }
    const button = e.target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    if (!await copyText(source.textContent, button)) getSelection().selectAllChildren(source);
  });
}
