package idempotency

import (
	"context"
	"fmt"
	"sync"

	"cloud.google.com/go/firestore"

	"fleetglass/internal/health"
)

// Firestore reads the records and the side-effect log that agents keep in Firestore, and hands what they say to the lifecycle store.
// Firestore has no durable position of a reader, so three ways of reading are joined, each made up for by the next: a listener, whose
// first result after a start is also the catch-up; a poll, for what came late or what a listener that went quiet did not tell; and a
// sweep by document name, for documents that are not in the order of time at all. What is read twice is stored once. A record that
// is overwritten while nobody looks is seen in its last form only.
type Firestore struct {
	cfg    FirestoreConfig
	status *firestoreStatus
}

// NewFirestore validates the configuration and starts nothing.
func NewFirestore(cfg FirestoreConfig) (*Firestore, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("collector firestore: %w", err)
	}
	cfg.Logger = cfg.Logger.With("source", firestorePart)
	return &Firestore{cfg: cfg, status: newFirestoreStatus(cfg.configured())}, nil
}

// Health says how the collector is, as one part named firestore.
func (f *Firestore) Health() []health.Part {
	part, _ := f.status.snapshot()
	return []health.Part{part}
}

// Stats counts what was done since the collector was made.
func (f *Firestore) Stats() FirestoreStats {
	_, stats := f.status.snapshot()
	return stats
}

// Run reads until ctx is done and returns nil. Whatever fails, Firestore or the store, is tried again after a pause; meanwhile Health
// says Down and why. Where nothing is configured it only waits.
func (f *Firestore) Run(ctx context.Context) error {
	if !f.cfg.configured() {
		<-ctx.Done()
		return nil
	}
	client := f.connect(ctx)
	if client == nil {
		return nil
	}
	defer func() { _ = client.Close() }()
	feeds := f.begin(ctx, client)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { f.probe(ctx, client) })
	for _, s := range sources() {
		all.Go(func() { f.sweep(ctx, client, s) })
	}
	for _, d := range feeds {
		all.Go(func() { d.listen(ctx) })
		all.Go(func() { d.poll(ctx) })
	}
	return nil
}

// begin makes the feeds and gives each a position from which nothing later can be missed: the one in the store, else Firestore's own
// time now, which is stored before anything is read. What is older is found by the first sweep. It tries until ctx is done.
func (f *Firestore) begin(ctx context.Context, client *firestore.Client) []*feed {
	var feeds []*feed
	f.persistently(ctx, "begin", func() error {
		now, err := f.serverTime(ctx, client)
		if err != nil {
			return err
		}
		feeds = nil
		p := &page{}
		for _, s := range sources() {
			for _, x := range scales() {
				d := &feed{Firestore: f, client: client, source: s, scale: x}
				if err := d.restore(ctx, now, p); err != nil {
					return err
				}
				feeds = append(feeds, d)
			}
		}
		return f.commit(ctx, p)
	})
	if ctx.Err() != nil {
		return nil
	}
	f.status.reading(len(feeds))
	return feeds
}

// persistently calls do until it succeeds or ctx is done, with rising pauses. Health names what fails.
func (f *Firestore) persistently(ctx context.Context, what string, do func() error) {
	for pause := f.cfg.Retry; ; pause = min(2*pause, f.cfg.MaxRetry) {
		err := do()
		if err == nil || ctx.Err() != nil {
			f.status.fine(what)
			return
		}
		f.status.trouble(what, err)
		f.cfg.Logger.Warn("firestore could not be read; it is tried again", "step", what, "error", err)
		if !sleep(ctx, pause) {
			return
		}
	}
}
