package query

import (
	"context"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/restarts"
)

// maxTraceGaps is how many gaps a trace names at most.
const maxTraceGaps = 50

// Trace is the trace of a task, with the consumers and durations that it was judged by.
type Trace struct {
	lifecycle.Trace
	Record   lifecycle.TaskRecord
	Typical  map[string]lifecycle.Typical // By task type, over seven days.
	Recovery *dlqtriage.Recovery          // What recovery decides about the message by which the task is shown; nil where there is nothing to recover.
	Restarts []restarts.Restart           // The latest ones in which a message of it was in hand, the latest first.
}

// Trace returns the trace of a task, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Trace(ctx context.Context, id string) (Trace, error) {
	now := s.now()
	parts := s.Parts()
	record, err := s.task(ctx, id)
	if err != nil {
		return Trace{}, err
	}
	consumers, err := s.Consumers(ctx)
	if err != nil {
		return Trace{}, err
	}
	typical, err := s.Typical(ctx)
	if err != nil {
		return Trace{}, err
	}
	gaps, err := s.gapsOf(ctx, record, now)
	if err != nil {
		return Trace{}, err
	}
	leases, err := s.leasesAhead(ctx, record)
	if err != nil {
		return Trace{}, err
	}
	now = max(now, record.Summary.StateSince)
	in := lifecycle.TraceInput{
		Record: record, Consumers: consumers.All, Gaps: gaps, Typical: typical, Leases: leases, Now: now, Read: min(readBy(answerSource, parts, now), consumers.SeenAt), EntriesRead: s.EntriesRead(),
	}
	out := Trace{Trace: lifecycle.AssembleTrace(in), Record: record, Typical: typical}
	out.Recovery = s.recoveryOf(out.Trace)
	out.Restarts, err = s.restartsOf(ctx, record.Summary.TaskID)
	return out, err
}

// recoveryOf decides about the message by which a task is shown.
func (s *Service) recoveryOf(t lifecycle.Trace) *dlqtriage.Recovery {
	m, found := t.Shown()
	if !found || !m.Verdict.State.Recoverable() {
		return nil
	}
	blind := slices.ContainsFunc(t.Gaps, func(g lifecycle.Gap) bool { return !g.Repaired })
	r := s.cfg.Policy().RecoveryOf(m.Facts, t.Facts, blind).Decide()
	return &r
}

// EntriesRead returns up to when all dead-letter entries were read, by the broker's clock; zero when that is not known. Of what died later nobody
// can say that it has no entry.
func (s *Service) EntriesRead() lifecycle.Micros {
	if s.cfg.EntriesRead == nil {
		return 0
	}
	return s.cfg.EntriesRead()
}

// leasesAhead returns what workers hold while the task waits for one of them.
func (s *Service) leasesAhead(ctx context.Context, r lifecycle.TaskRecord) ([]lifecycle.Lease, error) {
	if r.Summary.State != lifecycle.StatePublished {
		return nil, nil
	}
	held, err := s.InFlight(ctx)
	return held.Leases, err
}

// gapsOf finds the gaps that concern a task: those that overlap its time, widened by [lifecycle.CaptureLag] on both sides, because the
// lines of one publish may be stored that far apart. A gap of one stream concerns the tasks of that stream only, and one of answers no task of which every
// delivery's answer was seen.
func (s *Service) gapsOf(ctx context.Context, r lifecycle.TaskRecord, now lifecycle.Micros) ([]lifecycle.Gap, error) {
	from, to := spanOf(r, now)
	gaps, err := s.cfg.Store.Gaps(ctx, from.Add(-lifecycle.CaptureLag), to.Add(lifecycle.CaptureLag)+1, maxTraceGaps)
	return slices.DeleteFunc(gaps, func(g lifecycle.Gap) bool {
		return (!g.Everywhere() && !concerns(g, r.Messages)) || (g.OfAnswers() && allAnswered(r.Messages))
	}), err
}

// allAnswered reports whether the answer to every delivery of every message was seen.
func allAnswered(messages []lifecycle.MessageFacts) bool {
	return len(messages) > 0 && !slices.ContainsFunc(messages, func(m lifecycle.MessageFacts) bool { return !m.Answered() })
}

// concerns reports whether lines about one of the messages may have been missed in the gap.
func concerns(g lifecycle.Gap, messages []lifecycle.MessageFacts) bool {
	return slices.ContainsFunc(messages, func(m lifecycle.MessageFacts) bool { return g.Concerns(m.Key.Stream.Name) })
}

// spanOf is the time of a task: from its first event to its last, or to now while something may still happen to it.
func spanOf(r lifecycle.TaskRecord, now lifecycle.Micros) (from, to lifecycle.Micros) {
	from, to = r.Facts.FirstAt, now
	for _, m := range r.Messages {
		if m.FirstAt.Known() && (!from.Known() || m.FirstAt < from) {
			from = m.FirstAt
		}
	}
	if r.Summary.EndedAt.Known() {
		to = max(r.Summary.EndedAt, r.Summary.LastEventAt)
	}
	return from, max(from, to)
}
