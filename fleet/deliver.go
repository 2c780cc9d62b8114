package fleet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fleetglass/lifecycle"
)

func (w *Worker) handle(ctx context.Context, msg taken) {
	d, err := w.delivery(msg)
	if err != nil {
		w.cfg.Logger.Error("a delivery could not be read", "agent", w.cfg.Agent, "error", err)
		return
	}
	log := w.cfg.Logger.With("agent", w.cfg.Agent, "task", d.Task.ID, "attempt", d.Attempt)
	began := time.Now()
	found, err := w.cfg.Records.Find(ctx, d.Task.ID, d.Task.IdempotencyKey)
	d.records += time.Since(began)
	switch {
	case err != nil:
		if ctx.Err() == nil { // Stopping is no news.
			log.Warn("the idempotency record could not be read, so the task is not executed", "error", err)
		}
		w.answer(log, d, AnswerNak, msg.NakWithDelay(w.cfg.NakDelay))
	case found != nil:
		w.repeat(ctx, log, msg, d, *found)
	case w.cfg.Reserve != nil:
		w.admit(ctx, log, msg, d)
	default:
		w.execute(ctx, log, msg, d, nil)
	}
}

func (w *Worker) delivery(msg taken) (Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, err
	}
	stream := w.cfg.Contract.StreamID(meta.Stream)
	stream.Domain = firstNonEmpty(meta.Domain, stream.Domain)
	key := lifecycle.MessageKey{Stream: stream, Seq: meta.Sequence.Stream}
	d := Delivery{
		Task: ReadTask(msg.Header, msg.Data, key), Key: key, Subject: msg.Subject, Body: msg.Data, Attempt: int(meta.NumDelivered), Number: meta.Sequence.Consumer,
	}
	d.Token = uint64(d.Attempt)
	d.report = w.leased(d)
	return d, nil
}

// repeat ends a task that completed before: nothing is executed. The same task with another payload is refused, never merged.
func (w *Worker) repeat(ctx context.Context, log *slog.Logger, msg taken, d Delivery, r Record) {
	if r.PayloadHash != "" && r.PayloadHash != d.Task.PayloadHash {
		w.fail(ctx, log, msg, d, Terminate("key_conflict: this task id completed with another payload"))
		return
	}
	w.report(ctx, log, d, lifecycle.ReportDuplicateCaught, ReportData{
		Status: "completed", CompletedAt: Instant(r.CompletedAt), RecordsMS: milliseconds(d.records),
	})
	w.answer(log, d, AnswerAck, msg.Ack())
}

// execute does a task and records that, before it acknowledges. k is nil where nothing is reserved.
func (w *Worker) execute(ctx context.Context, log *slog.Logger, msg taken, d Delivery, k *keeper) {
	claimed := ReportData{Status: "in_flight", LeaseExpiresAt: Instant(lifecycle.MicrosOf(w.cfg.Now().Add(w.cfg.Timing.waitOf(d.Attempt))))}
	if k != nil {
		claimed.LeaseExpiresAt = Instant(k.held.ExpiresAt)
	}
	w.report(ctx, log, d, lifecycle.ReportClaimed, claimed)
	summary, err := w.work(ctx, log, msg, d, k)
	if err != nil {
		w.giveBack(ctx, log, k, err)
		w.fail(ctx, log, msg, d, err)
		return
	}
	// What is done must be recorded, also when the worker is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	now, began := lifecycle.MicrosOf(w.cfg.Now()), time.Now()
	err = w.record(ctx, k, Record{
		TaskID: d.Task.ID, IdempotencyKey: d.Task.IdempotencyKey, AgentID: w.cfg.Agent, CompletedAt: now, ResultSummary: summary, NatsStreamSeq: d.Key.Seq,
		ExpiresAt: now.Add(w.cfg.Retention), PayloadHash: d.Task.PayloadHash,
	})
	d.records += time.Since(began)
	if err != nil && !errors.Is(err, ErrRecorded) {
		w.giveBack(ctx, log, k, err)
		w.fail(ctx, log, msg, d, err)
		return
	}
	w.report(ctx, log, d, lifecycle.ReportCompleted, ReportData{
		Status: "completed", ResultRef: summary, CompletedAt: Instant(now), RecordsMS: milliseconds(d.records),
	})
	w.answer(log, d, AnswerAck, msg.Ack())
}

