package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
)

// leaving is a broker that can be stopped and started again with its data, on the same address.
type leaving struct {
	t      *testing.T
	dir    string
	listen string
	srv    *embednats.Server
}

func newLeaving(t *testing.T) *leaving {
	t.Helper()
	b := &leaving{t: t, dir: t.TempDir(), listen: testkit.FreeAddress(t)}
	b.comes()
	testkit.Provision(t, b.srv, fleet.Streams{Contract: fleet.NewContract("")})
	t.Cleanup(func() { _ = b.srv.Close() })
	return b
}

func (b *leaving) comes() {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() (err error) {
		b.srv, err = embednats.Start(embednats.Config{Dir: b.dir, Listen: b.listen})
		return err
	})
	if moved, wanted := b.srv.Moved(); moved {
		b.t.Fatalf("the broker listens on %s, want %s", b.srv.URL(), wanted)
	}
}

func (b *leaving) goes() {
	b.t.Helper()
	if err := b.srv.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// awayFor is how long the broker is away beyond what the test waits for: a minute in the long form (make torture).
func awayFor() time.Duration {
	if longForm() {
		return time.Minute
	}
	return 0
}

// hundredTimes sends one request a hundred times at once, and returns the one operation that all replies name.
func (r *running) hundredTimes(entry string, delay time.Duration) string {
	r.t.Helper()
	var all sync.WaitGroup
	replies := make([]string, 100)
	for i := range replies {
		all.Go(func() {
			body := fmt.Sprintf(`{"action":"retry","reason":"the provider is back","params":{"as":"unchanged","delay_ms":%d}}`, delay.Milliseconds())
			header := http.Header{"Idempotency-Key": {"once " + entry}, "Content-Type": {"application/json"}}
			response := r.request(http.MethodPost, "/api/v1/dlq/"+entry+"/actions", header, strings.NewReader(body))
			text, err := io.ReadAll(response.Body)
			replies[i] = fmt.Sprint(response.StatusCode, response.Header.Get("Location"), string(text), err)
		})
	}
	all.Wait()
	for _, reply := range replies {
		if reply != replies[0] || !strings.HasPrefix(reply, "202/api/v1/operations/") {
			r.t.Fatalf("two of a hundred replies are\n%s\n%s", replies[0], reply)
		}
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(replies[0], "202/api/v1/operations/"), "{")
	return id
}

// recorded holds an action to one message that the worker got, and to a record of its beginning and its end.
func (r *running) recorded(id string, seq uint64) {
	r.t.Helper()
	got := r.followed(id, "resolved")
	if m := got.Items[0].Message; got.Status != "succeeded" || m == nil || m.Seq != fmt.Sprint(seq) {
		r.t.Errorf("the record is %+v, want that it sent message %d", got, seq)
	}
	var audit struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := r.get("/api/v1/audit?limit=200", &audit); err != nil {
		r.t.Fatal(err)
	}
	n := 0
	for _, a := range audit.Data {
		if a.ID == id || a.ID == id+"/ended" {
			n++
		}
	}
	if n != 2 {
		r.t.Errorf("%s has %d audit records, want that of the decision and that of its end", id, n)
	}
}

// TestABrokerThatIsAwayDuringActionsGetsEachMessageOnce has a hundred equal requests come while the broker is away, and others just before it leaves.
func TestABrokerThatIsAwayDuringActionsGetsEachMessageOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		broker := newLeaving(t)
		r := start(t, settings(t, append(args, "--nats-url", broker.srv.URL(), "--dlq-monitor", "on")...))
		m := newMortals(t, broker.srv.URL())
		for _, id := range []string{"before", "away"} {
			m.dead[id] = "terminated"
			m.publish("genbrain.agents.backend.tasks.code_review", id)
		}
		m.works(func(msg jetstream.Msg) error { return msg.TermWithReason("503 overloaded") })
		m.buried()
		r.listed(m)
		before := r.hundredTimes("TASKS:1", 3*time.Second) // Due when the broker is away.
		broker.goes()
		away := r.hundredTimes("TASKS:2", 0)
		r.knowsThatTheBrokerIsAway()
		if wait := awayFor(); wait > 0 {
			<-time.After(wait)
		}
		broker.comes()
		sent := m.completes(2)
		r.recorded(before, sent["before"])
		r.recorded(away, sent["away"])
		m.published(4) // Each task, and its retry.
	})
}

// knowsThatTheBrokerIsAway waits until the program says so.
func (r *running) knowsThatTheBrokerIsAway() {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		if response := r.request(http.MethodGet, "/readyz", nil, nil); response.StatusCode != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz says %s", response.Status)
		}
		return nil
	})
}

// completes has the worker do so many tasks, and returns the sequence of each one's message.
func (m *mortals) completes(n int) map[string]uint64 {
	m.t.Helper()
	got := map[string]uint64{}
	testkit.Eventually(m.t, 3*patience, func() error {
		next, err := m.consumer.Next(jetstream.FetchMaxWait(time.Second))
		if err != nil {
			return fmt.Errorf("%d of %d tasks came: %w", len(got), n, err)
		}
		meta, err := next.Metadata()
		if err == nil {
			err = next.DoubleAck(m.t.Context())
		}
		if err == nil {
			got[next.Headers().Get(fleet.HeaderTaskID)] = meta.Sequence.Stream
		}
		if err == nil && len(got) < n {
			err = fmt.Errorf("%d of %d tasks came", len(got), n)
		}
		return err
	})
	return got
}

// published expects so many messages to have come into TASKS since it was made.
func (m *mortals) published(want uint64) {
	m.t.Helper()
	stream, err := m.js.Stream(m.t.Context(), fleet.StreamTasks)
	if err != nil {
		m.t.Fatal(err)
	}
	if got := stream.CachedInfo().State.LastSeq; got != want {
		m.t.Errorf("%d messages came into TASKS, want %d", got, want)
	}
}
