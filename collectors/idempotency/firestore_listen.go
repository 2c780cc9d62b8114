package idempotency

import (
	"context"
	"errors"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// Why a listener is ended by us.
var (
	errRotated = errors.New("the listener is old")
	errStalled = errors.New("the listener tells nothing any more")
)

// listen keeps a listener open until ctx is done. One that ends is opened again: at once where we ended it, else after a pause that
// grows while none of them tells anything.
func (d *feed) listen(ctx context.Context) {
	pause := d.cfg.Retry
	for ctx.Err() == nil {
		told, err := d.session(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errRotated), errors.Is(err, errStalled):
			continue
		}
		d.status.count(func(s *FirestoreStats) { s.Recreated++ })
		d.status.trouble(d.name(), err)
		d.cfg.Logger.Warn("a listener of firestore ended; it is opened again", "feed", d.name(), "error", err)
		if told {
			pause = d.cfg.Retry
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, d.cfg.MaxRetry)
	}
}

// session listens until the listener ends, and says why, and whether it told anything. What was told is stored even when the listener is
// being ended.
func (d *feed) session(ctx context.Context) (told bool, err error) {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	old := time.AfterFunc(d.cfg.Rotate, func() { end(errRotated) })
	defer old.Stop()
	from := d.open(end)
	defer d.close()
	it := d.since(from).Snapshots(life)
	defer it.Stop()
	for {
		snap, err := it.Next()
		if err != nil {
			if cause := context.Cause(life); cause != nil {
				err = cause
			}
			return told, err
		}
		if err := d.take(ctx, snap, !told); err != nil {
			return told, err
		}
		told = true
	}
}

// open notes that a listener begins, and returns the time from which it listens. What earlier ones told before that time is forgotten.
func (d *feed) open(end func(error)) lifecycle.Micros {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.from, d.began, d.restart = d.listened.At.Add(-d.cfg.Overlap), d.cfg.Now(), end
	for path, k := range d.told {
		if k.at < d.from {
			delete(d.told, path)
		}
	}
	return d.from
}

func (d *feed) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began, d.restart = time.Time{}, nil
}

// take stores a result. The first one of a listener is everything from its lower bound on: what an earlier listener told and what is
// not in it is gone. It errors when ctx is done.
func (d *feed) take(ctx context.Context, snap *firestore.QuerySnapshot, first bool) error {
	before := map[string]known{}
	if first {
		before = d.forget()
	}
	docs, gone := d.note(snap.Changes)
	for path, k := range before {
		if _, still := d.told[path]; !still {
			gone = append(gone, k.last)
		}
	}
	if err := d.storeAll(ctx, docs); err != nil {
		return err
	}
	if err := d.storeGone(ctx, gone); err != nil {
		return err
	}
	d.status.fine(d.name())
	d.status.fine(partProbe)
	if !d.heard {
		d.heard = true
		d.status.heard()
	}
	return nil
}

// forget returns what listeners told so far, and begins anew.
func (d *feed) forget() map[string]known {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.told
	d.told = map[string]known{}
	return before
}

// note remembers the documents of a snapshot, and returns those that exist and those that are gone.
func (d *feed) note(changes []firestore.DocumentChange) (docs, gone []document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range changes {
		doc := documentOf(c.Doc)
		if c.Kind == firestore.DocumentRemoved {
			gone = append(gone, doc)
			delete(d.told, doc.path)
			continue
		}
		at, _ := d.place(doc)
		d.told[doc.path] = known{at: at, updated: doc.updated, last: doc}
		docs = append(docs, doc)
	}
	return docs, gone
}

// storeAll stores documents page by page. The position moves with the last page, because changes do not come in the order of time.
func (d *feed) storeAll(ctx context.Context, docs []document) error {
	reached := d.listened
	left := len(docs)
	for chunk := range slices.Chunk(docs, d.cfg.Page) {
		p := &page{}
		for _, x := range chunk {
			d.add(p, d.source, x)
			if at, ok := d.place(x); ok {
				reached.reach(at, x)
			}
		}
		if left -= len(chunk); left == 0 {
			if err := p.mark(d.listenMark(), reached); err != nil {
				return err
			}
		}
		d.persistently(ctx, "store", func() error { return d.commit(ctx, p) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listened = reached
	return nil
}
