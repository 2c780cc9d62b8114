package fleet_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"

	"github.com/google/go-cmp/cmp"
)

func TestAPublishedTaskReadsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	b.publish(t, fleet.NewTask{ID: "t-1", Version: 3, CreatedAt: at, TraceParent: trace, Publisher: "ceo", Payload: map[string]any{"title": "Review the retry path"}})
	stream, err := b.js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := fleet.ReadTask(msg.Header, msg.Data, key)
	want := fleet.Task{
		ID: "t-1", MsgID: "t-1-3", IdempotencyKey: "t-1-3", Type: "code_review", TraceParent: trace, Publisher: "ceo", Title: "Review the retry path",
		CreatedAt: lifecycle.MicrosOf(at), Size: int64(len(msg.Data)), PayloadHash: fleet.Fingerprint(msg.Data),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnfitTasksAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, task := range []fleet.NewTask{
		{}, {ID: "x", Agent: "a.b", Type: "t"}, {ID: "x", Agent: "a", Type: ">"}, {ID: "x", Agent: "a", Type: "t."}, {ID: "a\nb", Agent: "a", Type: "t"},
		{ID: strings.Repeat("x", 201), Agent: "a", Type: "t"}, {ID: "x", Agent: "a", Type: "t", Payload: func() {}}, {ID: "x", Agent: "a", Type: "t", Publisher: "a\nb"},
	} {
		if _, err := b.publisher.Publish(t.Context(), task); err == nil {
			t.Errorf("published %+v", task.ID)
		}
	}
}

func TestRecordsReadLeniently(t *testing.T) {
	t.Parallel()
	want := fleet.Record{TaskID: "t", AgentID: "cto", CompletedAt: 1763650000123e3, ExpiresAt: 1763650000124e3, NatsStreamSeq: 4}
	for _, body := range []string{
		`{"taskId":"t","agentId":"cto","completedAt":1763650000123,"expiresAt":1763650000124,"natsStreamSeq":4,"other":{}}`,
		`{"taskId":"t","agentId":"cto","completedAt":"2025-11-20T14:46:40.123Z","expiresAt":"1763650000124","natsStreamSeq":4,"resultSummary":7}`,
	} {
		got, err := fleet.ReadRecord([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(written); !strings.Contains(got, `"completedAt":1763650000123,"expiresAt":1763650000124`) {
		t.Errorf("written as %s", got)
	}
	for _, body := range []string{``, `[]`, `{}`, `{"taskId":""}`, "\xff"} {
		if r, err := fleet.ReadRecord([]byte(body)); err == nil {
			t.Errorf("%q read as %+v", body, r)
		}
	}
}

func TestRecordsOfOddTaskIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"TASKS:7", "=eA", "x", ".x", "a..b", "日本", "a b", "a.b", "a*>", "a/=b", "a/b"} {
		if err := b.records.Complete(t.Context(), fleet.Record{TaskID: id, CompletedAt: 1e15}); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if err := b.records.Complete(t.Context(), fleet.Record{TaskID: id}); !errors.Is(err, fleet.ErrRecorded) {
			t.Errorf("%q, second record: %v", id, err)
		}
		if r, err := b.records.Find(t.Context(), id, ""); err != nil || r == nil || r.TaskID != id {
			t.Errorf("%q: found %+v, %v", id, r, err)
		}
		for _, key := range []string{"", id, id + "-1", id + "-2", "another"} {
			if got := fleet.TaskOfRecordKey(fleet.RecordKey(id, key)); got != id {
				t.Errorf("%q with key %q reads back as %q", id, key, got)
			}
		}
	}
}

func TestKeysAreDeterministicAndDistinct(t *testing.T) {
	t.Parallel()
	a, err := fleet.StepKey("s", "m", "1", "github.create_pr", map[string]any{"b": 1, "a": []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := fleet.StepKey("s", "m", "1", "github.create_pr", json.RawMessage(`{ "a": [2], "b": 1 }`))
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("the order of members changes the key: %s, %s", a, b)
	}
	if fleet.Key("ab", "c") == fleet.Key("a", "bc") || fleet.Key("a", "") == fleet.Key("a") {
		t.Error("parts are not kept apart")
	}
	if fleet.CompensationKey("w", "j", "t", "c", 1) == fleet.CompensationKey("w", "j", "t", "c", 2) {
		t.Error("steps share a compensation key")
	}
	if _, err := fleet.StepKey("s", "m", "1", "t", func() {}); err == nil {
		t.Error("a function is no input")
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"taskId":"t","agentId":"cto","completedAt":1763650000123,"expiresAt":"x","natsStreamSeq":-1}`))
	f.Add([]byte(`{"taskId":{},"completedAt":[]}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := fleet.ReadRecord(body)
		if err != nil {
			return
		}
		if r.TaskID == "" || len(r.TaskID) > 200 {
			t.Fatalf("task id %q", r.TaskID)
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := fleet.ReadRecord(written)
		if err != nil || again.TaskID != r.TaskID {
			t.Fatalf("wrote %s, read %+v, %v", written, again, err)
		}
	})
}
