package dlqtriage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// An operation is worked off in slices. Each slice is an effect; its settlement commits the progress together with the effect of the next
// one. A slice that is done again, because whoever did it died, finds the actions that it took before.

// queueOperations is the queue of the slices.
const queueOperations = "operations"

const (
	sliceLease  = 30 * time.Second
	sliceTime   = 500 * time.Millisecond // After it the progress is committed.
	mostSlice   = 500                    // Entries of a slice at most: that much is in memory.
	leastSlice  = 64                     // Entries that a slice lists at least, and those of the first one.
	lookEvery   = 200 * time.Millisecond // How often a slice looks whether it was cancelled elsewhere.
	idleEvery   = time.Second
	failedPause = 5 * time.Second
)

// slice is where a slice begins.
type slice struct {
	Operation string       `json:"operation"`
	Number    int          `json:"number"`
	Index     int          `json:"index,omitempty"`  // Among the ids.
	Size      int          `json:"size,omitempty"`   // How many entries it lists; zero for the first slice.
	After     *EntryCursor `json:"after,omitempty"`  // In the list of the filter.
	Undone    string       `json:"undone,omitempty"` // Among the actions of the operation that is undone.
}

// sliceID names the effect that is a slice of an operation.
func sliceID(operation string, number int) string { return operation + "/" + strconv.Itoa(number) }

func (p slice) effect(o Operation, number int, due lifecycle.Micros) (decision.Effect, error) {
	p.Operation, p.Number = o.ID, number
	body, err := json.Marshal(p)
	return decision.Effect{ID: sliceID(o.ID, number), Queue: queueOperations, Action: o.ID, Due: due, Body: body}, err
}

// Run works operations off until ctx is done. What fails is tried again.
func (s *Operations) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		worked, err := s.once(ctx)
		pause := idleEvery
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("an operation could not go on; it is tried again", "error", err)
			pause = failedPause
		}
		if !worked {
			s.sleep(ctx, pause)
		}
	}
	return nil
}

func (s *Operations) sleep(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-t.C:
	}
}

// once does one slice, and reports whether there was one.
func (s *Operations) once(ctx context.Context) (bool, error) {
	claimed, err := s.Store.Claim(ctx, decision.ClaimRequest{
		Queue: queueOperations, Holder: "operations", Now: s.Actions.now(), Lease: sliceLease, Limit: 1,
	})
	if err != nil || len(claimed) == 0 {
		return false, err
	}
	if err := s.slice(ctx, claimed[0]); err != nil {
		due := s.Actions.now()
		if ctx.Err() == nil {
			due = due.Add(failedPause)
		}
		back := s.Store.Return(context.WithoutCancel(ctx), decision.Return{Effect: claimed[0].ID, Token: claimed[0].Token, Due: due, Why: []byte(err.Error())})
		return false, errors.Join(err, back)
	}
	return true, nil
}

// slice does the entries of a slice and commits what became of them.
func (s *Operations) slice(ctx context.Context, c decision.Claimed) error {
	var at slice
	if err := json.Unmarshal(c.Body, &at); err != nil {
		return fmt.Errorf("read slice %q: %w", c.ID, err)
	}
	d, err := s.Store.Action(ctx, at.Operation)
	if err != nil {
		return err
	}
	o, err := ReadOperation(d)
	if err != nil {
		return err
	}
	w := &walk{service: s, operation: o, at: at, again: c.Token > 1, began: s.Actions.Now()}
	switch {
	case !o.Status.Ended():
		err = w.run(ctx)
	case w.again:
		err = w.recount(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.commit(ctx, c, w); err != nil {
		return err
	}
	s.stop(o.ID, false) // No slice of it follows where it was cancelled.
	return nil
}

// commit settles a slice: with the progress, and the next slice where there is one. A cancellation that came meanwhile counts.
func (s *Operations) commit(ctx context.Context, c decision.Claimed, w *walk) error {
	for {
		err := s.settle(ctx, c, w)
		switch {
		case errors.Is(err, decision.ErrConflict):
			continue // It was cancelled meanwhile.
		case errors.Is(err, decision.ErrTakenOver):
			return nil // Somebody else does the slice.
		}
		return err
	}
}

func (s *Operations) settle(ctx context.Context, c decision.Claimed, w *walk) error {
	revision, err := s.Store.Revision(ctx, c.Subject)
	if err != nil {
		return err
	}
	d, err := s.Store.Action(ctx, w.operation.ID)
	if err != nil {
		return err
	}
	now, err := ReadOperation(d)
	if err != nil {
		return err
	}
	out := decision.Settlement{Effect: c.ID, Token: c.Token, Status: decision.StatusDone, At: s.Actions.now(), Expected: &revision}
	next := w.progress(now, out.At)
	next.Slices = w.at.Number + 1
	if !next.Status.Ended() {
		part, err := w.next.effect(next, w.at.Number+1, out.At)
		if err != nil {
			return err
		}
		out.Effects = []decision.Effect{part}
	}
	if out.Result, err = json.Marshal(w.items); err != nil {
		return err
	}
	if out.Action, err = next.stored(); err != nil {
		return err
	}
	if _, err = s.Store.Settle(ctx, out); err == nil {
		s.Changed(next)
	}
	return err
}
