//go:build linux

package situations

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// messageAt is what is said about a stored message of the story's task; nil where nothing is.
func (s story) messageAt(l letter) *seenMessage {
	task := s.told()
	if task == nil {
		return nil
	}
	for i, m := range task.Messages {
		if name, _, _ := strings.Cut(m.Stream, "~"); name == l.stream && m.Seq == strconv.FormatUint(l.seq, 10) {
			return &task.Messages[i]
		}
	}
	return nil
}

// contradicted is what must never be said, at no moment: the clients know better, whatever else is on its way.
func (w *life) contradicted(s story) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.letters {
		s.task = m.task
		said := s.messageAt(m.letter)
		if said == nil {
			continue
		}
		if err := w.repeatsTold(m.task, s.layers()); err != nil {
			return err
		}
		if err := w.accused(m.task, s.told()); err != nil {
			return err
		}
		if err := w.never(m, said); err != nil {
			return fmt.Errorf("%s:%d is %s: %w", m.stream, m.seq, said.State, err)
		}
	}
	return nil
}

// repeatsTold holds when no more repeats of a task's work are called caught or done than there can be.
func (w *life) repeatsTold(task string, told layers) error {
	switch {
	case *withForgery || w.slandered:
		return nil
	case told.idempotency > w.repeats[task]:
		return fmt.Errorf("%d repeats of task %q are called caught by a record, and %d were acknowledged that began after one", told.idempotency, task, w.repeats[task])
	case told.execution > max(0, w.sayings[task]-1)+w.redone[task]:
		return fmt.Errorf("the work of task %q is said to be done %d times too often, and its completion was told %d times", task, told.execution, w.sayings[task])
	}
	return nil
}

// repeatsNamed holds when each repeat of a task's work that the clients know of is caught, done or at least called unknown.
func (w *life) repeatsNamed(task string, s story) error {
	// What is recorded between two attempts may be the second one's work, unless its begin is known.
	undated := func(said *seenMessage) bool {
		return said == nil || slices.ContainsFunc(said.Attempts, func(a seenAttempt) bool { return !a.BeganExact })
	}
	idle := slices.ContainsFunc(w.letters, func(m *mail) bool {
		return m.task == task && (m.idle || m.overdue && undated(s.messageAt(m.letter)))
	})
	if w.partner != nil || w.renewed || w.unheard.Load() || w.recordLost(task) || idle {
		return nil
	}
	told := s.layers()
	if named := told.idempotency + told.execution + told.unknown; named < w.keyed[task] {
		return fmt.Errorf("%d repeats of task %q are named (%+v), and %d were acknowledged", named, task, told, w.keyed[task])
	}
	return nil
}

// never is what a message must not be called by what its clients did up to now.
func (w *life) never(m *mail, said *seenMessage) error {
	switch {
	case said.State == "completed" && !m.acked && !m.recorded && !m.reported:
		return errors.New("no worker acknowledged it, and nobody recorded or reported its completion")
	case said.State == "completing" && !m.recorded && !m.reported && !m.late: // Until the removal shows, a record that names it stands beside it.
		return errors.New("nobody recorded or reported its completion")
	case said.State == "terminated" && !m.terminated:
		return errors.New("no worker gave it up")
	case w.sends: // When the broker sends is not known before.
		return nil
	case slices.Contains(inHand, said.State) && w.pulls == 0:
		return errors.New("no worker asked for anything")
	case len(said.Attempts) > w.pulls:
		return fmt.Errorf("it has %d attempts, and workers asked %d times", len(said.Attempts), w.pulls)
	}
	return nil
}

// attempted holds when a message has no more attempts than workers got it. What came too late for the one who asked nobody got.
func (w *life) attempted(m *mail, said *seenMessage) error {
	told := len(said.Attempts)
	for _, o := range said.Others {
		told += len(o.Attempts)
	}
	switch {
	case *withForgery:
		return nil
	case slices.Contains(inHand, said.State) && m.had+w.empty == 0:
		return errors.New("no worker had it")
	case told > m.had+w.empty:
		return fmt.Errorf("it has %d attempts, and workers had it %d times, or %d times more", told, m.had, w.empty)
	}
	return nil
}

// inHand are the states of a message that a worker got.
var inHand = []string{"delivered", "processing", "redelivered", "failed", "exhausted"}

// waits are the states of a message that is in the stream.
var waits = append([]string{"published", "completing"}, "delivered", "processing", "redelivered", "failed")