// milliseconds is a span as reports tell it, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (w *Worker) record(ctx context.Context, k *keeper, r Record) error {
	if k == nil {
		return w.cfg.Records.Complete(ctx, r)
	}
	_, err := k.reservations.Confirm(ctx, k.held, r)
	return err
}

// work runs the handler and heartbeats meanwhile.
func (w *Worker) work(ctx context.Context, log *slog.Logger, msg taken, d Delivery, k *keeper) (string, error) {
	if k != nil {
		return w.workReserved(ctx, log, msg, d, k)
	}
	beats, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.heartbeat(beats, log, msg, d)
	}()
	summary, err := w.cfg.Handle(ctx, d)
	stop()
	<-done // No heartbeat may follow the answer.
	return summary, err
}

func (w *Worker) heartbeat(ctx context.Context, log *slog.Logger, msg taken, d Delivery) {
	if w.cfg.Timing.Heartbeat <= 0 {
		return
	}
	ticker := time.NewTicker(w.cfg.Timing.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.answer(log, d, AnswerHeartbeat, msg.InProgress())
		}
	}
}

func (w *Worker) fail(ctx context.Context, log *slog.Logger, msg taken, d Delivery, err error) {
	var end *terminate
	var later *delay
	switch {
	case errors.Is(err, ErrAbandoned):
	case errors.Is(err, ErrFenced): // The newer holder answers. That this one has worked must not stay unsaid.
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: err.Error()})
	case errors.As(err, &end):
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: end.reason})
		w.answer(log, d, AnswerTerm, msg.giveUp(end.reason))
	case ctx.Err() != nil: // Stopping: another worker may take it at once.
		w.answer(log, d, AnswerNak, msg.Nak())
	case errors.As(err, &later):
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: later.cause.Error()})
		w.answer(log, d, AnswerNak, msg.NakWithDelay(later.wait))
	default:
		w.report(ctx, log, d, lifecycle.ReportFailed, ReportData{Status: "failed", Reason: err.Error()})
		w.answer(log, d, AnswerNak, msg.NakWithDelay(w.cfg.NakDelay))
	}
}

func (w *Worker) answer(log *slog.Logger, d Delivery, answer Answer, err error) {
	if err != nil {
		log.Warn("a delivery could not be answered", "answer", answer, "error", err)
		return
	}
	if w.cfg.Answered != nil {
		w.cfg.Answered(d, answer)
	}
}

// report sends what the worker itself has to say; a report that fails changes nothing else.
func (w *Worker) report(ctx context.Context, log *slog.Logger, d Delivery, kind lifecycle.Kind, data ReportData) {
	if err := d.Report(ctx, kind, data); err != nil {
		log.Warn("a report could not be sent", "kind", kind, "error", err)
	}
}

// leased is how a delivery reports: the lease is added to what is said.
func (w *Worker) leased(d Delivery) func(context.Context, lifecycle.Kind, ReportData) error {
	if w.cfg.Reporter == nil {
		return nil
	}
	return func(ctx context.Context, kind lifecycle.Kind, data ReportData) error {
		data.MessageID, data.Attempt, data.LeaseOwner, data.LeaseVersion = d.Task.MsgID, d.Attempt, w.lease, d.Token
		data.InputHash = firstNonEmpty(data.InputHash, d.Task.PayloadHash)
		return w.cfg.Reporter.Report(ctx, Report{Kind: kind, TaskID: d.Task.ID, At: w.cfg.Now(), Data: data})
	}
}
