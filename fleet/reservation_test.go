package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/fleet/reservetest"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestReservationsInKVKeepTheirPromises(t *testing.T) {
	t.Parallel()
	reservetest.Run(t, func(t testing.TB, now func() time.Time) reservetest.Store {
		srv := testkit.Broker(t)
		client := func(now func() time.Time) fleet.Reservations {
			r, err := fleet.NewKVReservations(t.Context(), fleet.KVReservationsConfig{JetStream: testkit.JetStream(t, srv), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		records, err := fleet.NewKVRecords(t.Context(), testkit.JetStream(t, srv))
		if err != nil {
			t.Fatal(err)
		}
		return reservetest.Store{
			Reservations: client(now), Rivals: []fleet.Reservations{client(now), client(now), client(now)}, Records: records,
			Astray:  func(d time.Duration) fleet.Reservations { return client(func() time.Time { return now().Add(d) }) },
			Distant: func() (fleet.Reservations, *reservetest.Wire) { return distant(t, srv, now) },
		}
	})
}

// distant connects through a wire.
func distant(t testing.TB, srv *embednats.Server, now func() time.Time) (fleet.Reservations, *reservetest.Wire) {
	t.Helper()
	wire := reservetest.NewWire(t, strings.TrimPrefix(srv.URL(), "nats://"))
	nc, err := nats.Connect("nats://"+wire.Addr(), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	r, err := fleet.NewKVReservations(t.Context(), fleet.KVReservationsConfig{JetStream: js, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return r, wire
}

// reservations opens those of a bench.
func (b *bench) reservations(t *testing.T) *fleet.KVReservations {
	t.Helper()
	r, err := fleet.NewKVReservations(t.Context(), fleet.KVReservationsConfig{JetStream: b.js})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) bucket(t *testing.T) jetstream.KeyValue {
	t.Helper()
	kv, err := b.js.KeyValue(t.Context(), fleet.BucketIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func claimOf(taskID string) fleet.Claim {
	return fleet.Claim{TaskID: taskID, PayloadHash: "aa", Owner: "cto/1", Lease: time.Minute}
}

func TestARecordThatItsHolderCouldNotWriteIsMadeUpFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.reservations(t)
	held, _, err := r.Reserve(t.Context(), claimOf("t-1"))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := r.Confirm(t.Context(), held, fleet.Record{AgentID: "cto", CompletedAt: 1e15, PayloadHash: "aa"})
	if err != nil {
		t.Fatal(err)
	}
	// As if the holder had died between the two writes of Confirm.
	if err := b.bucket(t).Purge(t.Context(), fleet.RecordKey("t-1", "")); err != nil {
		t.Fatal(err)
	}
	if _, done, err := r.Reserve(t.Context(), claimOf("t-1")); err != nil || done == nil || *done != stored {
		t.Errorf("the next claim is answered with %+v, %v; want %+v", done, err, stored)
	}
	if found, err := b.records.Find(t.Context(), "t-1", ""); err != nil || found == nil || *found != stored {
		t.Errorf("found %+v, %v; want %+v", found, err, stored)
	}
}

func TestAReservationThatNobodyEndsIsForgottenAfterItsRetention(t *testing.T) {
	t.Parallel()
	b := &bench{js: testkit.JetStream(t, testkit.BareBroker(t))}
	bucket := jetstream.KeyValueConfig{Bucket: fleet.BucketIdempotency, LimitMarkerTTL: time.Second}
	if _, err := b.js.CreateKeyValue(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	r, err := fleet.NewKVReservations(t.Context(), fleet.KVReservationsConfig{JetStream: b.js, Retention: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := r.Reserve(t.Context(), claimOf("t-1"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		_, err := b.bucket(t).Get(t.Context(), fleet.ReservationKey("t-1", ""))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		return fmt.Errorf("the reservation is there: %v", err)
	})
	other := claimOf("t-1")
	other.PayloadHash = "bb"
	second, done, err := r.Reserve(t.Context(), other)
	if err != nil || done != nil || second.Token <= first.Token {
		t.Errorf("reserved %+v, %v, %v after token %d", second, done, err, first.Token)
	}
	if _, err := r.Confirm(t.Context(), first, fleet.Record{AgentID: "cto", CompletedAt: 1e15}); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("the forgotten holder confirmed: %v", err)
	}
}

func TestABucketWithoutTimesToLiveHoldsReservations(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: fleet.BucketIdempotency}); err != nil {
		t.Fatal(err)
	}
	b := &bench{js: js}
	if _, _, err := b.reservations(t).Reserve(t.Context(), claimOf("t-1")); err != nil {
		t.Error(err)
	}
}

func TestARecordWithoutCompletionIsAReservationOfAnotherMake(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		name, body string
		completed  bool
	}{
		{"reserved", `{"taskId":"reserved","agentId":"cto"}`, false},
		{"null", `{"taskId":"null","completedAt":null}`, false},
		{"zero", `{"taskId":"zero","completedAt":0}`, false},
		{"completed", `{"taskId":"completed","completedAt":1763650000123}`, true},
		{"odd-time", `{"taskId":"odd-time","completedAt":"yesterday"}`, true},
	} {
		if _, err := b.bucket(t).PutString(t.Context(), tc.name, tc.body); err != nil {
			t.Fatal(err)
		}
		if found, err := b.records.Find(t.Context(), tc.name, ""); err != nil || (found != nil) != tc.completed {
			t.Errorf("%s: found %+v, %v", tc.name, found, err)
		}
		err := b.records.Complete(t.Context(), fleet.Record{TaskID: tc.name, CompletedAt: 1e15})
		if errors.Is(err, fleet.ErrRecorded) != tc.completed {
			t.Errorf("%s: completed: %v", tc.name, err)
		}
		if found, err := b.records.Find(t.Context(), tc.name, ""); err != nil || found == nil {
			t.Errorf("%s: found %+v, %v after completion", tc.name, found, err)
		}
	}
}
