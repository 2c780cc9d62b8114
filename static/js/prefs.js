// Theme and time zone without a detour over the server. Both live in cookies, so that the next page is written right at once.
import { tell } from "./page.js";

const keep = (name, value) => {
  document.cookie = `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=34560000; SameSite=Lax${location.protocol === "https:" ? "; Secure" : ""}`;
};

export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  keep("fleetglass_theme", root.dataset.theme);
}

export function preferences() {
  document.getElementById("theme").addEventListener("click", (e) => { e.preventDefault(); toggleTheme(); });
  const form = document.querySelector(".prefs");
  form.addEventListener("submit", () => { form.elements.back.value = location.pathname + location.search + location.hash; }); // An event may have been opened since.
  const local = document.querySelector('.prefs button[value="local"]');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (local && zone) local.value = zone;
  const utc = document.querySelector('.prefs button[value="UTC"]');
  local?.addEventListener("click", (e) => {
    if (zone !== "UTC" || utc.getAttribute("aria-pressed") !== "true") return;
    e.preventDefault(); // Nothing would change, and a button that does nothing looks broken.
    tell("Your browser's time zone is UTC: the times are the same.");
  });
}
