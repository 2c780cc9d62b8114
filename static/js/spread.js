// Marks on a lane stand beside each other where they would cover each other, and where too many stand at one place one stands for all.
// views/timeline_marks.go does the same for a page that no script stretches.

const gap = 18, edge = 9, most = 4;

/** Places marks, given by their place, on so many pixels: sets how far beside it each is drawn (dx), which are folded, and how many each stands for (n). */
export function spread(marks, pixels) {
  for (const m of marks) Object.assign(m, { dx: 0, n: 1, folded: false });
  for (const low of [true, false]) row(marks.filter((m) => m.low === low), pixels);
}

function row(marks, pixels) {
  const crowds = crowded(marks, pixels), large = crowds.find((c) => c.marks.length > most);
  if (large) {
    fold(large.marks);
    row(marks.filter((m) => !m.folded), pixels);
    return;
  }
  for (const c of crowds) c.marks.forEach((m, i) => { m.dx = c.at + i * gap - m.x * pixels; });
}

function crowded(marks, pixels) {
  const out = [];
  for (const m of marks) {
    let c = { marks: [m], at: Math.min(Math.max(m.x * pixels, edge), pixels - edge) };
    while (out.length && out.at(-1).at + out.at(-1).marks.length * gap > c.at) c = joined(out.pop(), c, pixels);
    out.push(c);
  }
  return out;
}

function joined(a, b, pixels) {
  const n = a.marks.length, k = b.marks.length;
  const at = (n * a.at + k * (b.at - n * gap)) / (n + k);
  return { marks: [...a.marks, ...b.marks], at: Math.max(edge, Math.min(at, pixels - edge - (n + k - 1) * gap)) };
}

function fold(marks) {
  const head = marks.reduce((best, m) => (m.rank > best.rank ? m : best));
  const n = marks.reduce((sum, m) => sum + m.n, 0);
  for (const m of marks) { m.folded = m !== head; m.n = m === head ? n : 0; }
}
