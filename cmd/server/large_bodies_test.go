package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

const (
	largestMessage = 64 << 20 // Bytes: the largest message that a broker can be told to take. Its streams keep no more than 32 MiB.
	largeBodies    = 16
	mostMemory     = 450 << 20 // Bytes: what a few of the large bodies take, and less than all of them.
)

// largeBroker takes messages of the largest size there is.
func largeBroker(t *testing.T) (url string, js jetstream.JetStream) {
	t.Helper()
	broker := testkit.BrokerWith(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), MaxPayload: largestMessage, MaxPending: 4 * largestMessage,
	})
	nc, err := nats.Connect(broker.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil {
		t.Fatal(err)
	}
	return broker.ClientURL(), js
}

// peak is the most memory that a process had at once, bytes.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	kilobytes, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// TestABodyTooLargeForMemoryCostsNoLine floods the program with bodies that would not fit into its memory together: it keeps the beginning of
// each one, and every task.
func TestABodyTooLargeForMemoryCostsNoLine(t *testing.T) {
	url, js := largeBroker(t)
	body := append(append([]byte(`{"payload":{"title":"A film","frames":"`), bytes.Repeat([]byte("frame "), 5<<20)...), `"}}`...)
	for n := range largeBodies {
		publishAs(t, js, fmt.Sprintf("film-%d", n), body)
		publishAs(t, js, fmt.Sprintf("word-%d", n), []byte(`{"payload":{"title":"A word"}}`))
	}
	cmd, out := program(t, nil, "--listen", "127.0.0.1:0", "--nats-url", url, "--data-dir", t.TempDir())
	pages := servedAt(t, out)
	for n := range largeBodies {
		for id, cut := range map[string]bool{fmt.Sprintf("film-%d", n): true, fmt.Sprintf("word-%d", n): false} {
			testkit.Eventually(t, 3*patience, func() error { return bodyIsKept(t.Context(), pages, id, cut) })
		}
	}
	most := peak(t, cmd.Process.Pid)
	t.Logf("%d bodies of %d MiB: at most %d MiB of memory", largeBodies, len(body)>>20, most>>20)
	if most > mostMemory {
		t.Errorf("the program had %d MiB at once", most>>20)
	}
}

func publishAs(t *testing.T, js jetstream.JetStream, id string, body []byte) {
	t.Helper()
	msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
	msg.Header.Set("Nats-Msg-Id", id)
	msg.Data = body
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// bodyIsKept errors unless the task is there, and its body is said to be cut where it is.
func bodyIsKept(ctx context.Context, pages, id string, cut bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, pages+"/api/v1/tasks/"+id+"/payload", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/octet-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if got := response.Header.Get("X-Truncated") == "true"; response.StatusCode != http.StatusOK || got != cut {
		return fmt.Errorf("payload of %s: %s, cut %t, want %t", id, response.Status, got, cut)
	}
	return nil
}
