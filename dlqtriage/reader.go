package dlqtriage

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// EntryReader answers questions about entries.
type EntryReader interface {
	// Entries returns the entries that f selects, those that died last first, ties broken by id.
	Entries(ctx context.Context, f EntryFilter, p EntryPageRequest) (EntryPage, error)
	// Entry returns one entry, or lifecycle.ErrNotFound.
	Entry(ctx context.Context, id string) (Entry, error)
	// EntriesOf returns the entries of a task, those that died first first, at most limit.
	EntriesOf(ctx context.Context, taskID string, limit int) ([]Entry, error)
	// CountEntries counts the entries that f selects.
	CountEntries(ctx context.Context, f EntryFilter) (int64, error)
	// EntryGroups counts the entries that f selects by the given fields, of which there is at least one: the largest group first, ties
	// broken by the values. now is the end of the spans of [EntryGroup]. At most limit groups are returned.
	EntryGroups(ctx context.Context, f EntryFilter, by []GroupField, now lifecycle.Micros, limit int) ([]EntryGroup, error)
	// EntrySteps counts the deaths of each group in the steps of a trend that ends now, in no order. A group in which none died meanwhile is left out.
	EntrySteps(ctx context.Context, f EntryFilter, by []GroupField, now lifecycle.Micros) ([]GroupSteps, error)
	// EachFate calls visit with what became of every entry that died in [from, to), in no order.
	EachFate(ctx context.Context, from, to lifecycle.Micros, visit func(Fate)) error
}

// QueueReader answers what those ask who work entries off.
type QueueReader interface {
	// Uncopied returns entries that died before the given time and of which no entry in the broker's queue was seen, in the order in which
	// they died, ties broken by id; those behind after, at most limit.
	Uncopied(ctx context.Context, before lifecycle.Micros, after *EntryCursor, limit int) ([]Entry, error)
	// DeferredUntil returns entries that are deferred until a time no later than now, the earliest first, at most limit.
	DeferredUntil(ctx context.Context, now lifecycle.Micros, limit int) ([]Entry, error)
}

// EntryStore is what both databases offer about entries. Entries are written with the events that they follow from.
type EntryStore interface {
	EntryReader
	QueueReader
}

// EntryPageRequest asks for a part of the list of entries.
type EntryPageRequest struct {
	Limit    int          // Rows, at least 1.
	From     *EntryCursor // Rows strictly beyond this one; nil for the beginning.
	Backward bool         // Towards the beginning. The rows still come in list order.
}

// EntryCursor is the place of an entry in a list.
type EntryCursor struct {
	FailedAt lifecycle.Micros
	ID       string
}

// Cursor is the place of the entry in a list.
func (e Entry) Cursor() *EntryCursor { return &EntryCursor{FailedAt: e.FailedAt, ID: e.ID} }

// EntryPage is a part of the list of entries.
type EntryPage struct {
	Entries []Entry
	Next    *EntryCursor // Where the following page begins; nil at the end.
	Prev    *EntryCursor // Where the page before begins (read Backward); nil at the beginning.
}

// GroupField is a field by which entries are grouped.
type GroupField string

// The fields by which entries are grouped.
const (
	ByStatus      GroupField = "status"
	ByCategory    GroupField = "category"
	ByDetail      GroupField = "detail"
	ByKind        GroupField = "kind"
	ByPath        GroupField = "path"
	ByAgent       GroupField = "agent"
	ByType        GroupField = "type"
	ByFingerprint GroupField = "fingerprint"
)

// GroupFields lists the fields by which entries are grouped.
func GroupFields() []GroupField {
	return []GroupField{ByStatus, ByCategory, ByDetail, ByKind, ByPath, ByAgent, ByType, ByFingerprint}
}

// TrendSpan is how far a trend looks back: it compares the last span with the one before.
const TrendSpan = 24 * time.Hour

// A trend is drawn in steps: two [TrendSpan] that end now.
const (
	TrendSteps = 24
	TrendStep  = 2 * TrendSpan / TrendSteps
)

// GroupSteps are the deaths of a group in the steps of a trend, the earliest first: the last half adds up to [EntryGroup.Recent], the first to Before.
type GroupSteps struct {
	Values []string // As those of the group.
	Counts [TrendSteps]int64
}

// EntryGroup is the entries that have the same values.
type EntryGroup struct {
	Values  []string // In the order of the fields that were asked for; empty where the entries have no value.
	Count   int64
	Open    int64            // Of these, those that wait for a decision.
	FirstAt lifecycle.Micros // When the first of them died.
	LastAt  lifecycle.Micros // When the last of them died.
	Recent  int64            // How many died in the [TrendSpan] before now.
	Before  int64            // How many died in the [TrendSpan] before that.

	Retried   int64 // How many were published again, for the same agent or another.
	Recovered int64 // Of these, those that completed.
	DiedAgain int64 // Of those retried, those that died again. What became of the others is not known yet.

	Median time.Duration // From death to completion, of those that completed; of an even number the lower one of the middle. Zero where none did.
}

// Fate is what became of an entry, as statistics need it.
type Fate struct {
	Class
	Path       Path
	Agent      string
	Type       string
	Status     Status
	Outcome    Outcome
	Via        string // Of the last decision.
	Until      lifecycle.Micros
	FailedAt   lifecycle.Micros
	ResolvedAt lifecycle.Micros // Zero while it is not.
}
