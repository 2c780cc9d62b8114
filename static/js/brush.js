// The map of the whole story above the lanes: its brush says which part shows, and can be dragged, stretched at its ends, or drawn anew.

const edge = 6; // Pixels at the ends of the brush that stretch it.

/** Shows which part of the axis the lanes show. */
export function showBrush(from, to) {
  const brush = document.querySelector("#timeline .brush");
  if (!brush) return;
  brush.style.insetInlineStart = `${100 * Math.max(0, from)}%`;
  brush.style.width = `${100 * (Math.min(1, to) - Math.max(0, from))}%`;
}

/** Lets the reader choose a part. view tells which one shows, and show shows another. */
export function brushing(view, show) {
  document.addEventListener("pointerdown", (e) => {
    const map = e.target.closest?.("#timeline .minimap");
    if (!map || e.button !== 0) return;
    e.preventDefault();
    const frame = map.getBoundingClientRect(), [from, to] = view();
    const at = (event) => Math.min(1, Math.max(0, (event.clientX - frame.left) / frame.width));
    const drag = dragOf(at(e), from, to, edge / frame.width);
    const go = (event) => { const part = drag(at(event)); if (part) show(...part); };
    const stop = () => { removeEventListener("pointermove", go); removeEventListener("pointerup", stop); removeEventListener("pointercancel", stop); };
    addEventListener("pointermove", go);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  });
}

// What a drag that begins at a place does to the part that shows.
function dragOf(begin, from, to, near) {
  const whole = to - from > 0.995;
  if (!whole && Math.abs(begin - from) < near) return (x) => [Math.min(x, to - 0.0005), to];
  if (!whole && Math.abs(begin - to) < near) return (x) => [from, Math.max(x, from + 0.0005)];
  if (!whole && begin > from && begin < to) {
    return (x) => { const left = Math.min(1 - (to - from), Math.max(0, from + x - begin)); return [left, left + to - from]; };
  }
  return (x) => (Math.abs(x - begin) > near ? [Math.min(x, begin), Math.max(x, begin)] : null);
}
