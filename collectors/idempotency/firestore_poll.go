package idempotency

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// poll reads what came since the last poll, and a while before, until ctx is done.
func (d *feed) poll(ctx context.Context) {
	for {
		due := d.polled.Done.Add(d.cfg.Poll).Sub(lifecycle.MicrosOf(d.cfg.Now()))
		if !sleep(ctx, min(max(due, 0), d.cfg.Poll)) {
			return
		}
		d.persistently(ctx, "poll "+d.name(), func() error { return d.pollOnce(ctx) })
		if ctx.Err() != nil {
			return
		}
		d.status.count(func(s *FirestoreStats) { s.Polls++ })
	}
}

// pollOnce reads page by page, ordered by time and name, so that equal times do not hide each other. The position moves when all is read.
func (d *feed) pollOnce(ctx context.Context) error {
	reached, missed := d.polled, 0
	q := d.since(d.polled.At.Add(-d.cfg.Overlap)).OrderBy(firestore.DocumentID, firestore.Asc).Limit(d.cfg.Page)
	for next := q; ; {
		snaps, err := next.Documents(ctx).GetAll()
		if err != nil {
			return fmt.Errorf("poll %s: %w", d.source.collection, err)
		}
		p := &page{}
		missed += d.compare(p, snaps, &reached)
		more := len(snaps) == d.cfg.Page
		if !more {
			reached.Done = lifecycle.MicrosOf(d.cfg.Now())
			if err := p.mark(d.pollMark(), reached); err != nil {
				return err
			}
		}
		if err := d.commit(ctx, p); err != nil {
			return err
		}
		if !more {
			break
		}
		end := snaps[len(snaps)-1]
		next = q.StartAfter(end.Data()[d.source.field], end.Ref)
	}
	d.polled = reached
	if missed > 0 {
		d.stalled(missed)
	}
	return nil
}

// compare adds documents to a page and counts those that the listener should have told.
func (d *feed) compare(p *page, snaps []*firestore.DocumentSnapshot, reached *position) (missed int) {
	for _, snap := range snaps {
		x := documentOf(snap)
		d.add(p, d.source, x)
		if at, ok := d.place(x); ok {
			reached.reach(at, x)
		}
		if d.missed(x) {
			missed++
		}
	}
	return missed
}

// stalled ends the open listener, because it did not tell documents that a poll found.
func (d *feed) stalled(missed int) {
	d.mu.Lock()
	end := d.restart
	d.mu.Unlock()
	if end == nil {
		return
	}
	end(errStalled)
	d.status.count(func(s *FirestoreStats) { s.Stalled++ })
	d.cfg.Logger.Warn("a listener of firestore stalled; it is opened again", "feed", d.name(), "documents", missed)
}
