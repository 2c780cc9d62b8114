package failurelog

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/dlqtriage"
	"fleetglass/internal/firestoreclient"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Sink copies.
type Sink struct {
	cfg     Config
	seed    maphash.Seed
	written map[string]written // By the path of the document.

	mu   sync.Mutex
	part health.Part
}

// written is what a document said when it was written.
type written struct {
	hash uint64
	at   lifecycle.Micros // When what it tells of happened: what is older than the window is forgotten.
}

// New checks the configuration. It connects with the first copy.
func New(cfg Config) (*Sink, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	part := health.Part{Name: "failure log", Kind: "sink", State: health.Starting}
	return &Sink{cfg: cfg, seed: maphash.MakeSeed(), written: map[string]written{}, part: part}, nil
}

// Run copies again and again until ctx is done. What fails is tried again with the next round.
func (s *Sink) Run(ctx context.Context) error {
	client, err := firestore.NewClientWithDatabase(ctx, s.cfg.Project, s.cfg.Database, firestoreclient.Options(s.cfg.Emulator)...)
	if err != nil {
		return fmt.Errorf("connect to firestore: %w", err)
	}
	defer func() { _ = client.Close() }()
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	for {
		s.report(ctx, s.Copy(ctx, client))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Copy writes what has changed since the copy before.
func (s *Sink) Copy(ctx context.Context, client *firestore.Client) error {
	now := lifecycle.MicrosOf(s.cfg.Now())
	from := now.Add(-s.cfg.Window).Truncate(time.Hour)
	s.forget(from)
	if err := s.copyEntries(ctx, client, from); err != nil {
		return err
	}
	hours, err := s.cfg.Hours(ctx, from, now)
	if err != nil {
		return fmt.Errorf("count by the hour: %w", err)
	}
	for _, h := range hours {
		id, doc := metrics(h)
		if err := s.write(ctx, client.Collection(MetricsCollection).Doc(id), doc, h.At); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) copyEntries(ctx context.Context, client *firestore.Client, from lifecycle.Micros) error {
	page := dlqtriage.EntryPageRequest{Limit: 200}
	for {
		found, err := s.cfg.Entries.Entries(ctx, dlqtriage.EntryFilter{From: from}, page)
		if err != nil {
			return fmt.Errorf("list entries: %w", err)
		}
		for _, e := range found.Entries {
			id, doc := failure(e)
			if err := s.write(ctx, client.Collection(FailureCollection).Doc(id), doc, e.FailedAt); err != nil {
				return err
			}
		}
		if page.From = found.Next; page.From == nil {
			return nil
		}
	}
}

// write writes a document unless it says that already.
func (s *Sink) write(ctx context.Context, ref *firestore.DocumentRef, doc fields, at lifecycle.Micros) error {
	text, err := json.Marshal(doc) // With its keys in order.
	if err != nil {
		return fmt.Errorf("write %s: %w", ref.ID, err)
	}
	hash := maphash.Bytes(s.seed, text)
	if s.written[ref.Path].hash == hash {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	if _, err := ref.Set(ctx, map[string]any(doc)); err != nil {
		return fmt.Errorf("write %s/%s: %w", ref.Parent.ID, ref.ID, err)
	}
	s.written[ref.Path] = written{hash, at}
	return nil
}

// forget drops what is not looked at any more.
func (s *Sink) forget(before lifecycle.Micros) {
	for path, w := range s.written {
		if w.at < before {
			delete(s.written, path)
		}
	}
}

// report keeps how the copy went, and logs what is new about it.
func (s *Sink) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.part.State, s.part.Detail, s.part.LastAt = health.OK, "", s.cfg.Now()
		return
	}
	if s.part.Detail == "" {
		s.cfg.Log.Error("the failure log is not written", "error", err)
	}
	s.part.State, s.part.Detail = health.Behind, "the failure log in Firestore is not written: "+err.Error()
}

// Health says whether the copies are written.
func (s *Sink) Health() []health.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []health.Part{s.part}
}
