//go:build linux

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/views"

	"golang.org/x/sync/errgroup"
)

// freshRuler is what is asked of the time from a publish until it can be seen, in milliseconds.
var freshRuler = &Ruler{Floor: 300, Goal: 100, Lower: true}

// measureFreshness asks how long a publish takes until the API knows it and until open pages and streams hear of it, at a steady rate.
// The fleet also takes and acknowledges every task, which makes four captured lines of each message.
func measureFreshness(b *bench) {
	glass := startProgram(b, filepath.Join(b.TempDir(), "data"))
	defer glass.kill()
	glass.ready(b)
	js := dial(b, glass.agents)
	defer js.Conn().Close()
	f := newPlainFleet(b, js)
	seen := newSightings()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	watching := &errgroup.Group{}
	page, stream := subscribe(ctx, b, glass.base+"/live"), subscribe(ctx, b, glass.base+"/api/v1/stream")
	watching.Go(func() error { return follow(ctx, page, seen.page) })
	watching.Go(func() error { return follow(ctx, stream, seen.stream) })
	sampled := make(chan sample, b.form.rate)
	for range 4 {
		watching.Go(func() error { return glass.look(ctx, sampled, seen) })
	}
	f.published = func(id string) {
		at := time.Now()
		seen.note(id, at)
		if f.next.Load()%sampleEvery == 0 {
			sampled <- sample{id, at}
		}
	}
	working := f.workers(ctx, b, true)
	publishing, endPublishing := context.WithTimeout(ctx, b.form.paced)
	defer endPublishing()
	if err := f.pace(publishing, b.form.rate); err != nil {
		b.Fatal(err)
	}
	f.drained(b)
	glass.catchUp(b, int(f.acked.Load()))
	testkit.Eventually(b, patience, seen.unseen)
	stop()
	if err := working.Wait(); err != nil {
		b.Fatal(err)
	}
	if err := watching.Wait(); err != nil {
		b.Fatal(err)
	}
	seen.report(b)
}

// sampleEvery is how many messages there are for each that the API is asked about.
const sampleEvery = 20

type sample struct {
	id string
	at time.Time
}

// sightings are when messages were published, and how long it took until they were seen.
type sightings struct {
	mu       sync.Mutex
	byID     map[string]time.Time
	byRow    map[string]time.Time // By the name that the task's row has on pages.
	inAPI    []float64            // Milliseconds.
	onPage   []float64
	inStream []float64
	resets   int
}

func newSightings() *sightings {
	return &sightings{byID: map[string]time.Time{}, byRow: map[string]time.Time{}}
}

func (s *sightings) note(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id], s.byRow[views.Sign(id)] = at, at
}

// first takes the time since the publish out of a map, once for each message.
func (s *sightings) first(of map[string]time.Time, key string, into *[]float64) {
	if at, waited := of[key]; waited {
		delete(of, key)
		*into = append(*into, float64(time.Since(at).Microseconds())/1000)
	}
}

// all is for a reader that is told to load everything anew.
func (s *sightings) all(of map[string]time.Time, into *[]float64) {
	for key := range of {
		s.first(of, key, into)
	}
}

// unseen says how many messages one of the readers has not heard of yet.
func (s *sightings) unseen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byRow)+len(s.byID) > 0 {
		return fmt.Errorf("%d messages were not told to the open page, %d not in the stream", len(s.byRow), len(s.byID))
	}
	return nil
}

// page reads the data of an event of /live.
func (s *sightings) page(event, data string) error {
	var change struct{ Signs string }
	if err := json.Unmarshal([]byte(data), &change); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if event == "reset" {
		s.resets++
		s.all(s.byRow, &s.onPage)
	}
	for row := range strings.FieldsSeq(change.Signs) {
		s.first(s.byRow, row, &s.onPage)
	}
	return nil
}

// stream reads the data of an event of the API's stream.
func (s *sightings) stream(event, data string) error {
	var change struct {
		TaskID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(data), &change); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if event == "reset" {
		s.resets++
		s.all(s.byID, &s.inStream)
	}
	s.first(s.byID, change.TaskID, &s.inStream)
	return nil
}

func (s *sightings) report(b *bench) {
	b.Helper()
	if s.resets > 0 {
		b.Logf("%d times a reader was told to load everything anew", s.resets)
	}
	what := fmt.Sprintf("publish until %%s, p99 at %d messages/s, each taken and acknowledged too", b.form.rate)
	b.add(
		Distribution("fresh/api", fmt.Sprintf(what, "the API knows the task"), "ms", s.inAPI, 0.99, freshRuler),
		Distribution("fresh/page", fmt.Sprintf(what, "an open page hears of it"), "ms", s.onPage, 0.99, freshRuler),
		Distribution("fresh/stream", fmt.Sprintf(what, "the API's stream tells of it"), "ms", s.inStream, 0.99, freshRuler),
	)
}

// look asks the API for sampled tasks until it knows them.
func (p *program) look(ctx context.Context, samples <-chan sample, seen *sightings) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-samples:
			took, err := p.lookFor(ctx, s)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			seen.mu.Lock()
			seen.inAPI = append(seen.inAPI, took)
			seen.mu.Unlock()
		}
	}
}

func (p *program) lookFor(ctx context.Context, s sample) (ms float64, err error) {
	for {
		status, _, err := p.fetch(ctx, "/api/v1/tasks/"+url.PathEscape(s.id))
		switch {
		case err != nil:
			return 0, err
		case status == http.StatusOK:
			return float64(time.Since(s.at).Microseconds()) / 1000, nil
		case status != http.StatusNotFound || time.Since(s.at) > patience:
			return 0, fmt.Errorf("task %s: status %d", s.id, status)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// subscribe opens a stream of server-sent events; changes from then on are in it.
func subscribe(ctx context.Context, t testing.TB, address string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", address, answer.Status)
	}
	return answer.Body
}

// follow reads server-sent events until ctx ends.
func follow(ctx context.Context, events io.ReadCloser, take func(event, data string) error) error {
	defer events.Close() //nolint:errcheck // It is read to its end.
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event != "counts":
			if err := take(event, value); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("a stream of changes ended: %w", lines.Err())
}