// agrees holds when everything that is said in the end agrees with what the clients know.
func (w *life) agrees(s story) error {
	w.hear()
	w.receive() // What the broker sent since.
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.decidedOnce(s.ctx); err != nil {
		return err
	}
	for _, m := range w.letters {
		s.task = m.task
		said := s.messageAt(m.letter)
		if said == nil && m.unwanted {
			continue
		}
		if said == nil {
			if err := w.lossTold(m, s); err != nil {
				return fmt.Errorf("%s:%d is not known, and the stream stored it: %w", m.stream, m.seq, err)
			}
			continue
		}
		unknown := func(o *mail) bool { return o.task == m.task && !o.unwanted && s.messageAt(o.letter) == nil }
		mistaken := w.talks && slices.ContainsFunc(w.letters, unknown) // What its worker reported may be told of this one, which has its message id.
		if err := w.inTheEnd(m, said); err != nil && !mistaken {
			return fmt.Errorf("%s:%d is %s: %w", m.stream, m.seq, said.State, err)
		}
		if told, stored := len(s.told().Messages), w.generations(m.task); told > stored {
			return fmt.Errorf("task %q has %d messages, and the stream stored %d of it", m.task, told, stored)
		}
		if err := w.repeatsNamed(m.task, s); err != nil && !slices.ContainsFunc(w.letters, unknown) { // Of which task it is nobody knows.
			return err
		}
		if err := w.boundariesTold(m.task, s.told()); err != nil {
			return err
		}
		if w.said[work{m.task, m.key}].recorded && s.told().Idempotency == nil && !w.recordUnread(m) {
			return fmt.Errorf("the completion of task %q is recorded, and no record of it is known", m.task)
		}
		if err := w.leaseTold(m, said); err != nil {
			return fmt.Errorf("%s:%d, lease %+v: %w", m.stream, m.seq, *said.Lease, err)
		}
		words := s.told().words()
		if err := w.removalTold(m, words); err != nil {
			return fmt.Errorf("%s:%d: %w: %s", m.stream, m.seq, err, words)
		}
		if err := w.endTold(m, said.Consumer, words); err != nil {
			return fmt.Errorf("%s:%d: %w: %s", m.stream, m.seq, err, words)
		}
		if strings.Contains(words, "publish it again") {
			return fmt.Errorf("%s:%d was stored, and the answers say to publish it again: %s", m.stream, m.seq, words)
		}
		if strings.Contains(words, "next free worker") && w.generations(m.task) == 1 && w.waitsForNobody(m) {
			return fmt.Errorf("no worker can be given %s:%d as things are, and the answers say that the next free one is: %s", m.stream, m.seq, words)
		}
	}
	return errors.Join(w.figuresTold(s), w.deadTold(s), w.streamTold(s))
}

// inTheEnd is what a message must not be called when everything was looked at.
func (w *life) inTheEnd(m *mail, said *seenMessage) error {
	queue := w.land.streams[0].Retention == jetstream.WorkQueuePolicy
	switch {
	case said.State == "exhausted" && m.had+w.empty < w.fewest:
		return fmt.Errorf("workers had it %d times, or %d times more, and no consumer allows fewer attempts than %d", m.had, w.empty, w.fewest)
	case said.State == "removed" && m.had > 0 && !m.unseen:
		return errors.New("a worker had it")
	case said.State == "published" && said.toldBeside() && !m.gone: // It is still to be given to another consumer.
	case said.State == "published" && m.told:
		return errors.New("a worker had it, and said so")
	case slices.Contains(waits, said.State) && m.gone:
		return errors.New("it is not in the stream")
	case said.State == "completed" && queue && !m.gone && !m.recorded && !m.reported:
		return errors.New("it is still in the queue: the acknowledgement had no effect")
	case said.State == "completed" && m.gone && m.deleted && !m.acked && !m.recorded && !m.reported:
		return errors.New("an operator removed it")
	case said.State == "completed" && len(m.open) > 0 && !m.gone && !m.recorded && !m.reported && !m.done: // A next consumer may have had in vain what was done before.
		return errors.New("a worker has it, or gets it again")
	case said.State == "outcome_unknown" && len(m.open) > 0 && !m.gone && m.had+w.empty < w.fewest:
		return errors.New("a worker has it, or gets it again: attempts are left")
	case m.timely && (!queue || m.gone) && !slices.Contains([]string{"completed", "outcome_unknown"}, said.State):
		return errors.New("a worker acknowledged it in time")
	}
	return errors.Join(w.attempted(m, said), w.deedsTold(m, said), m.timesTold(said))
}

// toldBeside reports whether attempts of a consumer are told beside the one by which the message is judged.
func (m *seenMessage) toldBeside() bool {
	return slices.ContainsFunc(m.Others, func(o seenTaker) bool { return len(o.Attempts) > 0 })
}

// lossTold holds where the message's own TTL may have removed its captured line before Fleetglass read it, or the stream republished none, and a gap says so.
func (w *life) lossTold(m *mail, s story) error {
	if m.expires.IsZero() && !w.unheard.Load() {
		return errors.New("it has no TTL")
	}
	var page struct {
		Data []struct {
			FromSeq *string `json:"from_seq"`
			ToSeq   *string `json:"to_seq"`
			Reason  string
		}
	}
	if err := s.glass.ask(s.ctx, "/api/v1/gaps?limit=200&from=1h", &page); err != nil {
		return err
	}
	for _, g := range page.Data {
		ttl := strings.Contains(g.Reason, "publish lines of "+m.stream+" were lost") && strings.Contains(g.Reason, "their own TTL")
		unheard := w.unheard.Load() && (strings.Contains(g.Reason, "publish lines of "+m.stream+" were lost") || strings.Contains(g.Reason, "and no publish line") || strings.Contains(g.Reason, "what "+m.stream+" stored between"))
		if g.FromSeq == nil || g.ToSeq == nil || !ttl && !unheard {
			continue
		}
		from, err := strconv.ParseUint(*g.FromSeq, 10, 64)
		to, errTo := strconv.ParseUint(*g.ToSeq, 10, 64)
		if err := errors.Join(err, errTo); err != nil {
			return err
		}
		if from <= m.seq && m.seq <= to {
			return nil
		}
	}
	return errors.New("no gap says that its line was lost")
}
