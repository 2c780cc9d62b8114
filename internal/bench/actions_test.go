//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// actionRuler is what is asked of the time from the call that retries a dead letter until its message is in TASKS, in milliseconds.
var actionRuler = &Ruler{Floor: 250, Goal: 50, Lower: true}

// measureActions asks how long a retry takes from the call until a subscriber of the subject has the message, one retry after the other. Each
// passes the store, RETRY and the store again.
func measureActions(b *bench) {
	glass := startProgram(b, filepath.Join(b.TempDir(), "data"))
	defer glass.kill()
	glass.ready(b)
	js := dial(b, glass.agents)
	defer js.Conn().Close()
	wanted := max(20, min(b.form.reads, 500))
	entries := killTasks(b, js, wanted)
	glass.knowsEntry(b, entries[len(entries)-1])
	published, err := js.Conn().SubscribeSync(contract.TaskSubject("devops", "deployment"))
	if err == nil {
		err = js.Conn().Flush() // The broker may hear of it only after the first retry is published.
	}
	if err != nil {
		b.Fatal(err)
	}
	var took []float64
	for _, entry := range entries {
		began := time.Now()
		if err := glass.retry(b.Context(), entry); err != nil {
			b.Fatal(err)
		}
		m, err := published.NextMsg(patience)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		if of := m.Header.Get(fleet.HeaderRetryOf); of != entry {
			b.Fatalf("a retry of %s came, want that of %s", of, entry)
		}
	}
	b.add(Distribution("actions/publish", "call of a retry until its message is published to TASKS, p99", "ms", took, 0.99, actionRuler))
}

// killTasks publishes tasks whose worker gives each up, and returns the ids of their entries.
func killTasks(b *bench, js jetstream.JetStream, n int) []string {
	b.Helper()
	consumer, err := js.CreateConsumer(b.Context(), fleet.StreamTasks, contract.Worker("devops", fleet.Timing{AckWait: time.Minute, MaxDeliver: 3}))
	if err != nil {
		b.Fatal(err)
	}
	var entries []string
	for i := range n {
		id := fmt.Sprintf("deployment-%05d", i)
		m := nats.NewMsg(contract.TaskSubject("devops", "deployment"))
		m.Header.Set(fleet.HeaderMsgID, id)
		m.Header.Set(fleet.HeaderTaskID, id)
		m.Data = []byte(`{"taskId":"` + id + `","assignee":"devops","type":"deployment"}`)
		if _, err := js.PublishMsg(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		got, err := consumer.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			b.Fatal(err)
		}
		meta, err := got.Metadata()
		if err == nil {
			err = got.TermWithReason("503 overloaded")
		}
		if err != nil {
			b.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%s:%d", meta.Stream, meta.Sequence.Stream))
	}
	return entries
}

// knowsEntry waits until a retry of the entry would be possible, which changes nothing.
func (p *program) knowsEntry(b *bench, entry string) {
	b.Helper()
	testkit.Eventually(b, patience, func() error { return p.post(b.Context(), entry, "look", `"dry_run":true,`, http.StatusOK) })
}

func (p *program) retry(ctx context.Context, entry string) error {
	return p.post(ctx, entry, "retry", "", http.StatusAccepted)
}

func (p *program) post(ctx context.Context, entry, key, more string, want int) error {
	body := `{` + more + `"action":"retry","reason":"measured","params":{"as":"unchanged","force":true,"force_reason":"measured"}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/v1/dlq/"+entry+"/actions", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key+" "+entry)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("act on %s: %s: %.300s", entry, answer.Status, text)
	}
	return nil
}
