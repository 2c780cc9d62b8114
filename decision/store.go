package decision

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

// Errors that callers branch on. Nothing was changed where one of them is returned.
var (
	ErrConflict  = errors.New("the revision is another one") // Something else was decided meanwhile: read again, decide again.
	ErrBusy      = errors.New("an action is open")           // The subject has an open action already.
	ErrTakenOver = errors.New("the lease was taken over")    // Somebody else claimed the effect, or reserved the key, since.
)

// Decider commits decisions.
type Decider interface {
	// Decide commits all of d in one transaction and issues the subject's next revision. A decision whose id was committed before is
	// Repeated and changes nothing. It errors with ErrConflict where the subject's revision is not d.Expected, with ErrBusy where d opens
	// an action and the subject has an open one, and with lifecycle.ErrUnable as Append does.
	Decide(ctx context.Context, d Decision) (Made, error)
	// Revision returns the subject's revision: zero until something was decided about it, then rising by one with each decision and settlement.
	Revision(ctx context.Context, s Subject) (uint64, error)
}

// Outbox hands out effects and takes their outcome.
type Outbox interface {
	// Claim gives the effects of a queue that are due and in nobody's hands to the caller, at most r.Limit, those that became claimable
	// first, ties broken by id. An effect whose lease has ended is in nobody's hands.
	Claim(ctx context.Context, r ClaimRequest) ([]Claimed, error)
	// Settle ends an effect and commits all of s in one transaction, with the subject's next revision. A settlement by the same claim that
	// was committed before is Repeated and changes nothing. It errors with ErrTakenOver where the effect was claimed again since, and with
	// lifecycle.ErrNotFound where there is no such effect.
	Settle(ctx context.Context, s Settlement) (Made, error)
	// Return gives an effect back without settling it. It errors as Settle does.
	Return(ctx context.Context, r Return) error
}

// Reader answers what became of decisions.
type Reader interface {
	// Action returns an action, or lifecycle.ErrNotFound.
	Action(ctx context.Context, id string) (Action, error)
	// ActionsOn returns the actions on a subject, the newest first, at most limit.
	ActionsOn(ctx context.Context, s Subject, limit int) ([]Action, error)
	// ActionsOf returns the actions of an operation in the order of their ids, those behind the given id, at most limit.
	ActionsOf(ctx context.Context, operation, after string, limit int) ([]Action, error)
	// Operations returns the actions that are no part of an operation, the newest first, ties broken by id: those that follow from in the direction in
	// which it reads, at most limit. Without it they begin with the newest.
	Operations(ctx context.Context, from *ActionPlace, limit int) ([]Action, error)
	// Effect returns one effect, or lifecycle.ErrNotFound.
	Effect(ctx context.Context, id string) (EffectState, error)
	// EffectsOf returns the effects of an action, ordered by when they are due, ties broken by id.
	EffectsOf(ctx context.Context, action string) ([]EffectState, error)
}

// Keeper is for upkeep.
type Keeper interface {
	// RetainDecisions deletes what ended before the cutoff: actions that are not open, with their settled effects, and the ids of decisions, by which a
	// decision that is given again is known. An operation with an open part stays as a whole. Revisions and audit records stay. It returns the number of rows deleted. It works in small
	// transactions and may be interrupted.
	RetainDecisions(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
}

// Auditor keeps audit records.
type Auditor interface {
	// AddAudit adds a record that belongs to no decision, such as a refusal.
	AddAudit(ctx context.Context, r AuditRecord) error
	// Audit returns the records that f selects, the newest first, ties broken by id: those that follow from in the direction in which it reads, at most limit.
	// Without it they begin with the newest. next goes on in the same direction; it is nil at the end.
	Audit(ctx context.Context, f AuditFilter, from *AuditCursor, limit int) (records []AuditRecord, next *AuditCursor, err error)
}

// RequestKeys keeps the idempotency keys of calls.
type RequestKeys interface {
	// ReserveKey reserves a key, or says what stands under it.
	ReserveKey(ctx context.Context, r KeyRequest) (KeyState, error)
	// CompleteKey keeps the reply of the request that the key was reserved for. It errors with ErrTakenOver where token is not the latest.
	CompleteKey(ctx context.Context, key string, token uint64, reply []byte) error
	// ReleaseKey frees a key that was reserved with the token, because the request failed before it changed anything.
	ReleaseKey(ctx context.Context, key string, token uint64) error
	// ExpireKeys deletes the keys that were reserved before the given time and returns how many that were.
	ExpireKeys(ctx context.Context, before lifecycle.Micros) (int64, error)
}

// Store is what both databases offer. Consumers take the smallest part that serves them.
type Store interface {
	Decider
	Outbox
	Reader
	Auditor
	RequestKeys
	Keeper
}
