package decision

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Effect is something to be done outside of the store, once: a message to publish, a webhook to call. Whoever does it makes a repetition
// harmless, such as by a message id that is derived from the effect's id, because a claimer may die after it has acted.
type Effect struct {
	ID      string           // Required.
	Queue   string           // Required. Who does it; each relay claims from one queue.
	Subject Subject          // The subject of the decision; the store fills it in.
	Action  string           // The id of the action that it belongs to; empty for none.
	Due     lifecycle.Micros // Not before this.
	Body    []byte           // What to do, in the form of the domain that owns the effect.
}

// Status is how far an effect is.
type Status string

// The ways of an effect.
const (
	StatusWaiting Status = "waiting" // It is due later, or nobody has claimed it, or it was given back.
	StatusClaimed Status = "claimed" // Somebody claimed it. When the lease has passed, somebody else may.
	StatusDone    Status = "done"    // It was done.
	StatusFailed  Status = "failed"  // It was given up.
)

// Settled reports whether the effect is over: it is never claimed again.
func (s Status) Settled() bool { return s == StatusDone || s == StatusFailed }

// EffectState is an effect with what became of it.
type EffectState struct {
	Effect
	Status    Status
	Holder    string           // Who claimed it last.
	Until     lifecycle.Micros // When the lease of that claim ends; zero unless the status is claimed.
	Token     uint64           // How often it was claimed: the fencing token of the latest claim.
	SettledAt lifecycle.Micros // Zero until it is settled.
	Result    []byte           // What the claimer said at the end, or when it gave the effect back.
}

// ClaimRequest asks for effects to do.
type ClaimRequest struct {
	Queue  string           // Required.
	Holder string           // Required. Who asks, for people.
	Now    lifecycle.Micros // Required. Effects that are due, and leases that ended, no later than this.
	Lease  time.Duration    // Required. How long the claimer has.
	Limit  int              // Required. At most so many.

	// Optional. Only this effect, due or not: whoever made the claim with the token After handed it over. It is claimed where no later claim
	// holds it. An effect that nobody has claimed yet was handed over by nobody.
	Effect string
	After  uint64

	// Optional, with Effect and without After: only while nobody has claimed the effect yet, due or not. Who decides that it is not to be done claims so.
	Unclaimed bool
}

// Claimed is an effect that the claimer holds until its lease ends.
type Claimed struct {
	Effect
	Token uint64           // The fencing token: who settles with an older one is refused.
	Until lifecycle.Micros //
}

// Settlement says what came of an effect.
type Settlement struct {
	Effect string           // Required.
	Token  uint64           // Required. Of the claim.
	Status Status           // Required. Done or failed.
	Result []byte           // For people and for the domain, in its form.
	At     lifecycle.Micros // Required.

	// Optional. The settlement is ErrConflict, and changes nothing, where the subject has another revision than this.
	Expected *uint64
	Change
}

// Return gives a claimed effect back, to be done later.
type Return struct {
	Effect string           // Required.
	Token  uint64           // Required. Of the claim.
	Due    lifecycle.Micros // Required. Not before this.
	Why    []byte           // What went wrong.
}

// CheckClaim reports, as ErrTakenOver, that the claim with the token no longer holds the effect, or that it gave the effect back.
func (e EffectState) CheckClaim(token uint64) error {
	if e.Token != token || e.Status == StatusWaiting {
		return fmt.Errorf("effect %q, claim %d: %w", e.ID, token, ErrTakenOver)
	}
	return nil
}

// Check reports, as ErrConflict, that the subject is at another revision than the settlement expects.
func (s Settlement) Check(subject Subject, revision uint64) error {
	if s.Expected == nil {
		return nil
	}
	return checkRevision(subject, revision, *s.Expected)
}
