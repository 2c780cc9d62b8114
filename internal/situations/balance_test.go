//go:build linux

package situations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// balance is one line of a reconciliation.
type balance struct {
	Published, Completed, Exhausted, Terminated, Expired, Unexplained int64

	InFlight  int64 `json:"in_flight"`
	InDLQ     int64 `json:"in_dlq"`
	NeverSeen int64 `json:"never_seen"`
	Balanced  bool
}

// reconciliation is the report of one.
type reconciliation struct {
	Status, Failure string
	Balance         balance
	Lines           []struct {
		Stream, Agent string
		balance
	}
	Streams []struct {
		Stream   string
		FromSeq  string `json:"from_seq"`
		ToSeq    string `json:"to_seq"`
		Compared bool
	}
	Lists []struct {
		Kind string
		Rows []finding
	}
}

// finding is one row of a list.
type finding struct {
	Stream string
	Seq    *string
	ToSeq  *string `json:"to_seq"`
	TaskID string  `json:"task_id"`
	State  string
	Why    string
}

// reconcile asks for a reconciliation and waits for its report. The one that is made after a start may come first.
func (g *glass) reconcile(ctx context.Context) (r reconciliation, err error) {
	var made struct{ ID string }
	if err := g.call(ctx, http.MethodPost, "/api/v1/reconciliations", &made); err != nil {
		return r, err
	}
	for until := time.Now().Add(6 * patience); time.Now().Before(until); pause(ctx, sampling) {
		if err := g.ask(ctx, "/api/v1/reconciliations/"+made.ID, &r); err != nil {
			return r, err
		}
		switch r.Status {
		case "done":
			return r, nil
		case "failed":
			return r, errors.New(r.Failure)
		}
	}
	return r, fmt.Errorf("the reconciliation is %s", r.Status)
}

// balances holds when a reconciliation, made once nothing happens any more, agrees with what the clients of all worlds of a land know, and with what each
// task says.
func balances(ctx context.Context, g *glass, players []*player, lives map[*player]*life) error {
	before := map[*player]story{}
	for _, p := range players {
		before[p], _ = p.look(ctx, g)
	}
	r, err := g.reconcile(ctx)
	if err != nil {
		return fmt.Errorf("reconciliation: %w", err)
	}
	if !r.Balance.Balanced {
		return fmt.Errorf("the reconciliation does not add up: %+v", r.Balance)
	}
	for _, p := range players {
		w := lives[p]
		if p.hasFailed() || w.slandered {
			continue
		}
		w.receive() // What the broker sent since it was judged.
		if s, ok := p.look(ctx, g); ok {
			if err := errors.Join(w.lineTold(r, before[p], s), w.findingsTold(r, s)); err != nil {
				return fmt.Errorf("%s: %w\nwhat happened:\n\t%s\nin the end:\n\t%s", p.name, err, strings.Join(w.diary, "\n\t"), s)
			}
		}
	}
	return nil
}

// lineTold holds when the line of the world's agent counts each of its messages as its task says, before the reconciliation and after it.
func (w *life) lineTold(r reconciliation, before, s story) error {
	var want, got balance
	var triaged int64 // Where their entries had not come, they are counted as they died.
	for _, m := range w.letters {
		before.task, s.task = m.task, m.task
		was, said := before.messageAt(m.letter), s.messageAt(m.letter)
		switch {
		case said == nil && !m.unwanted: // It counts, and nobody knows of which task it is.
			return nil
		case said != nil && (was == nil || was.State != said.State): // Something happened meanwhile.
			return nil
		case said == nil || s.told().Agent != w.agent:
		case said.State == "triaged":
			triaged++
		default:
			want.count(said.State)
		}
	}
	for _, line := range r.Lines {
		if name, _, _ := strings.Cut(line.Stream, "~"); name == w.land.streams[0].Name && line.Agent == w.agent {
			got = line.balance
		}
	}
	died := got.InDLQ - want.InDLQ + got.Exhausted - want.Exhausted + got.ended() - want.ended()
	if got.Completed != want.Completed || got.InFlight != want.InFlight || died != triaged || got.InDLQ < want.InDLQ || got.Exhausted < want.Exhausted || got.ended() < want.ended() {
		return fmt.Errorf("the reconciliation counts %+v, and the tasks say %+v and %d that were decided about", got, want, triaged)
	}
	return nil
}

