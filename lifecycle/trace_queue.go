package lifecycle

import (
	"context"
	"errors"
)

// ErrTakenOver says that somebody else tells of tasks since. Nothing was changed.
var ErrTakenOver = errors.New("somebody else tells of tasks")

// TraceQueue is which tasks have ended and are still to be told to a receiver of traces, where the store was opened to note that. An end is noted
// in the transaction that finds it. The end of one message is told once, whatever becomes known of it later; that of a retry is told too.
type TraceQueue interface {
	// ClaimTraces makes the holder the only one who tells until then. claimed is false where another one is. The token rises with each new holder.
	ClaimTraces(ctx context.Context, c TraceClaim) (token uint64, claimed bool, err error)
	// DueTraces returns the tasks that are due, those that are due for the longest first, at most limit.
	DueTraces(ctx context.Context, now Micros, limit int) ([]DueTrace, error)
	// TracesTold notes what was told, all or nothing. It errors with ErrTakenOver where the token is not the latest.
	TracesTold(ctx context.Context, token uint64, told []ToldTrace) error
}

// TraceClaim asks to be the one who tells.
type TraceClaim struct {
	Holder     string
	Now, Until Micros
}

// DueTrace is a task that ended.
type DueTrace struct {
	Key    int64 // Of the row, for ToldTrace.
	TaskID string
	Ended  int    // Generation of the message that ended.
	Told   int    // Generation of the last message whose end was told; -1 for none.
	Due    Micros // Since when it may be told.
}

// ToldTrace is a task that needs not be told again, until a later message of it ends.
type ToldTrace struct {
	Key    int64
	Ended  int  // As in DueTrace.
	Undone bool // The end did not hold: it was not told, and is told when the message ends again.
}

// Ended reports whether the newest message of a task has come to an end, as far as is known.
func (r TaskRow) Ended() bool {
	return r.Summary.Listed && !r.Summary.Message.IsZero() && !r.Summary.State.Open()
}
