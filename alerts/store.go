package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Record is an audit record of what somebody did on the board.
type Record = decision.AuditRecord

// Errors that callers branch on. Nothing was changed where one of them is returned.
var (
	ErrConflict  = errors.New("the board changed meanwhile") // Read it again, decide again.
	ErrTakenOver = errors.New("the receiver was taken over") // Somebody else tells it now.
)

// BoardStore keeps the board. Replicas share it: each commit names the version of the board that it was made for, so of two that make the
// same change one succeeds.
type BoardStore interface {
	// Board returns the board, with the alerts that were resolved at or after the given time.
	Board(ctx context.Context, resolvedSince lifecycle.Micros) (Board, error)
	// Alert returns an alert, whenever it was resolved, or lifecycle.ErrNotFound.
	Alert(ctx context.Context, id string) (Alert, error)
	// CommitBoard commits the change in one transaction. It errors with ErrConflict where the board has another version.
	CommitBoard(ctx context.Context, c Change) error
	// RetainAlerts deletes alerts that were resolved, silences that ended, notices and deliveries that are from before the cutoff, and returns the
	// number of rows.
	RetainAlerts(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
}

// NoticeStore hands notices to whoever tells a receiver, and keeps what came of them.
type NoticeStore interface {
	// ClaimReceiver makes the holder the one who tells a receiver, until its lease ends. One that is claimed for the first time begins behind the
	// latest notice. claimed is false where another holder has a lease that has not ended.
	ClaimReceiver(ctx context.Context, c ReceiverClaim) (r Receiver, claimed bool, err error)
	// Notices returns notices with a number above after, in order, at most limit.
	Notices(ctx context.Context, after uint64, limit int) ([]Notice, error)
	// Delivered notes tries to tell a receiver, and moves its position on. It errors with ErrTakenOver where a later claim was made.
	Delivered(ctx context.Context, r Receiver, tries []Delivery) error
	// Deliveries returns the tries about an alert, the newest first, at most limit; without an id those about all.
	Deliveries(ctx context.Context, alert string, limit int) ([]Delivery, error)
}

// ReceiverClaim asks to be the one who tells a receiver.
type ReceiverClaim struct {
	Name   string           // Required. Of the receiver.
	Holder string           // Required. Who asks.
	Now    lifecycle.Micros // Required.
	Until  lifecycle.Micros // Required. When the lease ends.
}

// Receiver is how far a receiver was told.
type Receiver struct {
	Name     string
	Token    uint64 // Of the claim: who reports with an older one is refused.
	Position uint64 // The number of the latest notice that it was told.
}

// Delivery is one try to tell a receiver of a notice.
type Delivery struct {
	To     string           `json:"to"`
	Seq    uint64           `json:"seq"`
	Alert  string           `json:"alert"`
	At     lifecycle.Micros `json:"at"`
	Status DeliveryStatus   `json:"status"`
	Detail string           `json:"detail"` // What the receiver answered, or what failed.
}

// DeliveryStatus says what came of a try.
type DeliveryStatus string

// What may come of a try.
const (
	DeliveryDone   DeliveryStatus = "delivered" // The receiver took it.
	DeliveryFailed DeliveryStatus = "failed"    // It will be tried again.
	DeliveryGone   DeliveryStatus = "given_up"  // It was tried for as long as receivers are given.
)

// Store is what both databases offer.
type Store interface {
	BoardStore
	NoticeStore
}

// Check reports, as ErrConflict, that the board is not the one that the change was made for.
func (c Change) Check(b Board) error {
	if b.Version != c.Expected {
		return fmt.Errorf("the board is at version %d, not %d: %w", b.Version, c.Expected, ErrConflict)
	}
	return nil
}

// Ends is when the silence stops to mute.
func (s Silence) Ends() lifecycle.Micros {
	if s.EndedAt.Known() {
		return s.EndedAt
	}
	return s.Until
}

// SortByID orders alerts by their ids.
func SortByID(all []Alert) {
	slices.SortFunc(all, func(a, b Alert) int { return cmp.Compare(a.ID, b.ID) })
}
