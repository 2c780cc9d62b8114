package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

// TestHeadersOnlyStoresNoBody runs the whole program over tasks that complete, die and are copied to the dead-letter queue.
func TestHeadersOnlyStoresNoBody(t *testing.T) {
	t.Parallel()
	const secret = "a-body-that-nobody-may-keep"
	r := start(t, settings(t, "--headers-only", "--masking", "off"))
	a := connectAgent(t, r.AgentsURL())
	publish := func(id string) {
		msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
		msg.Header.Set("Nats-Msg-Id", id)
		msg.Header.Set("X-Task-ID", id)
		msg.Data = []byte(`{"taskId":"` + id + `","payload":{"title":"` + secret + `","text":"` + secret + `"}}`)
		if _, err := a.js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	publish("completes-1")
	a.do(a.take().DoubleAck(t.Context()))
	publish("dies-1")
	a.do(a.take().TermWithReason("no use"))
	testkit.Eventually(t, patience, func() error {
		var task struct{ State string }
		if err := r.get("/api/v1/tasks/completes-1", &task); err != nil || task.State != "completed" {
			return fmt.Errorf("completes-1 is %s, %w", task.State, err)
		}
		return nil
	})
	entry := ""
	testkit.Eventually(t, patience, func() error {
		var list struct {
			Data []struct {
				ID     string
				DLQSeq *string `json:"dlq_seq"`
			}
		}
		if err := r.get("/api/v1/dlq", &list); err != nil || len(list.Data) != 1 || list.Data[0].DLQSeq == nil {
			return fmt.Errorf("dead letters: %+v, %w", list.Data, err)
		}
		entry = list.Data[0].ID
		return nil
	})
	for _, path := range []string{
		"/", "/tasks", "/tasks/completes-1?tab=payload", "/tasks/dies-1?tab=payload", "/tasks/dies-1?tab=events", "/dlq/" + url.PathEscape(entry), "/api/v1/tasks", "/api/v1/tasks/completes-1",
		"/api/v1/tasks/completes-1/payload", "/api/v1/tasks/dies-1/payload", "/api/v1/tasks/dies-1/events", "/api/v1/dlq/" + url.PathEscape(entry), "/payload?message=" + url.QueryEscape(entry),
	} {
		text, err := io.ReadAll(r.request("GET", path, nil, nil).Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s shows the body: %s", path, text)
		}
	}
}
