// Says in the title of the tab how many alerts fire, and, where the reader asked for it, in a notification without a sound.

const key = "fleetglass.notify";
const wanted = () => localStorage.getItem(key) === "1" && window.Notification?.permission === "granted";
let firing = Number(document.body.dataset.firing || 0);

/** How many alerts fire, as it stands before the title; empty for none. */
export const titleBadge = () => (firing > 0 ? `▲${firing > 99 ? "99+" : firing} ` : "");

/** Takes a new count of the alerts that fire. It is true when it is another. */
export function takeFiring(n) {
  if (n === undefined || n === firing) return false;
  const more = n > firing;
  firing = n;
  if (more && wanted()) {
    const shown = new Notification("Fleetglass", { body: n === 1 ? "1 alert fires" : `${n} alerts fire`, tag: "fleetglass-alerts", silent: true });
    shown.addEventListener("click", () => { window.focus(); location.href = "/alerts"; });
  }
  return true;
}

function show(button) {
  button.setAttribute("aria-pressed", String(wanted()));
  button.textContent = wanted() ? "Notifications on: turn them off" : "Notify me in this browser";
}

export function notifications() {
  const button = document.getElementById("notify");
  if (!button || !window.Notification) return;
  button.hidden = false;
  show(button);
  button.addEventListener("click", async () => {
    if (wanted()) localStorage.removeItem(key);
    else if (await Notification.requestPermission() === "granted") localStorage.setItem(key, "1");
    show(button);
  });
}
