package idempotency

import (
	"context"
	"slices"

	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// storeGone stores what became of documents that left the result of a listener. Each is looked up: one that exists has only changed and
// is read as it is now. It errors when ctx is done.
func (d *feed) storeGone(ctx context.Context, gone []document) error {
	for chunk := range slices.Chunk(gone, d.cfg.Page) {
		refs := make([]*firestore.DocumentRef, len(chunk))
		for i, x := range chunk {
			refs[i] = d.client.Doc(x.path)
		}
		var found []*firestore.DocumentSnapshot
		d.persistently(ctx, "look up "+d.name(), func() (err error) {
			found, err = d.client.GetAll(ctx, refs)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := &page{}
		for i, snap := range found {
			if snap.Exists() {
				d.add(p, d.source, documentOf(snap))
			} else if e, ok := d.source.ended(chunk[i], lifecycle.MicrosOf(snap.ReadTime)); ok {
				p.batch.Events = append(p.batch.Events, e)
			}
		}
		d.persistently(ctx, "store", func() error { return d.commit(ctx, p) })
	}
	return ctx.Err()
}

// ended is the event that a record went away: expired where its time had come, else deleted. History stays as it is: an emulator that
// was restarted empty proves nothing about what happened before. That an entry of a log or a reservation goes away means nothing.
func (s source) ended(last document, now lifecycle.Micros) (lifecycle.Event, bool) {
	if !s.records {
		return lifecycle.Event{}, false
	}
	r, err := readRecord(last)
	if err != nil {
		return lifecycle.Event{}, false
	}
	e := last.event(lifecycle.RecordDeleted)
	e.ID, e.At, e.TaskID, e.Agent = last.eventID("ended"), now, r.TaskID, r.AgentID
	e.Detail.IdempotencyKey = r.IdempotencyKey
	if r.ExpiresAt.Known() && r.ExpiresAt <= now {
		e.Kind, e.At = lifecycle.RecordExpired, max(r.ExpiresAt, last.updated+1) // The same for every replica, and after the record.
	}
	return e, true
}
