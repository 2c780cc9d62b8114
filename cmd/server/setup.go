package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
)

// setup watches whether the streams that Fleetglass reads exist. It changes nothing: streams of a foreign broker are created by
// `fleetglass provision --apply` only.
type setup struct {
	js       jetstream.JetStream
	contract fleet.Contract
	shards   int // Into how many shards the capture streams are read.
	every    time.Duration
	log      *slog.Logger

	mu   sync.Mutex
	part health.Part
}

func newSetup(js jetstream.JetStream, contract fleet.Contract, shards int, log *slog.Logger) *setup {
	return &setup{js: js, contract: contract, shards: shards, every: 10 * time.Second, log: log, part: health.Part{Name: "streams", Kind: "broker", State: health.Starting}}
}

// needed are the streams without which nothing is seen.
var needed = []string{fleet.StreamTasks, fleet.CapturePub, fleet.CaptureAck, fleet.CaptureEvt}

// Run looks again and again until ctx is done.
func (s *setup) Run(ctx context.Context) error {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *setup) look(ctx context.Context) {
	part := health.Part{Name: "streams", Kind: "broker", State: health.OK, LastAt: time.Now()}
	var missing, cut []string
	for _, name := range needed {
		stream, err := s.find(ctx, name)
		switch {
		case err == nil && s.cutOtherwise(stream):
			cut = append(cut, name)
		case errors.Is(err, jetstream.ErrStreamNotFound):
			missing = append(missing, name)
		case err != nil:
			part.State, part.Detail = health.Down, fmt.Sprintf("look for stream %s: %v", name, err)
		}
	}
	if len(cut) > 0 && part.State == health.OK {
		part.Detail = fmt.Sprintf("%s: cut into another number of shards than --capture-shards says, %d: the first shard reads them; run fleetglass provision --apply",
			strings.Join(cut, ", "), s.shards)
	}
	if len(missing) > 0 {
		part.State, part.Detail, part.Lacks = health.Down, missingText(missing), missing
	}
	if ctx.Err() != nil {
		return
	}
	s.set(part)
}

// cutOtherwise reports whether the lines of a capture stream are not in the form of the shards that are read. Nothing is lost by that.
func (s *setup) cutOtherwise(stream jetstream.Stream) bool {
	if stream == nil || !fleet.IsSharded(stream.CachedInfo().Config.Name) {
		return false
	}
	n, ok := s.contract.ShardsOf(stream.CachedInfo().Config)
	return ok && n != max(s.shards, 1)
}

// find errors when a stream does not exist. Tasks may be stored in other streams than TASKS.
func (s *setup) find(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, name)
	if name != fleet.StreamTasks || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	names := s.js.StreamNames(ctx, jetstream.WithStreamListSubject(s.contract.TaskSubjects()))
	other := false
	for range names.Name() {
		other = true
	}
	if other {
		return nil, nil
	}
	return nil, errors.Join(err, names.Err())
}

func missingText(missing []string) string {
	noun, verb := "stream", "is"
	if len(missing) > 1 {
		noun, verb = "streams", "are"
	}
	if strings.HasPrefix(missing[0], "OBS_") {
		noun = "capture " + noun
	}
	return fmt.Sprintf("%s %s %s missing; run fleetglass provision --apply", noun, strings.Join(missing, ", "), verb)
}

func (s *setup) set(part health.Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if part.State == health.Down && part.Detail != s.part.Detail {
		s.log.Warn("the broker is not set up as Fleetglass needs it", "detail", part.Detail)
	}
	s.part = part
}

// Health says what is missing.
func (s *setup) Health() []health.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []health.Part{s.part}
}
