package reconcile

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// messages feeds the messages of one stream to the audit.
func (j *job) messages(ctx context.Context, audit *Audit, s AuditStream) error {
	j.phase(ctx, "reading the messages of "+s.Stream.String())
	for from := s.FromSeq; from <= s.ToSeq; {
		began := j.cfg.Now()
		page, err := j.cfg.Store.MessagesWithTasks(ctx, s.Stream, from, s.ToSeq, j.cfg.Page)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		gone, err := j.check.gone(ctx, headRecords(page))
		if err != nil {
			return err
		}
		for i, m := range page {
			audit.Message(AuditedMessage{OpenMessage: m, RecordGone: gone[i]})
			from = m.Message.Key.Seq + 1
		}
		j.progress(ctx, len(page))
		if len(page) < j.cfg.Page {
			return nil
		}
		if err := j.giveWay(ctx, j.cfg.Now().Sub(began)); err != nil {
			return err
		}
	}
	return nil
}

// giveWay lets a report that nobody waits for rest as long as it just worked.
func (j *job) giveWay(ctx context.Context, worked time.Duration) error {
	if j.rec.Cause == CauseOnDemand || sleep(ctx, worked) {
		return nil
	}
	return ctx.Err()
}

// headRecords are the records of the tasks of messages: each with the newest message of its task, nil for the others.
func headRecords(page []lifecycle.OpenMessage) []*lifecycle.CompletionRef {
	out := make([]*lifecycle.CompletionRef, len(page))
	for i, m := range page {
		if m.Task.Head.Key == m.Message.Key {
			out[i] = completionRef(m.Task)
		}
	}
	return out
}

func completionRef(t lifecycle.TaskFacts) *lifecycle.CompletionRef {
	c := t.Completion
	if c == nil {
		return nil
	}
	return &lifecycle.CompletionRef{RecordRef: lifecycle.RecordRef{TaskID: t.ID, Key: c.Key, Source: c.Source}, At: c.At, ExpiresAt: c.ExpiresAt}
}

// withoutMessage feeds the tasks without a message whose completion may lie in the period.
func (j *job) withoutMessage(ctx context.Context, audit *Audit) error {
	j.phase(ctx, "looking for records without a message")
	var after *lifecycle.Cursor
	for {
		tasks, next, err := j.cfg.Store.TasksWithoutMessage(ctx, j.period.From, after, j.cfg.Page)
		if err != nil {
			return fmt.Errorf("read tasks without a message: %w", err)
		}
		refs := make([]*lifecycle.CompletionRef, len(tasks))
		for i, t := range tasks {
			if ref := completionRef(t); ref != nil && ref.At >= j.period.From && ref.At < j.period.To {
				refs[i] = ref
			}
		}
		gone, err := j.check.gone(ctx, refs)
		if err != nil {
			return err
		}
		for i, t := range tasks {
			audit.Task(t, gone[i])
		}
		j.progress(ctx, 0)
		if after = next; next == nil {
			return nil
		}
	}
}
