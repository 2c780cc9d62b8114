package health

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Turns is what a part says of itself that works in turns: a turn that fails is tried again. It is safe for concurrent use.
type Turns struct {
	log   *slog.Logger
	fails string

	mu   sync.Mutex
	part Part
}

// NewTurns begins with the given part. fails is the sentence that log gets when a turn fails for a reason that is new.
func NewTurns(part Part, log *slog.Logger, fails string) *Turns {
	return &Turns{log: log, fails: fails, part: part}
}

// Health is the part as its last turn left it.
func (t *Turns) Health() []Part {
	t.mu.Lock()
	defer t.mu.Unlock()
	return []Part{t.part}
}

// Ended notes how a turn ended, and when. A turn that ends because ctx does is neither a success nor a failure.
func (t *Turns) Ended(ctx context.Context, err error, now time.Time) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.part.State, t.part.Detail, t.part.Lacks, t.part.LastAt = OK, "", nil, now
		return
	}
	if t.part.Detail != err.Error() {
		t.log.Warn(t.fails, "error", err)
	}
	t.part.State, t.part.Detail, t.part.Lacks = Down, err.Error(), LackOf(err)
}

// Handled counts one more thing that was done.
func (t *Turns) Handled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part.Handled++
}
