//go:build linux

package situations

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Some worlds are grave: their messages die soon, and somebody decides about them, one at a time or all at once, cancels retries that wait, and takes back what
// was decided about many.

// graveSteps are what may happen next in a grave world.
func (w *life) graveSteps() []func() {
	return []func(){
		w.take, w.takeSome, w.perish, w.perish, w.perish, w.perish, w.perish, w.giveUp, w.acknowledge, w.beat, w.complete, w.idle, w.another, w.again, w.foreign, w.operatorDeletes,
		w.hire, w.changeWait, w.decide, w.decide, w.decide, w.decide, w.decideMany, w.decideMany, w.decideMany, w.withdraw, w.withdraw, w.withdraw, w.undo, w.undo,
	}
}

// perish lets a message die: its worker gives it up, or goes, so that its attempt runs out.
func (w *life) perish() {
	if len(w.held) == 0 {
		w.take()
	}
	d, ok := w.answered()
	switch {
	case !ok:
	case w.random.IntN(2) == 0:
		w.givesUp(d)
	default:
		w.note("crash with %d, and time passes", d.of.seq)
		w.works(d.by.wait + 100*time.Millisecond)
		w.take() // The broker says that attempts are used up when somebody asks.
	}
}

// decideMany acts on some dead letters at once, or on all that are open.
func (w *life) decideMany() {
	dead := slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return !w.mayBeDead(m) })
	if w.glass == nil || len(dead) == 0 || !w.listed(dead[0]) {
		return
	}
	action := pick(w.random, []string{"retry", "retry", "discard", "defer", "reopen"})
	if action == "retry" && !w.mayWait() {
		action = "discard"
	}
	selector, kind := map[string]any{"filter": map[string]any{"agent": []string{w.agent}, "status": []string{"open"}}}, "many by filter: "+action
	foreign := slices.ContainsFunc(w.letters, func(m *mail) bool { return m.task == "foreign" })
	if foreign || action == "reopen" || w.random.IntN(2) == 0 {
		var ids []string
		for _, m := range dead {
			ids = append(ids, m.entry())
		}
		selector, kind = map[string]any{"ids": ids}, "many by id: "+action
	}
	params := w.params(action)
	status, id := w.asks("/operations", map[string]any{"action": action, "reason": "all at once", "params": params, "selector": selector})
	w.note("somebody asks for %s (%v): %d", kind, selector, status)
	if status != http.StatusAccepted {
		return
	}
	for _, m := range w.doneFor(id, "done", "queued") {
		w.note("%s of %d is done", kind, m.seq)
		w.know(func() { w.decided = append(w.decided, decision{of: m, action: action, operation: id, kind: kind}) })
	}
	for _, m := range w.doneFor(id, "failed") {
		w.know(func() {
			w.decided = append(w.decided, decision{of: m, action: "failed", operation: id, kind: kind + ", failed"})
		})
	}
	w.many = append(w.many, id)
	if params["delay_ms"] == later && w.random.IntN(2) == 0 {
		w.takeBack(id)
	}
}

// doneFor are the messages of which an operation on many says, when it is over, that they have one of some statuses: its action was taken, or its retry waits.
func (w *life) doneFor(id string, statuses ...string) (done []*mail) {
	o := w.awaitEnd(id)
	for _, i := range o.Items {
		at := slices.IndexFunc(w.letters, func(m *mail) bool { return m.entry() == i.EntryID })
		if at >= 0 && slices.Contains(statuses, i.Status) {
			done = append(done, w.letters[at])
		}
	}
	return done
}

// withdraw cancels a retry that may wait.
func (w *life) withdraw() {
	for n, d := range w.decided {
		if d.action != "retry" || d.withdrawn || slices.Contains(w.many, d.operation) {
			continue
		}
		if o, err := w.outcome(w.ctx, d.operation); err != nil || o.over() {
			continue
		}
		w.asks("/operations/"+url.PathEscape(d.operation)+"/cancel", map[string]any{"reason": "not wanted after all"})
		o := w.awaitEnd(d.operation) // Where it was over before, it stays what it was.
		w.note("somebody cancels the retry of %d: %s", d.of.seq, o.Status)
		if o.Status == "cancelled" {
			w.know(func() { w.decided[n].withdrawn, w.decided[n].kind = true, "cancelled" })
		}
		return
	}
}

// undo takes back what was decided about many.
func (w *life) undo() {
	if of := pick(w.random, w.many); of != "" {
		w.takeBack(of)
	}
}

// takeBack undoes an operation on many.
func (w *life) takeBack(of string) {
	status, id := w.asks("/operations", map[string]any{"action": "reopen", "reason": "a mistake", "selector": map[string]any{"operation": of}})
	w.note("somebody undoes an operation on many: %d", status)
	if status != http.StatusAccepted {
		return
	}
	for _, m := range w.doneFor(id, "done") {
		w.note("of %d it is undone", m.seq)
		w.know(func() { w.undone(m, of, id) })
	}
}

// undone notes that what an operation decided about a message was taken back: a retry that waited was cancelled.
func (w *life) undone(m *mail, of, by string) {
	for n, d := range w.decided {
		if d.of == m && d.operation == of && d.action == "retry" {
			w.decided[n].withdrawn, w.decided[n].kind = true, "undone: retry"
			return
		}
	}
	w.decided = append(w.decided, decision{of: m, action: "reopen", operation: by, kind: "undone"})
}

// awaitDecisions waits until no retry is to be published any more, whoever asked for it.
func (w *life) awaitDecisions() {
	for _, d := range w.decided {
		if d.action == "retry" && !d.withdrawn {
			w.untilThere("the retries are over", func() bool {
				w.hear()
				o, err := w.outcome(w.ctx, d.operation)
				return err == nil && o.over() && !o.waits(d.of.entry())
			})
		}
	}
}
