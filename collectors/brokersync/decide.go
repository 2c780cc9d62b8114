package brokersync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// decide plans, asks what the plan needs to know, and plans again.
func (p *poll) decide(ctx context.Context) error {
	seen := &p.c.seen
	p.facts.Missing = seen.missing
	if err := p.crowded(ctx); err != nil {
		return err
	}
	result := Plan(p.saw, p.facts, p.c.cfg.Waits)
	if len(result.Ask) > 0 {
		if err := ask(ctx, seen.tasks, &p.saw.Present, p.turn(result.Ask)); err != nil {
			return err
		}
		result = Plan(p.saw, p.facts, p.c.cfg.Waits)
	}
	p.remember(result)
	p.batch.Events = append(p.batch.Events, result.Events...)
	if err := p.repair(ctx, append(result.Repair, p.unknown...)); err != nil {
		return err
	}
	if err := p.notStored(ctx); err != nil { // Before verify: what this poll finds is not in the store yet.
		return err
	}
	if err := p.verify(ctx); err != nil {
		return err
	}
	return p.earlierLives(ctx)
}

// turn takes as many of the messages to ask about as one poll may, in turn.
func (p *poll) turn(seqs []uint64) []uint64 {
	limit := max(p.c.cfg.PageSize, 16)
	if len(seqs) <= limit {
		return seqs
	}
	p.more = true
	slices.Sort(seqs)
	at, _ := slices.BinarySearch(seqs, p.c.seen.asked+1)
	chosen := append(slices.Clone(seqs[at:]), seqs[:at]...)[:limit]
	p.c.seen.asked = chosen[limit-1]
	return chosen
}

// crowded asks how full the subjects of missing messages are, where the stream limits them.
func (p *poll) crowded(ctx context.Context) error {
	limit := p.saw.Limits.MaxPerSubject
	if limit <= 0 || len(p.c.seen.missing) == 0 {
		return nil
	}
	p.saw.Crowded = map[string]bool{}
	for _, o := range p.facts.Open {
		since, missing := p.c.seen.missing[o.Message.Key.Seq]
		if !missing || o.Message.Stored == nil || p.saw.Drained < since.Add(p.c.cfg.Waits.Vanish) || len(p.saw.Crowded) >= p.c.walkPage() {
			continue
		}
		subject := o.Message.Stored.Subject
		if _, asked := p.saw.Crowded[subject]; asked {
			continue
		}
		info, err := p.c.seen.tasks.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return fmt.Errorf("ask for subject: %w", err)
		}
		p.saw.Crowded[subject] = info.State.Subjects[subject] >= uint64(limit)
	}
	return nil
}

// remember keeps since when messages are missing, and forgets those of this page that are not any more.
func (p *poll) remember(r Result) {
	seen := &p.c.seen
	now := map[uint64]bool{}
	for _, seq := range r.Missing {
		now[seq] = true
		if _, known := seen.missing[seq]; !known {
			seen.missing[seq] = p.saw.At
		}
	}
	if !p.swept {
		return
	}
	for seq := range seen.missing {
		if seq >= seen.cursor && seq <= p.to && !now[seq] {
			delete(seen.missing, seq)
		}
	}
	p.more = p.more || len(r.Missing) > 0
	if seen.cursor = p.to + 1; p.to >= p.saw.LastSeq {
		seen.cursor = 0
		maps.DeleteFunc(seen.settled, func(_ uint64, until lifecycle.Micros) bool { return until < p.saw.At })
	}
	seen.compared.swept(p.unknown, seen.cursor == 0)
	seen.sweep.turn(p.saw, len(p.facts.Open), seen.cursor == 0, p.more || len(p.unknown) > 0)
}

// notStored says of publish attempts that nothing was stored for them, once everything that was in the stream a good while after is known
// to the store, be it by its captured publish or, where that was lost or is of before our time, from the stream.
func (p *poll) notStored(ctx context.Context) error {
	seen := &p.c.seen
	if !seen.compared.readIn || p.saw.At < seen.unlisted.Add(2*time.Second) {
		return nil
	}
	seen.unlisted = p.saw.At
	before := seen.compared.upTo.Add(-p.c.cfg.NotStored)
	tasks, err := p.c.cfg.Reader.UnlistedTasks(ctx, before, p.c.cfg.PageSize)
	if err != nil {
		return fmt.Errorf("read unlisted tasks: %w", err)
	}
	for _, t := range tasks {
		at := t.LastAt.Add(p.c.cfg.NotStored)
		p.batch.Events = append(p.batch.Events, lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.NotStored), t.ID, fmt.Sprint(int64(at))), At: at, Kind: lifecycle.NotStored,
			Provenance: lifecycle.Inferred, Source: Name, TaskID: t.ID, Agent: t.Agent,
		})
	}
	return nil
}
