package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// workers makes one worker per agent and opens their consumers, so that nothing published later is without a taker.
func (d *Demo) workers(ctx context.Context) ([]*fleet.Worker, error) {
	records, err := fleet.NewKVRecords(ctx, d.cfg.JetStream)
	if err != nil {
		return nil, err
	}
	workers := make([]*fleet.Worker, 0, len(agents))
	for _, a := range agents {
		cfg := fleet.WorkerConfig{
			JetStream: d.cfg.JetStream, Contract: d.cfg.Contract, Agent: a.name, Timing: d.timing, NakDelay: d.scaled(2 * time.Second),
			Records: &crashing{Records: records, d: d}, Handle: d.act, Answered: d.answered, Now: d.cfg.Now, Logger: d.cfg.Logger,
		}
		if a.reports {
			cfg.Reporter, err = fleet.NewReporter(fleet.ReporterConfig{
				JetStream: d.cfg.JetStream, Contract: d.cfg.Contract, Agent: a.name, Now: d.cfg.Now,
			})
			if err != nil {
				return nil, err
			}
		}
		w, err := fleet.NewWorker(cfg)
		if err != nil {
			return nil, err
		}
		if err := w.Open(ctx); err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	return workers, nil
}

// storyOf finds the story of a delivery. Foreign tasks, and retries of demo tasks, are simply done.
func (d *Demo) storyOf(t fleet.Task, agentName string) (Story, bool) {
	n, ok := numberOf(t.ID)
	if !ok {
		return Story{}, false
	}
	s := Tell(d.cfg.Seed, n)
	return s, s.ID == t.ID && s.Agent == agentName && t.Generation == 0
}

func (d *Demo) story(del fleet.Delivery) (Story, bool) {
	agentName, _, _ := d.cfg.Contract.ParseTaskSubject(del.Subject)
	return d.storyOf(del.Task, agentName)
}

// act plays one attempt at a task.
func (d *Demo) act(ctx context.Context, del fleet.Delivery) (string, error) {
	if agent, taskType, _ := d.cfg.Contract.ParseTaskSubject(del.Subject); agent == ceoAgent && taskType == triageType {
		return d.desk.triage(ctx, del)
	}
	s, ok := d.story(del)
	if !ok {
		return "done", d.work(ctx, del, s, d.scaled(time.Second))
	}
	d.ledger.edit(s, about(NoteExecuted, del), func(e *Entry) {
		e.Attempts = max(e.Attempts, del.Attempt)
		e.Executions++
	})
	switch first := del.Attempt == 1; {
	case s.Fate == FateExhausted, s.Fate == FateTimeout && first:
		return "", d.fallSilent(s, del)
	case s.Fate == FateCrashBefore && first:
		if err := d.work(ctx, del, s, d.pace(s, 1200*time.Millisecond)); err != nil {
			return "", err
		}
		return "", d.fallSilent(s, del)
	case s.Fate == FateNakExhausted, s.Fate == FateNak && first:
		if err := d.work(ctx, del, s, d.pace(s, s.Work/2)); err != nil {
			return "", err
		}
		return "", fleet.Delay(d.scaled(s.NakDelay), errors.New(s.Reason))
	case s.Fate == FateTerminated, s.Fate == FateOverflow, s.Fate == FateRecoverable:
		if err := d.work(ctx, del, s, d.pace(s, s.Work/2)); err != nil {
			return "", err
		}
		return "", fleet.Terminate(s.Reason)
	}
	if err := d.work(ctx, del, s, d.pace(s, s.Work)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: done (%s)", s.Title, fleet.Key("result", s.ID)[:8]), nil
}

func (d *Demo) fallSilent(s Story, del fleet.Delivery) error {
	d.ledger.silent(s, del.Attempt, d.timing.MaxDeliver)
	return fleet.ErrAbandoned
}

// pace is how long a piece of work takes: the backlog is worked faster, except where the point of the story is to be slow.
func (d *Demo) pace(s Story, t time.Duration) time.Duration {
	if d.inBacklog(s.N) && s.Fate != FateSlow {
		t /= backlogSpeed
	}
	return d.scaled(t)
}

// work takes its time, and tells about it where the agent reports.
func (d *Demo) work(ctx context.Context, del fleet.Delivery, s Story, took time.Duration) error {
	d.tell(ctx, del, lifecycle.ReportAccepted, fleet.ReportData{Status: "in_flight"})
	if !sleep(ctx, took/2) {
		return ctx.Err()
	}
	d.tell(ctx, del, lifecycle.ReportCheckpoint, fleet.ReportData{
		Status: "in_flight", StepID: "draft", Tool: "llm.complete", StepClass: "pure", ResultRef: "draft/" + del.Task.ID, Model: s.Model,
		InputTokens: 3_000 + int64(s.N%70)*400, OutputTokens: 400 + int64(s.N%30)*60, CostUSD: 0.02 + float64(s.N%50)/100,
	})
	if !sleep(ctx, took-took/2) {
		return ctx.Err()
	}
	return nil
}

func (d *Demo) tell(ctx context.Context, del fleet.Delivery, kind lifecycle.Kind, data fleet.ReportData) {
	if err := del.Report(ctx, kind, data); err != nil {
		d.cfg.Logger.Warn("a report of the demonstration could not be sent", "kind", kind, "error", err)
	}
}

func (d *Demo) answered(del fleet.Delivery, a fleet.Answer) {
	if s, ok := d.story(del); ok {
		d.ledger.answered(s, del, a, d.timing.MaxDeliver)
	}
}

// crashing records completions, and after some of them crashes.
type crashing struct {
	fleet.Records
	d *Demo
}

// Complete implements [fleet.Records].
func (c *crashing) Complete(ctx context.Context, r fleet.Record) error {
	if err := c.Records.Complete(ctx, r); err != nil {
		return err
	}
	s, ok := c.d.storyOf(fleet.Task{ID: r.TaskID}, r.AgentID)
	if !ok {
		return nil
	}
	first := false
	c.d.ledger.edit(s, Note{What: NoteRecorded}, func(e *Entry) {
		e.Recorded = true
		first = e.Attempts <= 1
	})
	if s.Fate == FateCrashAfter && first {
		c.d.ledger.silent(s, 1, c.d.timing.MaxDeliver)
		return fleet.ErrAbandoned
	}
	return nil
}
