package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// place waits until the API and the page say of a dead letter where its entry is.
func (r *running) place(entry string, there any, text string) (seq uint64) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var got struct {
			DLQSeq  string `json:"dlq_seq"`
			InQueue any    `json:"in_queue"`
			Status  string `json:"status"`
		}
		if err := r.get("/api/v1/dlq/"+entry, &got); err != nil {
			return err
		}
		if got.InQueue != there || got.Status != "open" {
			return fmt.Errorf("%s is %s, in the queue: %v; want it open, %v", entry, got.Status, got.InQueue, there)
		}
		page, err := io.ReadAll(r.request(http.MethodGet, "/dlq/"+entry, nil, nil).Body)
		if err != nil {
			return err
		}
		if seq, err = strconv.ParseUint(got.DLQSeq, 10, 64); err != nil || !strings.Contains(string(page), text+"DLQ:"+got.DLQSeq) {
			return fmt.Errorf("the page of %s does not say %q", entry, text+"DLQ:"+got.DLQSeq)
		}
		return nil
	})
	return seq
}

// An entry that is removed from the broker's queue takes no dead letter along: it stays open, its page says that its entry is gone, and its message can be sent again.
func TestADeadLetterOutlivesItsEntryInTheQueue(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--dlq-monitor", "on"))
	r.die("post-1", "no such page")
	r.die("post-2", "no such page")
	first := r.place("TASKS:1", true, "")
	r.place("TASKS:2", true, "")

	nc, err := nats.Connect(r.AgentsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	queue, err := js.Stream(t.Context(), "DLQ")
	if err == nil {
		err = queue.DeleteMsg(t.Context(), first)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.place("TASKS:1", false, "no longer there: ")
	r.place("TASKS:2", true, "")
	list, err := io.ReadAll(r.request(http.MethodGet, "/dlq", nil, nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(list), "no longer in the broker"); n != 1 {
		t.Errorf("the list says %d times that an entry is no longer in the queue, want once", n)
	}

	r.retry("TASKS:1", "k1")
	worker, err := js.Consumer(t.Context(), "TASKS", "marketing-task-worker")
	if err != nil {
		t.Fatal(err)
	}
	m, err := worker.Next(jetstream.FetchMaxWait(patience))
	if err != nil || !strings.Contains(string(m.Data()), `"post-1"`) || m.Headers().Get("X-Retry-Of") != "TASKS:1" {
		t.Fatalf("the worker got %v, %v; want post-1 again", m, err)
	}
}
