package firestorekit_test

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/fleet"
	"fleetglass/fleet/firestorekit"
	"fleetglass/fleet/reservetest"
	"fleetglass/internal/firestoretest"
)

// reservations and records open those of a client.
func reservations(t testing.TB, c *firestore.Client) *firestorekit.Reservations {
	t.Helper()
	r, err := firestorekit.NewReservations(firestorekit.Config{Client: c, Timeout: 30 * time.Second}) // Google's emulator takes seconds on a busy machine.
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func records(t testing.TB, c *firestore.Client) *firestorekit.Records {
	t.Helper()
	r, err := firestorekit.NewRecords(firestorekit.Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The clock of the suite is that of the server, and stands some time away from the clock of this machine, which the clients have: what they
// decide must rest on the server's alone. So a client whose clock is astray is like any other.
func TestReservationsInFirestoreKeepTheirPromises(t *testing.T) {
	t.Parallel()
	reservetest.Run(t, func(t testing.TB, now func() time.Time) reservetest.Store {
		server := firestoretest.Start(t, firestoretest.Config{Now: now})
		client := func() fleet.Reservations { return reservations(t, server.Client(t)) }
		return reservetest.Store{
			Reservations: client(), Rivals: []fleet.Reservations{client(), client(), client()}, Records: records(t, server.Client(t)),
			Astray: func(time.Duration) fleet.Reservations { return client() },
			Distant: func() (fleet.Reservations, *reservetest.Wire) {
				wire := reservetest.NewWire(t, server.Addr())
				far := firestoretest.Connect(t, wire.Addr(), firestoretest.Project)
				r, err := firestorekit.NewReservations(firestorekit.Config{Client: far, Timeout: 200 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				return r, wire
			},
		}
	})
}
