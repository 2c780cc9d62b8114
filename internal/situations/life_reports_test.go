//go:build linux

package situations

import "strings"

// What agents of random worlds report about messages: of what they have and had, and of what they never had.

// reporter is the agent as which the worker of a delivery reports.
func (w *life) reporter(d delivery) string {
	if !w.asCrew {
		return w.agent
	}
	return strings.TrimSuffix(d.by.name, byFirst)
}

// sayCompleted reports the completion of a message that a worker has.
func (w *life) sayCompleted() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.note("report of %d", d.of.seq)
		w.know(func() { d.of.reported = true; w.isSaid(d.of, func(s *saying) { s.reported = true }) })
		id := d.Headers().Get("Nats-Msg-Id")
		w.report(w.reporter(d), "completed", d.of.task, map[string]any{"message_id": id, "status": "completed"})
	}
}

// slander lets another agent report about a message that it never had, or about none. It changes nothing that may be said.
func (w *life) slander() {
	if m := pick(w.random, w.letters); m != nil {
		kind := pick(w.random, []string{"claimed", "accepted", "heartbeat", "step_receipt", "checkpoint", "completed", "failed", "duplicate_caught"})
		about := pick(w.random, []string{"", "no-such-message", w.task(m.task)})
		w.note("another agent reports %s of %d, message id %q", kind, m.seq, about)
		w.know(func() { w.slandered = true })
		w.report("0mallory", kind, m.task, map[string]any{"message_id": about, "attempt": w.random.IntN(4), "step_id": "post", "reason": "slander"})
	}
}

// talk lets workers report, each between its acts.
func (w *life) talk() {
	pick(w.random, []func(){w.sayDoing, w.catchRepeat})()
}

// doings are what a worker may report about what it does, whatever becomes of it.
var doings = []string{"claimed", "accepted", "heartbeat", "step_intent", "step_receipt", "checkpoint", "failed"}

// sayDoing reports what a worker does with a message that it has, or thinks that it has: its wait may be over. Workers say more or less of it.
func (w *life) sayDoing() {
	d := pick(w.random, w.held)
	if d.Msg == nil || d.of.task == "foreign" {
		return
	}
	kind, data := pick(w.random, doings), map[string]any{"reason": "rate limited"}
	if w.random.IntN(4) > 0 {
		data["message_id"] = d.Headers().Get("Nats-Msg-Id")
	}
	if w.random.IntN(2) > 0 {
		data["attempt"] = d.deed.n
	}
	if w.random.IntN(2) > 0 {
		data["step_id"] = pick(w.random, []string{"write", "post"})
	}
	w.note("report %s of %d, attempt %d: %v", kind, d.of.seq, d.deed.n, data)
	if d.repeats { // It does again what is done.
		w.know(func() { w.redone[d.of.task]++ })
	}
	w.report(w.reporter(d), kind, d.of.task, data)
}

// catchRepeat lets a worker that finds its work recorded or reported say so, and acknowledge.
func (w *life) catchRepeat() {
	for i, d := range w.held {
		if !d.repeats || d.of.task == "foreign" || d.Headers().Get("X-Idempotency-Key") == "" {
			continue
		}
		w.lets(i)
		w.note("report duplicate_caught of %d, attempt %d", d.of.seq, d.deed.n)
		w.know(func() { w.repeats[d.of.task]++ })
		w.report(w.reporter(d), "duplicate_caught", d.of.task, map[string]any{"message_id": d.Headers().Get("Nats-Msg-Id"), "attempt": d.deed.n})
		w.acknowledged(d)
		w.know(func() { w.repeats[d.of.task]-- }) // It is one repeat, which both of these count.
		return
	}
}