// ended are messages that ended in a way that a state alone does not tell apart: what was removed is one of these.
func (b *balance) ended() int64 { return b.Terminated + b.Expired + b.Unexplained }

// count adds a message that has a state.
func (b *balance) count(state string) {
	switch {
	case state == "completed":
		b.Completed++
	case slices.Contains(waits, state):
		b.InFlight++
	case state == "dead_lettered":
		b.InDLQ++
	case state == "exhausted":
		b.Exhausted++
	default:
		b.Terminated++
	}
}

// findingsTold holds when nothing is said to be wrong with a message that its clients know to be right.
func (w *life) findingsTold(r reconciliation, s story) error {
	for _, list := range r.Lists {
		for _, row := range list.Rows {
			for _, m := range w.letters {
				if !row.about(m) {
					continue
				}
				s.task = m.task
				if why := w.impossible(list.Kind, row.Why, m, s.messageAt(m.letter)); why != "" {
					return fmt.Errorf("the reconciliation lists %s:%d as %s (%s), and %s", m.stream, m.seq, list.Kind, row.Why, why)
				}
			}
			if list.Kind == "recorded_unpublished" && slices.ContainsFunc(w.letters, func(m *mail) bool { return w.task(m.task) == row.TaskID && w.knows(s, m) }) {
				return fmt.Errorf("the reconciliation lists task %s as %s (%s), and its stream stored a message of it", row.TaskID, list.Kind, row.Why)
			}
		}
	}
	return nil
}

// knows reports whether anything is said of a message.
func (w *life) knows(s story, m *mail) bool {
	s.task = m.task
	return s.messageAt(m.letter) != nil
}

// several reports whether a task has more than one message.
func (w *life) several(task string) bool {
	first := slices.IndexFunc(w.letters, func(m *mail) bool { return m.task == task })
	return first >= 0 && slices.ContainsFunc(w.letters[first+1:], func(m *mail) bool { return m.task == task })
}

// about reports whether the row stands for a message.
func (f finding) about(m *mail) bool {
	if name, _, _ := strings.Cut(f.Stream, "~"); name != m.stream || f.Seq == nil {
		return false
	}
	from, _ := strconv.ParseUint(*f.Seq, 10, 64)
	to := from
	if f.ToSeq != nil {
		to, _ = strconv.ParseUint(*f.ToSeq, 10, 64)
	}
	return from <= m.seq && m.seq <= to
}

// impossible is why a message cannot be in a list; empty where it can.
func (w *life) impossible(kind, why string, m *mail, said *seenMessage) string {
	recorded := m.recorded || m.late || m.reported
	unbound := strings.Contains(why, "nothing tells of which of its messages") && w.several(m.task)
	queue := len(w.land.streams) == 1 && w.land.name != "interest"
	switch {
	case kind == "completed_not_acked" && !recorded:
		return "nobody said that it was completed"
	case kind == "completed_not_acked" && m.timely && m.gone:
		return "its worker acknowledged it in time"
	case kind == "acked_not_recorded" && !m.acked && !m.swept:
		return "no worker acknowledged it"
	case kind == "acked_not_recorded" && (w.said[work{m.task, m.key}].recorded || m.reported && !unbound): // A record that is deleted may not have been read.
		return "its completion was told"
	case kind == "record_missing" && !recorded:
		return "it never had a record"
	case kind == "never_seen" && said != nil, kind == "held_unknown" && said != nil:
		return "its task tells of it"
	case kind == "exhausted_outside_dlq" && m.had+w.empty < w.fewest:
		return "it was not given to workers so often"
	case kind == "expired" && m.expires.IsZero():
		return "no age removed it"
	case kind == "held_though_settled" && (m.gone || !queue):
		return "its stream does not hold it"
	case kind == "outcome_unexplained" && !m.gone && (said == nil || said.State != "outcome_unknown"):
		return "it is in its stream"
	case kind == "outcome_unexplained" && said != nil && strings.Contains(why, "none proves that the stream stored it"):
		return "its stream stored it"
	}
	return ""
}
