package collectors

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// lookout counts looks, each of which waits until it is let go. The n-th look sees a stream whose last sequence is n.
type lookout struct {
	shared sharedLook
	looks  uint64
	let    chan error
	told   sync.WaitGroup
}

func (o *lookout) look(ctx context.Context) (Streams, error) {
	o.looks++
	saw := Streams{LastSeq: map[string]LastSeq{"TASKS": {Seq: o.looks}}}
	select {
	case err := <-o.let:
		return saw, err
	case <-ctx.Done():
		return Streams{}, ctx.Err()
	}
}

// join begins to wait for a look, and returns where it is told which one that was, or why none.
func (o *lookout) join(ctx context.Context) (saw *uint64, why *error) {
	saw, why = new(uint64), new(error)
	o.told.Go(func() {
		var s Streams
		s, *why = o.shared.join(ctx, o.look)
		*saw = s.LastSeq["TASKS"].Seq
	})
	synctest.Wait()
	return saw, why
}

func TestWhoComesDuringALookSharesTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &lookout{let: make(chan error)}
		first, _ := o.join(t.Context())
		var others [4]*uint64
		for i := range others {
			others[i], _ = o.join(t.Context())
		}
		o.let <- nil
		synctest.Wait()
		last, _ := o.join(t.Context())
		close(o.let)
		o.told.Wait()
		if *first != 1 || *last != 3 || o.looks != 3 {
			t.Errorf("the first saw look %d, the last look %d of %d; want 1, and 3 of 3", *first, *last, o.looks)
		}
		for i, saw := range others {
			if *saw != 2 {
				t.Errorf("%d came during look 1, and saw look %d; want 2", i, *saw)
			}
		}
	})
}

func TestALookThatIsGivenUpFailsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &lookout{let: make(chan error)}
		running, _ := o.join(t.Context())
		ctx, giveUp := context.WithCancel(t.Context())
		_, gaveUp := o.join(ctx) // It is the one that is to look.
		other, _ := o.join(t.Context())
		giveUp()
		synctest.Wait()
		if !errors.Is(*gaveUp, context.Canceled) {
			t.Errorf("whoever gives up is told %v", *gaveUp)
		}
		if o.looks != 1 {
			t.Errorf("%d looks at once", o.looks)
		}
		close(o.let)
		o.told.Wait()
		if *running != 1 || *other != 2 {
			t.Errorf("the others saw looks %d and %d, want 1 and 2", *running, *other)
		}
	})
}

func TestAFailedLookFailsForAllWhoWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &lookout{let: make(chan error)}
		o.join(t.Context())
		_, one := o.join(t.Context())
		_, two := o.join(t.Context())
		o.let <- nil
		o.let <- context.DeadlineExceeded // As a broker that does not answer in time.
		o.told.Wait()
		if *one == nil || *two == nil || o.looks != 2 {
			t.Errorf("told %v and %v after %d looks, where the second failed", *one, *two, o.looks)
		}
	})
}
