package dlqtriage

import (
	"context"
	"errors"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// A retry that waits for its time can be cancelled until shortly before. Whoever cancels takes its effect over, so that nobody else can publish it, and
// settles it (ADR 79). Nobody publishes a retry before it is due, so one that was cancelled in time was not published.

// tooLate is how long before it is due a retry can no longer be cancelled: the clocks of whoever cancels and whoever publishes may differ by that.
const tooLate = 2 * time.Second

// cancelLease is how long whoever cancels has. Who dies meanwhile has changed nothing: the retry waits again after it.
const cancelLease = 10 * time.Second

// Cancellable reports whether it can be cancelled: an operation on many until it has ended, and a retry of one entry that was made to wait until it is due.
func (o Operation) Cancellable() bool {
	if o.Bulk {
		return !o.Status.Ended()
	}
	return len(o.Items) == 1 && o.Items[0].Status == ItemQueued && o.Items[0].DueAt >= o.CreatedAt.Add(tooLate)
}

// Waits reports whether it is a retry of one entry that can still be cancelled, as far as the time says.
func (o Operation) Waits(now lifecycle.Micros) bool {
	return !o.Bulk && !o.DryRun && o.Cancellable() && o.Items[0].DueAt >= now.Add(tooLate)
}

// handedOver is how long cancelling waits while a retry is handed to the broker, and handedAgain how often it looks.
const (
	handedOver  = 3 * time.Second
	handedAgain = 50 * time.Millisecond
)

// errDue says that a retry can no longer be cancelled, and that nobody knows yet whether it was published.
var errDue = notCancelled("It is due: see in a moment whether it was published.")

// errInHand says that a retry is being handed to the broker just now.
var errInHand = notCancelled("It is being handed to the broker just now: try again in a moment.")

// notCancelled refuses to cancel an action on one entry.
func notCancelled(why string) error {
	return &Refusal{Code: RefusedIneligible, Why: why, Blocked: []Obstacle{{BlockedStatus, why}}}
}

// waits refuses to cancel an action that is no retry, or one that does not wait any more, by what it says itself.
func (a Action) waits(now lifecycle.Micros) error {
	switch {
	case !a.Kind.Sends() || a.Attempt > 0:
		return notCancelled("Only a retry that waits, or an operation on many entries, can be cancelled.")
	case a.Status == ActionCancelled:
		return notCancelled("It was cancelled before.")
	case a.Status == ActionFailed:
		return notCancelled("It was given up before: nothing was published.")
	case a.Status == ActionSucceeded:
		return notCancelled("Its message was published already.")
	case a.DueAt < now.Add(tooLate):
		return errDue
	}
	return nil
}

// cancellation is who gives up a retry that waits.
type cancellation struct {
	by     decision.Actor
	reason string
	undo   string // The operation that it is part of; empty for none.
}

// cancel gives up a retry that waits. It errors with a [*Refusal] where it is due, where it is being handed over for long, and where the action happens at once.
func (s *Actions) cancel(ctx context.Context, a Action, c cancellation) error {
	if err := a.waits(s.now()); err != nil {
		return err
	}
	over := time.After(handedOver)
	for {
		err := s.tryCancel(ctx, a, c)
		if !errors.Is(err, errInHand) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return err
		case <-time.After(handedAgain):
		}
	}
}

func (s *Actions) tryCancel(ctx context.Context, a Action, c cancellation) error {
	now := s.now()
	effects, err := s.Decisions.EffectsOf(ctx, a.ID)
	if err != nil {
		return err
	}
	if len(effects) != 1 || effects[0].Status.Settled() || a.DueAt < now.Add(tooLate) {
		return errDue
	}
	if effects[0].Status != decision.StatusWaiting {
		return errInHand
	}
	waits := effects[0]
	claimed, err := s.Decisions.Claim(ctx, decision.ClaimRequest{
		Queue: QueueRetry, Holder: "cancels", Now: now, Lease: cancelLease, Limit: 1, Effect: waits.ID, After: waits.Token, Unclaimed: waits.Token == 0,
	})
	if err != nil {
		return err
	}
	if len(claimed) == 0 || claimed[0].Token != waits.Token+1 { // Somebody had it in between: its lease ends, and it goes its way.
		return errInHand
	}
	settled, err := s.Settle(ctx, claimed[0], Ended{CancelledBy: &c.by, UndoneBy: c.undo, Why: c.why()})
	if err != nil {
		return err
	}
	_, err = s.Decisions.Settle(ctx, settled)
	return err
}

// why says who cancelled a retry, and why.
func (c cancellation) why() string {
	why := c.by.Name + " cancelled it before it was published"
	if c.reason != "" {
		why += ": " + c.reason
	}
	return why
}
