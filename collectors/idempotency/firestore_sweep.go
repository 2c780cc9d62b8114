package idempotency

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// swept is how far the sweep of a source has come.
type swept struct {
	After string           `json:"after,omitempty"` // Path of the last document read; empty when no sweep is under way.
	Done  lifecycle.Micros `json:"done,omitempty"`  // When the last sweep ended, by our clock.
}

// sweep reads every document of a source by name, at first and then once per interval, until ctx is done: those without a time, with a
// time of another type, and those written with old times. A sweep that is interrupted goes on where it was.
func (f *Firestore) sweep(ctx context.Context, client *firestore.Client, s source) {
	name := f.cfg.mark(s.collection + ":sweep")
	step := "sweep " + s.collection
	for ctx.Err() == nil {
		var at swept
		f.persistently(ctx, step, func() error { // Anew each time: another replica may have swept.
			_, err := f.recall(ctx, name, &at)
			return err
		})
		due := at.Done.Add(f.cfg.Sweep).Sub(lifecycle.MicrosOf(f.cfg.Now()))
		if at.After == "" && due > 0 {
			sleep(ctx, min(due, f.cfg.Sweep))
			continue
		}
		f.persistently(ctx, step, func() error { return f.sweepOnce(ctx, client, s, name, &at) })
	}
}

// sweepOnce reads from the position to the end. The position moves with every page.
func (f *Firestore) sweepOnce(ctx context.Context, client *firestore.Client, s source, name string, at *swept) error {
	q := s.query(client).OrderBy(firestore.DocumentID, firestore.Asc).Limit(f.cfg.Page)
	for {
		next := q
		if at.After != "" {
			next = q.StartAfter(client.Doc(at.After))
		}
		snaps, err := next.Documents(ctx).GetAll()
		if err != nil {
			return fmt.Errorf("sweep %s: %w", s.collection, err)
		}
		p := &page{}
		for _, snap := range snaps {
			f.add(p, s, documentOf(snap))
		}
		reached := swept{Done: lifecycle.MicrosOf(f.cfg.Now())}
		more := len(snaps) == f.cfg.Page
		if more {
			reached = swept{After: pathOf(snaps[len(snaps)-1].Ref), Done: at.Done}
		}
		if err := p.mark(name, reached); err != nil {
			return err
		}
		if err := f.commit(ctx, p); err != nil {
			return err
		}
		if *at = reached; !more {
			f.status.count(func(s *FirestoreStats) { s.Sweeps++ })
			return nil
		}
	}
}
