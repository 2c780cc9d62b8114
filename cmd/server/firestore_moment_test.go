package main

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// moment is what the API says of a task that was recorded twice in one millisecond.
type moment struct {
	Messages   []struct{ State string }
	Duplicates struct {
		CaughtByIdempotency int `json:"caught_by_idempotency"`
		ReachedExecution    int `json:"reached_execution"`
		Unknown             int `json:"unknown"`
	}
}

func (m moment) String() string {
	return fmt.Sprint(m.Messages, m.Duplicates.CaughtByIdempotency, m.Duplicates.ReachedExecution, m.Duplicates.Unknown)
}

// shows waits until the API says that.
func (r *running) shows(id, want string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var got moment
		if err := r.get("/api/v1/tasks/"+id, &got); err != nil {
			return err
		}
		if got.String() != want {
			return fmt.Errorf("%s: %s, want %s", id, got, want)
		}
		return nil
	})
}

// Two attempts that run at once write the document of their task in one millisecond: whether both did the work is not known. Two messages of one key are each
// completed by their own record, and not by one that was written after the message had gone.
func TestDocumentsOfOneMillisecondAreToldApartByTheirMessage(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r := start(t, settings(t, "--firestore-project", firestoretest.Project, "--firestore-emulator", server.Addr()))
	worker := connectAgent(t, r.AgentsURL())
	config := worker.consumer.CachedInfo().Config
	config.AckWait, config.MaxAckPending = time.Second, 2
	_, err := worker.js.UpdateConsumer(t.Context(), "TASKS", config)
	worker.do(err)
	documents := server.Client(t)
	record := func(id string, at int64, seq int) {
		t.Helper()
		_, err := documents.Doc("task-idempotency/"+id).Set(t.Context(), map[string]any{"taskId": id, "idempotencyKey": id + "-1", "agentId": "backend", "completedAt": at, "natsStreamSeq": seq})
		worker.do(err)
	}

	worker.publishAs("twice", "twice")
	first, second := worker.take(), worker.take()
	at := time.Now().UnixMilli()
	record("twice", at, 1)
	record("twice", at, 1)
	worker.do(second.Ack())
	worker.do(first.Ack())
	r.shows("twice", "[{completed}] 0 0 1")

	config.AckWait = time.Hour
	_, err = worker.js.UpdateConsumer(t.Context(), "TASKS", config)
	worker.do(err)
	worker.publishAs("pair", "pair")
	worker.publishAs("pair", "pair:again")
	worker.take()
	worker.take()
	at = time.Now().UnixMilli()
	record("pair", at, 2)
	r.shows("pair", "[{completing} {delivered}] 0 0 0")
	testkit.Eventually(t, patience, func() error { // A record counts that was stored two seconds before a removal.
		if age := time.Since(time.UnixMilli(at)); age < 3*time.Second {
			return fmt.Errorf("the record is %s old", age)
		}
		return nil
	})
	tasks, err := worker.js.Stream(t.Context(), "TASKS")
	worker.do(err)
	worker.do(tasks.DeleteMsg(t.Context(), 3))
	r.shows("pair", "[{completing} {outcome_unknown}] 0 0 0")
	record("pair", at, 3)
	r.shows("pair", "[{completing} {outcome_unknown}] 0 0 1")
}

// publishAs publishes a message of a task under an id.
func (a *agent) publishAs(task, id string) {
	a.t.Helper()
	msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
	msg.Header = nats.Header{jetstream.MsgIDHeader: {id}, "X-Task-ID": {task}, "X-Idempotency-Key": {task + "-1"}}
	msg.Data = fmt.Appendf(nil, `{"taskId":%q,"type":"code_review"}`, task)
	_, err := a.js.PublishMsg(a.t.Context(), msg)
	a.do(err)
}
