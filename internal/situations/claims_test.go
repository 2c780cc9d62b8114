//go:build linux

package situations

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// claim is something that a story must agree with; nil when it does.
type claim func(story) error

// all holds when every claim holds.
func all(claims ...claim) claim {
	return func(s story) error {
		for _, c := range claims {
			if err := c(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// of makes a claim about another task of the row.
func of(task string, c claim) claim {
	return func(s story) error {
		s.task = task
		if err := c(s); err != nil {
			return fmt.Errorf("task %q: %w", task, err)
		}
		return nil
	}
}

// eachOf makes a claim about several other tasks of the row.
func eachOf(tasks []string, c claim) claim {
	var claims []claim
	for _, task := range tasks {
		claims = append(claims, of(task, c))
	}
	return all(claims...)
}

// known makes a claim that counts from when Fleetglass knows the n-th message of the task.
func known(n int, c claim) claim {
	return func(s story) error {
		if s.message(n) == nil {
			return nil
		}
		return c(s)
	}
}

// is holds when the task is in one of the states.
func is(states ...string) claim {
	return func(s story) error {
		if t := s.told(); t == nil || !slices.Contains(states, t.State) {
			return fmt.Errorf("the task is not %s", strings.Join(states, " or "))
		}
		return nil
	}
}

// isNot holds while the task is in none of the states.
func isNot(states ...string) claim {
	return func(s story) error {
		if t := s.told(); t != nil && slices.Contains(states, t.State) {
			return fmt.Errorf("the task is %s", t.State)
		}
		return nil
	}
}

// isNotOnceStored is isNot from the time when a stored message of the task is known: before that nothing is proved, which is said.
func isNotOnceStored(states ...string) claim {
	return func(s story) error {
		if t := s.told(); t == nil || len(t.Messages) == 0 {
			return nil
		}
		return isNot(states...)(s)
	}
}

// messageIs holds when the n-th message of the task is in one of the states.
func messageIs(n int, states ...string) claim {
	return func(s story) error {
		if m := s.message(n); m == nil || !slices.Contains(states, m.State) {
			return fmt.Errorf("message %d is not %s", n, strings.Join(states, " or "))
		}
		return nil
	}
}

// messageIsNot holds while the n-th message of the task is in none of the states.
func messageIsNot(n int, states ...string) claim {
	return func(s story) error {
		if m := s.message(n); m != nil && slices.Contains(states, m.State) {
			return fmt.Errorf("message %d is %s", n, m.State)
		}
		return nil
	}
}

// says holds when one of the texts is in the answers.
func says(texts ...string) claim {
	return func(s story) error {
		for _, text := range texts {
			if t := s.told(); t != nil && strings.Contains(t.words(), strings.ToLower(text)) {
				return nil
			}
		}
		return fmt.Errorf("the answers do not say %q", texts)
	}
}

// silent holds while none of the texts is in the answers.
func silent(texts ...string) claim {
	return func(s story) error {
		for _, text := range texts {
			if t := s.told(); t != nil && strings.Contains(t.words(), strings.ToLower(text)) {
				return fmt.Errorf("the answers say %q", text)
			}
		}
		return nil
	}
}

// finds holds when the task has one of the anomalies.
func finds(codes ...string) claim {
	return func(s story) error {
		if t := s.told(); t != nil {
			for _, a := range t.Anomalies {
				if slices.Contains(codes, a.Code) {
					return nil
				}
			}
		}
		return fmt.Errorf("there is no anomaly %v", codes)
	}
}

// finds no holds while the task has none of the anomalies.
func findsNo(codes ...string) claim {
	return func(s story) error {
		if t := s.told(); t != nil {
			for _, a := range t.Anomalies {
				if slices.Contains(codes, a.Code) {
					return fmt.Errorf("there is an anomaly %s", a.Code)
				}
			}
		}
		return nil
	}
}

// attempts holds when the n-th message has that many attempts, the last of which has the number.
func attempts(n, count, last int) claim {
	return func(s story) error {
		m := s.message(n)
		if m == nil || len(m.Attempts) != count {
			return fmt.Errorf("message %d has not %d attempts", n, count)
		}
		if count > 0 && m.Attempts[count-1].N != last {
			return fmt.Errorf("the last attempt of message %d is not number %d", n, last)
		}
		return nil
	}
}

// watchedBy holds when a consumer is shown to have acknowledged the n-th message beside its workers.
func watchedBy(n int, suffix string) claim {
	return func(s story) error {
		if m := s.message(n); m != nil {
			for _, w := range m.Watchers {
				if strings.HasSuffix(w.Consumer, suffix) && !w.AckedAt.IsZero() {
					return nil
				}
			}
		}
		return fmt.Errorf("no %s is shown to have acknowledged message %d", suffix, n)
	}
}

// unwatched holds while nobody is shown to have acknowledged the n-th message beside its workers.
func unwatched(n int) claim {
	return func(s story) error {
		if m := s.message(n); m != nil && len(m.Watchers) > 0 {
			return fmt.Errorf("%s is shown beside the workers of message %d", m.Watchers[0].Consumer, n)
		}
		return nil
	}
}

// noAttempt holds while no attempt of the n-th message is told.
func noAttempt(n int) claim {
	return func(s story) error {
		if m := s.message(n); m != nil && len(m.Attempts) > 0 {
			return fmt.Errorf("message %d has an attempt %d", n, m.Attempts[0].N)
		}
		return nil
	}
}

// withinLife holds while no attempt began before its message was stored, or ends after now.
func withinLife(s story) error {
	task := s.told()
	if task == nil {
		return nil
	}
	for _, m := range task.Messages {
		for _, a := range m.Attempts {
			if !a.BeganAt.IsZero() && !m.PublishedAt.IsZero() && a.BeganAt.Before(m.PublishedAt.Add(-time.Millisecond)) {
				return fmt.Errorf("attempt %d began at %s, before the message was stored at %s", a.N, a.BeganAt, m.PublishedAt)
			}
			if a.EndedAt.After(time.Now().Add(time.Second)) {
				return fmt.Errorf("attempt %d ends in the future, at %s", a.N, a.EndedAt)
			}
		}
	}
	return nil
}

// neverStale holds while the lease is none of the stale kinds.
func neverStale(kinds ...string) claim {
	return func(s story) error {
		if t := s.told(); t != nil && t.Lease != nil && t.Lease.StaleKind != nil && slices.Contains(kinds, *t.Lease.StaleKind) {
			return fmt.Errorf("the lease is %s", *t.Lease.StaleKind)
		}
		return nil
	}
}

// layers are the figures of the ledger.
type layers struct{ stream, idempotency, execution, unknown int }

func (s story) layers() layers {
	t := s.told()
	if t == nil {
		return layers{}
	}
	d := t.Duplicates
	return layers{d.CaughtByStream, d.CaughtByIdempotency, d.ReachedExecution, d.Unknown}
}

// counts holds when the ledger says exactly this of the task.
func counts(want layers) claim {
	return func(s story) error {
		if got := s.layers(); s.told() == nil || got != want {
			return fmt.Errorf("the ledger says %+v, want %+v", got, want)
		}
		return nil
	}
}

// countsAtMost holds while no figure of the ledger is above.
func countsAtMost(bound layers) claim {
	return func(s story) error {
		got := s.layers()
		if got.stream > bound.stream || got.idempotency > bound.idempotency || got.execution > bound.execution || got.unknown > bound.unknown {
			return fmt.Errorf("the ledger says %+v, at most %+v", got, bound)
		}
		return nil
	}
}

// caughtBecause holds when a case of the ledger gives a reason with this text in it.
func caughtBecause(text string) claim {
	return func(s story) error {
		if t := s.told(); t != nil {
			for _, c := range t.Duplicates.Cases {
				if strings.Contains(c.Why, text) {
					return nil
				}
			}
		}
		return fmt.Errorf("no case says %q", text)
	}
}

// namesTask holds when a case of the ledger names another task of the row.
func namesTask(name string) claim {
	return func(s story) error {
		other := s.tasks[name]
		if t := s.told(); t != nil && other != nil {
			for _, c := range t.Duplicates.Cases {
				if c.OtherTask == other.TaskID {
					return nil
				}
			}
		}
		return fmt.Errorf("no case names the task %q", name)
	}
}

// decides holds when recovery decides by a rule.
func decides(rule, decision string) claim {
	return func(s story) error {
		t := s.told()
		if t == nil || t.Recommendation == nil {
			return errors.New("recovery decides nothing")
		}
		if r := t.Recommendation; r.Rule != rule || r.Decision != decision {
			return fmt.Errorf("recovery decides %s by %s, want %s by %s", r.Decision, r.Rule, decision, rule)
		}
		return nil
	}
}

// decidedBy holds when recovery decides by a rule, and its evidence leads to another task of the row.
func decidedBy(rule, decision, name string) claim {
	return func(s story) error {
		if err := decides(rule, decision)(s); err != nil {
			return err
		}
		r, other := s.told().Recommendation, s.tasks[name]
		if other == nil {
			return fmt.Errorf("the task %q is not known", name)
		}
		for _, f := range r.Facts {
			if strings.Contains(f.Text, other.TaskID) && strings.HasSuffix(f.Link, "/"+other.TaskID) {
				return nil
			}
		}
		return fmt.Errorf("no evidence leads to %s: %+v", other.TaskID, r.Facts)
	}
}

// leadsTo holds when the task names another task of the row as one with its idempotency key, and its answers do so too.
func leadsTo(name string) claim {
	return func(s story) error {
		t, other := s.told(), s.tasks[name]
		if t == nil || other == nil || len(t.SameKey) != 1 || t.SameKey[0].TaskID != other.TaskID || !strings.Contains(t.words(), strings.ToLower(other.TaskID)) {
			return fmt.Errorf("it does not lead to the task %q", name)
		}
		return nil
	}
}

// either holds when one of the claims does.
func either(claims ...claim) claim {
	return func(s story) error {
		var last error
		for _, c := range claims {
			if last = c(s); last == nil {
				return nil
			}
		}
		return last
	}
}

// gapSays holds when a gap of the task gives a reason with this text in it.
func gapSays(text string) claim {
	return func(s story) error {
		if t := s.told(); t != nil {
			for _, g := range t.Gaps {
				if strings.Contains(g.Reason, text) {
					return nil
				}
			}
		}
		return fmt.Errorf("no gap says %q", text)
	}
}

// oneMessage holds while the task has no more than one message.
func oneMessage(s story) error {
	if t := s.told(); t != nil && len(t.Messages) > 1 {
		return fmt.Errorf("the task has %d messages", len(t.Messages))
	}
	return nil
}

// blindTo holds when readiness says that a stream is not seen, or in part only.
func blindTo(stream string) claim {
	return func(s story) error {
		var r readiness
		if err := s.glass.ask(s.ctx, "/readyz", &r); err != nil {
			return err
		}
		for _, p := range r.Parts {
			if strings.Contains(p.Detail, stream) {
				return nil
			}
		}
		return fmt.Errorf("/readyz does not name %s", stream)
	}
}

// alertSays holds when an alert of a rule says a text, and the list to which it leads has so many tasks.
func alertSays(rule, text string, tasks int) claim {
	return func(s story) error {
		var board struct {
			Data []struct {
				What string
				Do   struct{ Page string }
			}
		}
		if err := s.glass.ask(s.ctx, "/api/v1/alerts?rule="+rule, &board); err != nil {
			return err
		}
		for _, a := range board.Data {
			if !strings.Contains(a.What, text) {
				continue
			}
			var list struct{ Counts map[string]int }
			err := s.glass.ask(s.ctx, strings.Replace(a.Do.Page, "/tasks?", "/api/v1/tasks/counts?", 1), &list)
			if err == nil && list.Counts["removed"] != tasks {
				err = fmt.Errorf("%s has %+v", a.Do.Page, list.Counts)
			}
			return err
		}
		return fmt.Errorf("no alert of %s says %q: %+v", rule, text, board.Data)
	}
}
