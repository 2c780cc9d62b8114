package idempotency

import (
	"context"
	"fmt"

	"cloud.google.com/go/firestore"

	"fleetglass/internal/firestoreclient"
	"fleetglass/lifecycle"
)

// connect makes the client, trying until ctx is done; then it returns nil. It connects with the first call.
func (f *Firestore) connect(ctx context.Context) *firestore.Client {
	var client *firestore.Client
	f.persistently(ctx, "connect", func() error {
		var err error
		if client, err = firestore.NewClientWithDatabase(ctx, f.cfg.Project, f.cfg.Database, firestoreclient.Options(f.cfg.Emulator)...); err != nil {
			return fmt.Errorf("connect to firestore: %w", err)
		}
		return nil
	})
	return client
}

// serverTime asks Firestore for its time: the read time of a document that need not exist. It errors when there is no answer in time.
func (f *Firestore) serverTime(ctx context.Context, client *firestore.Client) (lifecycle.Micros, error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	docs, err := client.GetAll(ctx, []*firestore.DocumentRef{client.Collection(recordCollection).Doc("fleetglass-probe")})
	if err != nil {
		return 0, fmt.Errorf("firestore does not answer: %w", err)
	}
	return lifecycle.MicrosOf(docs[0].ReadTime), nil
}

// probe asks regularly whether Firestore answers, because a listener that hears nothing cannot tell quiet from dead.
func (f *Firestore) probe(ctx context.Context, client *firestore.Client) {
	for sleep(ctx, f.cfg.Probe) {
		_, err := f.serverTime(ctx, client)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.status.trouble(partProbe, err)
		default:
			f.status.fine(partProbe)
			f.status.verified(f.cfg.Now())
		}
	}
}
