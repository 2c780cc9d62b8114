//go:build linux

package situations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/firestoretest"

	"cloud.google.com/go/firestore"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// records are where the agents of a world keep the idempotency records of their tasks. A record is removed alone, or wholly: with what was there before
// it. Only a bucket keeps that.
type records interface {
	put(ctx context.Context, task string, version int, value map[string]any) error
	remove(ctx context.Context, task string, version int, wholly bool) error
	has(ctx context.Context, task string, version int) (bool, error)
}

// inBucket keeps records in the broker's bucket, as most fleets do.
type inBucket struct{ js jetstream.JetStream }

func (b inBucket) key(task string, version int) string {
	if version > 1 {
		return fmt.Sprintf("%s/=%d", task, version)
	}
	return task
}

func (b inBucket) put(ctx context.Context, task string, version int, value map[string]any) error {
	kv, err := b.js.KeyValue(ctx, "task-idempotency")
	if err != nil {
		return err
	}
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, b.key(task, version), body)
	return err
}

func (b inBucket) remove(ctx context.Context, task string, version int, wholly bool) error {
	kv, err := b.js.KeyValue(ctx, "task-idempotency")
	if err != nil {
		return err
	}
	if wholly { // Either leaves a mark that it is gone.
		return kv.Purge(ctx, b.key(task, version))
	}
	return kv.Delete(ctx, b.key(task, version))
}

func (b inBucket) has(ctx context.Context, task string, version int) (bool, error) {
	kv, err := b.js.KeyValue(ctx, "task-idempotency")
	if err != nil {
		return false, err
	}
	_, err = kv.Get(ctx, b.key(task, version))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// inFirestore keeps records in documents.
type inFirestore struct{ client *firestore.Client }

// startFirestore starts a Firestore for a world, and says by which flags Fleetglass reads it.
func startFirestore(t *testing.T) (in inFirestore, flags []string) {
	t.Helper()
	server := firestoretest.Start(t, firestoretest.Config{})
	return inFirestore{server.Client(t)}, []string{"--firestore-emulator", server.Addr(), "--firestore-project", firestoretest.Project}
}

func (f inFirestore) document(task string, version int) *firestore.DocumentRef {
	if version > 1 {
		task = fmt.Sprintf("%s~=%d", task, version)
	}
	return f.client.Collection("task-idempotency").Doc(task)
}

func (f inFirestore) put(ctx context.Context, task string, version int, value map[string]any) error {
	fields := map[string]any{}
	for name, v := range value {
		if n, ok := v.(uint64); ok {
			v = int64(n) // Firestore has no other whole numbers.
		}
		fields[name] = v
	}
	if at, ok := value["expiresAt"].(int64); ok {
		fields["deleteAt"] = time.UnixMilli(at)
	}
	_, err := f.document(task, version).Set(ctx, fields)
	return err
}

func (f inFirestore) remove(ctx context.Context, task string, version int, _ bool) error {
	_, err := f.document(task, version).Delete(ctx)
	return err
}

func (f inFirestore) has(ctx context.Context, task string, version int) (bool, error) {
	_, err := f.document(task, version).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	return err == nil, err
}
