package fleet

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// admit reserves the task before it is executed. What another holds is handed back until that one's lease ends.
func (w *Worker) admit(ctx context.Context, log *slog.Logger, msg taken, d Delivery) {
	began := time.Now()
	held, done, err := w.cfg.Reserve.Reserve(ctx, Claim{
		TaskID: d.Task.ID, IdempotencyKey: d.Task.IdempotencyKey, PayloadHash: d.Task.PayloadHash, Owner: w.lease, Lease: w.leaseOf(d),
	})
	d.records += time.Since(began)
	var busy *ReservedError
	switch {
	case errors.As(err, &busy):
		log.Info("task is reserved by another", "owner", busy.Owner, "wait", busy.Left)
		w.answer(log, d, AnswerNak, msg.NakWithDelay(max(busy.Left, w.cfg.NakDelay)))
	case errors.Is(err, ErrKeyConflict):
		w.fail(ctx, log, msg, d, Terminate("key_conflict: this task id was taken up with another payload"))
	case err != nil:
		log.Warn("the task could not be reserved, so it is not executed", "error", err)
		w.answer(log, d, AnswerNak, msg.NakWithDelay(w.cfg.NakDelay))
	case done != nil:
		w.repeat(ctx, log, msg, d, *done)
	default:
		d.Token = held.Token
		d.report = w.leased(d)
		w.execute(ctx, log, msg, d, &keeper{reservations: w.cfg.Reserve, held: held})
	}
}

// leaseOf is a little shorter than the broker's own wait, so that the next attempt finds the reservation of a dead one expired.
func (w *Worker) leaseOf(d Delivery) time.Duration {
	wait := w.cfg.Timing.waitOf(d.Attempt)
	return wait - wait/10
}

// workReserved runs the handler; meanwhile it renews the reservation and heartbeats, in that order, so that neither outlives the
// other by more than what leaseOf allows. Where heartbeats are on, there are at least three to a lease.
func (w *Worker) workReserved(ctx context.Context, log *slog.Logger, msg taken, d Delivery, k *keeper) (string, error) {
	every := min(w.cfg.Timing.Heartbeat, w.leaseOf(d)/3)
	beat := func() { w.answer(log, d, AnswerHeartbeat, msg.InProgress()) }
	return k.during(ctx, every, beat, func(ctx context.Context) (string, error) { return w.cfg.Handle(ctx, d) })
}

// giveBack frees the key of an attempt that failed, unless it fell silent or the key is no longer its own.
func (w *Worker) giveBack(ctx context.Context, log *slog.Logger, k *keeper, cause error) {
	if k == nil || errors.Is(cause, ErrAbandoned) || errors.Is(cause, ErrFenced) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := k.release(ctx); err != nil {
		log.Warn("a reservation could not be released", "error", err)
	}
}
