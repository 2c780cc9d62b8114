package crashpoints

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/collectors/idempotency"
	"fleetglass/fleet"
	"fleetglass/fleet/firestorekit"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"cloud.google.com/go/firestore"
	"github.com/nats-io/nats.go/jetstream"
)

// kinds are the given ones twice: with what they remember in the broker's bucket, and in Firestore.
func kinds(of ...kind) []kind {
	out := slices.Clone(of)
	for _, k := range of {
		k.firestore = true
		out = append(out, k)
	}
	return out
}

// memory is where a process remembers what was done.
type memory struct {
	records      fleet.Records
	reservations fleet.Reservations
	effects      *firestorekit.EffectLog // Nil where there is none.
	overwrite    func(ctx context.Context, r fleet.Record) error
	die          func() // Nothing that comes afterwards arrives.
}

func (g *glass) memory(t *testing.T, k kind, js jetstream.JetStream, agent string) *memory {
	t.Helper()
	if k.firestore {
		return g.firestoreMemory(t, agent)
	}
	records, err1 := fleet.NewKVRecords(t.Context(), js)
	reservations, err2 := fleet.NewKVReservations(t.Context(), fleet.KVReservationsConfig{JetStream: js})
	kv, err3 := g.js.KeyValue(t.Context(), fleet.BucketIdempotency)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return &memory{records: records, reservations: reservations, die: func() {}, overwrite: func(ctx context.Context, r fleet.Record) error {
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = kv.Put(ctx, fleet.RecordKey(r.TaskID, r.IdempotencyKey), body)
		return err
	}}
}

func (g *glass) firestoreMemory(t *testing.T, agent string) *memory {
	t.Helper()
	client := g.fire.Client(t)
	cfg := firestorekit.Config{Client: client}
	records, err1 := firestorekit.NewRecords(cfg)
	reservations, err2 := firestorekit.NewReservations(cfg)
	effects, err3 := firestorekit.NewEffectLog(cfg, agent)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return &memory{
		records: records, reservations: reservations, effects: effects, die: func() { _ = client.Close() },
		overwrite: func(ctx context.Context, r fleet.Record) error {
			_, err := client.Collection(firestorekit.RecordCollection).Doc(r.TaskID).Set(ctx, map[string]any{
				"taskId": r.TaskID, "agentId": r.AgentID, "completedAt": int64(r.CompletedAt) / 1000, "resultSummary": r.ResultSummary,
			})
			return err
		},
	}
}

// logEffect notes the effect of an attempt where agents do. An attempt before may have.
func (m *memory) logEffect(ctx context.Context, d fleet.Delivery) {
	if m.effects != nil {
		_ = m.effects.Log(ctx, firestorekit.Effect{
			Key: fleet.IdempotencyKey(d.Task.ID, "1"), TaskID: d.Task.ID, Action: "git.push", CompletedAt: lifecycle.MicrosOf(time.Now()),
		})
	}
}

// collectFirestore starts a Firestore and the collector that reads it.
func (g *glass) collectFirestore(t *testing.T) {
	t.Helper()
	g.fire = firestoretest.Start(t, firestoretest.Config{})
	c, err := idempotency.NewFirestore(idempotency.FirestoreConfig{
		Appender: g.store, Watermarks: g.store, Project: firestoretest.Project, Emulator: g.fire.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c)
	testkit.Eventually(t, patience, func() error {
		if part := c.Health()[0]; part.State != health.OK {
			return fmt.Errorf("collector %+v", part)
		}
		return nil
	})
	g.firestore = g.fire.Client(t)
}

// firestoreRead errors while a document of Firestore is not in the store as it is now.
func (g *glass) firestoreRead(ctx context.Context) error {
	if g.fire == nil {
		return nil
	}
	for _, q := range []firestore.Query{g.firestore.Collection(firestorekit.RecordCollection).Query, g.firestore.CollectionGroup("idempotency-log").Query} {
		docs, err := q.Documents(ctx).GetAll()
		if err != nil {
			return err
		}
		for _, doc := range docs {
			task, _ := doc.Data()["taskId"].(string)
			events, err := g.store.Events(ctx, task, lifecycle.EventPosition{}, 1000)
			if err != nil {
				return err
			}
			at := lifecycle.MicrosOf(doc.UpdateTime)
			if !slices.ContainsFunc(events, func(e lifecycle.Event) bool { return e.Provenance == lifecycle.Recorded && e.At == at }) {
				return fmt.Errorf("%s of %s is not read", doc.Ref.Path, task)
			}
		}
	}
	return nil
}

// wantLogged expects that the effect of a task is in its story, where agents log effects.
func (g *glass) wantLogged(t *testing.T, k kind, task string) {
	t.Helper()
	if !k.firestore {
		return
	}
	events, err := g.store.Events(t.Context(), task, lifecycle.EventPosition{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	logged := 0
	for _, e := range events {
		if e.Kind == lifecycle.EffectLogged && e.Detail.Tool == "git.push" && e.Agent == task {
			logged++
		}
	}
	if logged != 1 {
		t.Errorf("%s: the log has the effect %d times\n%s", task, logged, g.story(t.Context(), task))
	}
}
