package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fleetglass/internal/testkit"
)

// operation is the part of an operation that the test looks at.
type operation struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Items  []struct {
		Message *struct {
			Seq       string `json:"seq"`
			MessageID string `json:"message_id"`
		} `json:"message"`
		Outcome *string `json:"outcome"`
	} `json:"items"`
}

// followed waits until the one item of an operation has an outcome.
func (r *running) followed(id, outcome string) operation {
	r.t.Helper()
	var got operation
	testkit.Eventually(r.t, patience, func() error {
		got = operation{}
		if err := r.get("/api/v1/operations/"+id, &got); err != nil {
			return err
		}
		if len(got.Items) != 1 || got.Items[0].Outcome == nil || *got.Items[0].Outcome != outcome {
			return fmt.Errorf("operation %+v, want the outcome %s", got, outcome)
		}
		return nil
	})
	return got
}

// lookedAt waits until the monitor has said why a message died, as far as it can.
func (r *running) lookedAt(entry string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var got struct {
			Classification struct {
				By string `json:"by"`
			} `json:"classification"`
		}
		if err := r.get("/api/v1/dlq/"+entry, &got); err != nil {
			return err
		}
		if got.Classification.By == "" {
			return fmt.Errorf("nobody has looked at %s", entry)
		}
		return nil
	})
}

// retry asks for a retry as soon as the message is known to be dead.
func (r *running) retry(entry, key string) operation {
	r.t.Helper()
	return r.act(entry, key, `{"action":"retry","reason":"the provider is back","params":{"as":"unchanged","force":true,"force_reason":"whatever its class"}}`)
}

// act asks for an action as soon as the message is known to be dead.
func (r *running) act(entry, key, body string) operation {
	r.t.Helper()
	var got operation
	testkit.Eventually(r.t, patience, func() error {
		header := http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/json"}}
		response := r.request(http.MethodPost, "/api/v1/dlq/"+entry+"/actions", header, strings.NewReader(body))
		if response.StatusCode != http.StatusAccepted {
			return fmt.Errorf("%s", response.Status)
		}
		return json.NewDecoder(response.Body).Decode(&got)
	})
	return got
}

func TestADeadTaskIsRetriedPickedUpAndFollowed(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		r := start(t, settings(t, args...))
		worker := connectAgent(t, r.AgentsURL())
		worker.publish("review-1", `{"taskId":"review-1","type":"code_review"}`)
		worker.do(worker.take().TermWithReason("503 overloaded"))

		first := r.retry("TASKS:1", "k1")
		again := worker.take()
		if h := again.Headers(); h.Get("Nats-Msg-Id") != "review-1:r1" || h.Get("X-Task-ID") != "review-1" || h.Get("X-Retry-Of") != "TASKS:1" ||
			h.Get("X-Triage-Action") != first.ID || string(again.Data()) != `{"taskId":"review-1","type":"code_review"}` {
			t.Errorf("the worker got %v %s", h, again.Data())
		}
		worker.do(again.TermWithReason("503 overloaded"))
		died := r.followed(first.ID, "died_again")
		if m := died.Items[0].Message; died.Status != "succeeded" || m == nil || m.MessageID != "review-1:r1" {
			t.Errorf("operation %+v", died)
		}

		second := r.retry("TASKS:"+died.Items[0].Message.Seq, "k2")
		last := worker.take()
		if id := last.Headers().Get("Nats-Msg-Id"); id != "review-1:r2" {
			t.Errorf("message id %s, want review-1:r2", id)
		}
		worker.do(last.Ack())
		r.followed(second.ID, "resolved")
	})
}
