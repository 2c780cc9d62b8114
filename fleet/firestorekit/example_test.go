package firestorekit_test

import (
	"context"
	"errors"

	"cloud.google.com/go/firestore"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/firestorekit"
)

// A worker whose records and reservations are in Firestore.
func Example() {
	work := func(ctx context.Context, js jetstream.JetStream, client *firestore.Client, review fleet.Handler) error {
		cfg := firestorekit.Config{Client: client}
		records, err1 := firestorekit.NewRecords(cfg)
		reservations, err2 := firestorekit.NewReservations(cfg)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		worker, err := fleet.NewWorker(fleet.WorkerConfig{
			JetStream: js, Contract: fleet.NewContract(""), Agent: "cto", Records: records, Reserve: reservations, Handle: review,
		})
		if err != nil {
			return err
		}
		return worker.Run(ctx)
	}
	_ = work
}
