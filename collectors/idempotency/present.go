package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"cloud.google.com/go/firestore"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// PresentConfig says where records are looked for.
type PresentConfig struct {
	JetStream jetstream.JetStream // Optional. Reaches the bucket; without it records in the bucket are not looked for.

	Project, Database, Emulator string // Optional. As in [FirestoreConfig]; without them records in Firestore are not looked for.
}

// Present tells which records exist now. It is safe for concurrent use.
type Present struct {
	js        jetstream.JetStream
	firestore Firestore // Only what says how to connect.

	mu     sync.Mutex
	client *firestore.Client
}

// NewPresent connects to nothing yet.
func NewPresent(cfg PresentConfig) *Present {
	where := FirestoreConfig{Project: cfg.Project, Database: cfg.Database, Emulator: cfg.Emulator}
	where.name()
	return &Present{js: cfg.JetStream, firestore: Firestore{cfg: where}}
}

// Close ends the connection to Firestore. It is idempotent.
func (p *Present) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == nil {
		return nil
	}
	err := p.client.Close()
	p.client = nil
	return err
}

// Records answers for each of the records that were seen. It errors when a source that is configured does not answer: then nothing is
// known.
func (p *Present) Records(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
	out := make([]lifecycle.RecordAnswer, len(refs))
	var inBucket, inFirestore []int
	for i, r := range refs {
		switch {
		case strings.HasPrefix(r.Source, recordCollection+"/") && p.firestore.cfg.configured():
			inFirestore = append(inFirestore, i)
		case strings.HasSuffix(r.Source, bucketStream) && p.js != nil:
			inBucket = append(inBucket, i)
		}
	}
	if err := p.bucket(ctx, refs, inBucket, out); err != nil {
		return nil, err
	}
	return out, p.documents(ctx, refs, inFirestore, out)
}

func (p *Present) bucket(ctx context.Context, refs []lifecycle.RecordRef, which []int, out []lifecycle.RecordAnswer) error {
	if len(which) == 0 {
		return nil
	}
	kv, err := p.js.KeyValue(ctx, fleet.BucketIdempotency)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		for _, i := range which {
			out[i] = lifecycle.RecordGone
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("open bucket %s: %w", fleet.BucketIdempotency, err)
	}
	for _, i := range which {
		if out[i], err = inBucket(ctx, kv, refs[i]); err != nil {
			return err
		}
	}
	return nil
}

// inBucket looks for a record under the key that its version has, and under that of the task alone, which other writers use.
func inBucket(ctx context.Context, kv jetstream.KeyValue, r lifecycle.RecordRef) (lifecycle.RecordAnswer, error) {
	keys := []string{fleet.RecordKey(r.TaskID, r.Key), fleet.RecordKey(r.TaskID, "")}
	if keys[0] == keys[1] {
		keys = keys[:1]
	}
	for _, key := range keys {
		_, err := kv.Get(ctx, key)
		if err == nil {
			return lifecycle.RecordThere, nil
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return lifecycle.RecordNotAsked, fmt.Errorf("look for record %s: %w", key, err)
		}
	}
	return lifecycle.RecordGone, nil
}

// documentsAtOnce is how many documents one question names.
const documentsAtOnce = 100

func (p *Present) documents(ctx context.Context, refs []lifecycle.RecordRef, which []int, out []lifecycle.RecordAnswer) error {
	if len(which) == 0 {
		return nil
	}
	client, err := p.connected(ctx)
	if err != nil {
		return err
	}
	for len(which) > 0 {
		part := which[:min(documentsAtOnce, len(which))]
		which = which[len(part):]
		names := make([]*firestore.DocumentRef, len(part))
		for n, i := range part {
			names[n] = client.Doc(refs[i].Source)
		}
		found, err := client.GetAll(ctx, names)
		if err != nil {
			return fmt.Errorf("look for %d records in firestore: %w", len(part), err)
		}
		for n, i := range part {
			out[i] = lifecycle.RecordGone
			if found[n].Exists() {
				out[i] = lifecycle.RecordThere
			}
		}
	}
	return nil
}

func (p *Present) connected(ctx context.Context) (*firestore.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		return p.client, nil
	}
	cfg := p.firestore.cfg
	// A client outlives the call that it is made in.
	client, err := firestore.NewClientWithDatabase(context.WithoutCancel(ctx), cfg.Project, cfg.Database, p.firestore.options()...)
	if err != nil {
		return nil, fmt.Errorf("connect to firestore: %w", err)
	}
	p.client = client
	return client, nil
}
