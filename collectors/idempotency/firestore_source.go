package idempotency

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/collectors"
	"fleetglass/internal/firestoreclient"
	"fleetglass/lifecycle"
)

// FirestoreSource is a Firestore database as a [Source]. It is safe for concurrent use.
type FirestoreSource struct {
	cfg   FirestoreConfig
	where Firestore // Only what says how to connect.

	mu     sync.Mutex
	client *firestore.Client
}

// NewFirestoreSource connects to nothing yet. Appender, Watermarks and Logger of cfg are those that the collectors share.
func NewFirestoreSource(cfg FirestoreConfig) *FirestoreSource {
	where := cfg
	where.name()
	return &FirestoreSource{cfg: cfg, where: Firestore{cfg: where}}
}

var _ Source = (*FirestoreSource)(nil)

// Configured implements [Source].
func (s *FirestoreSource) Configured() bool { return s.cfg.configured() }

// Collector implements [Source].
func (s *FirestoreSource) Collector(shared collectors.Config) (Collector, error) {
	cfg := s.cfg
	cfg.Appender, cfg.Watermarks, cfg.Logger = shared.Appender, shared.Watermarks, shared.Logger
	return NewFirestore(cfg)
}

// Holds implements [Source].
func (s *FirestoreSource) Holds(r lifecycle.RecordRef) bool {
	return strings.HasPrefix(r.Source, recordCollection+"/")
}

// StaysFor implements [Source]. Deletions are listened to, and each question costs: it finds what was deleted while nobody listened.
func (s *FirestoreSource) StaysFor() time.Duration { return time.Hour }

// Close implements [Source].
func (s *FirestoreSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	err := s.client.Close()
	s.client = nil
	return err
}

// documentsAtOnce is how many documents one question names.
const documentsAtOnce = 100

// Present implements [Source].
func (s *FirestoreSource) Present(ctx context.Context, refs []lifecycle.RecordRef) ([]lifecycle.RecordAnswer, error) {
	client, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]lifecycle.RecordAnswer, 0, len(refs))
	for part := range slices.Chunk(refs, documentsAtOnce) {
		names := make([]*firestore.DocumentRef, len(part))
		for i, r := range part {
			names[i] = client.Doc(r.Source)
		}
		found, err := client.GetAll(ctx, names)
		if err != nil {
			return nil, fmt.Errorf("ask firestore for %d documents: %w", len(part), err)
		}
		for _, document := range found {
			answer := lifecycle.RecordGone
			if document.Exists() {
				answer = lifecycle.RecordThere
			}
			out = append(out, answer)
		}
	}
	return out, nil
}

func (s *FirestoreSource) connected(ctx context.Context) (*firestore.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	cfg := s.where.cfg
	// A client outlives the call that it is made in.
	client, err := firestore.NewClientWithDatabase(context.WithoutCancel(ctx), cfg.Project, cfg.Database, firestoreclient.Options(cfg.Emulator)...)
	if err != nil {
		return nil, fmt.Errorf("connect to firestore: %w", err)
	}
	s.client = client
	return client, nil
}
