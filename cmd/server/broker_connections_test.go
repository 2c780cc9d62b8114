package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// few is how many descriptors the program of this test may open, and knocks how many connections are opened to its broker.
const (
	few    = 512
	knocks = 1500
)

// limited starts the program as a process that may open few files, and returns where its pages and its broker are.
func limited(t *testing.T) (pages, agents string) {
	t.Helper()
	_, out := program(t, []string{fmt.Sprintf("FLEETGLASS_TEST_DESCRIPTORS=%d", few)}, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	serving := regexp.MustCompile(`msg=serving pages=(http://\S+) agents=nats://(\S+)`)
	testkit.Eventually(t, patience, func() error {
		if serving.MatchString(out.String()) {
			return nil
		}
		return errLog(out.String())
	})
	found := serving.FindStringSubmatch(out.String())
	return found[1], found[2]
}

// TestConnectionsToTheBrokerLeaveDescriptorsToEverythingElse opens more connections than the process may have files.
func TestConnectionsToTheBrokerLeaveDescriptorsToEverythingElse(t *testing.T) {
	t.Parallel()
	pages, agents := limited(t)
	conn, err := nats.Connect("nats://" + agents)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for range knocks {
		knock, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", agents)
		if err != nil {
			t.Fatal(err)
		}
		defer knock.Close() //nolint:errcheck // Closed by the broker, or left open on purpose.
	}
	for n := range 200 {
		msg := nats.NewMsg(fmt.Sprintf("genbrain.agents.cto.tasks.t%d", n))
		msg.Header.Set("Nats-Msg-Id", fmt.Sprintf("beside-%d", n))
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatalf("publish %d beside %d connections: %v", n, knocks, err)
		}
	}
	client := &http.Client{Timeout: patience}
	testkit.Eventually(t, patience, func() error {
		response, err := client.Get(pages + "/api/v1/tasks/counts")
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // Only read from.
		var counts struct{ Total int }
		if err := json.NewDecoder(response.Body).Decode(&counts); err != nil || counts.Total != 200 {
			return fmt.Errorf("%d tasks, %w", counts.Total, err)
		}
		return nil
	})
	testkit.Eventually(t, patience, func() error {
		ready, err := client.Get(pages + "/readyz")
		if err != nil {
			return err
		}
		defer ready.Body.Close() //nolint:errcheck // Only read from.
		if said, err := io.ReadAll(ready.Body); err != nil || ready.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz: %s: %s, %w", ready.Status, said, err)
		}
		return nil
	})
}
