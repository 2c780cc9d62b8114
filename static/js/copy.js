// Links and commands can be copied; without this they are plain links and text.
import { announce } from "./page.js";

export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return false;
  }
  announce("Copied", true);
  if (button && !button.dataset.copied) {
    button.dataset.copied = "";
    setTimeout(() => delete button.dataset.copied, 1500);
  }
  return true;
}

export function copying() {
  document.addEventListener("click", async (e) => {
    const link = e.target.closest("[data-copy-link]");
    if (link && navigator.clipboard && !e.metaKey && !e.ctrlKey && !e.shiftKey) {
      e.preventDefault();
      if (!await copyText(link.href, link)) location.href = link.href;
      return;
    }
    const button = e.target.closest("[data-copy]");
    if (button) copyText(document.querySelector(button.dataset.copy).textContent, button);
  });
}
