package idempotency_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/google/go-cmp/cmp"

	"fleetglass/collectors/idempotency"
	"fleetglass/fleet"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

const (
	there = lifecycle.RecordThere
	gone  = lifecycle.RecordGone
)

func TestRecordsOfTheBucketAreLookedFor(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	records, err := fleet.NewKVRecords(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []fleet.Record{
		{TaskID: "kept"}, {TaskID: "deleted"}, {TaskID: "a task with spaces"}, {TaskID: "versions"}, {TaskID: "versions", IdempotencyKey: "versions-2"},
	} {
		r.CompletedAt = lifecycle.MicrosOf(time.Now())
		if err := records.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	kv, err := js.KeyValue(t.Context(), fleet.BucketIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "by-its-key-1", `{"taskId": "by its key"}`); err != nil { // As another writer does it.
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	const bucket = "KV_" + fleet.BucketIdempotency
	refs := []lifecycle.RecordRef{
		{TaskID: "kept", Source: bucket}, {TaskID: "kept", Key: "kept-1", Source: "hub/" + bucket}, {TaskID: "deleted", Source: bucket},
		{TaskID: "never written", Source: bucket}, {TaskID: "a task with spaces", Source: bucket}, {TaskID: "versions", Key: "versions-2", Source: bucket},
		{TaskID: "kept", Source: "task-idempotency/kept"}, {TaskID: "by its key", Key: "by-its-key-1", Source: bucket},
		{TaskID: fleet.TaskName(strings.Repeat("long", 100)), Source: bucket},
	}
	p := idempotency.Sources{idempotency.NewKVSource(js), idempotency.NewFirestoreSource(idempotency.FirestoreConfig{})}
	want := []lifecycle.RecordAnswer{there, there, gone, gone, there, there, lifecycle.RecordNotAsked, there, lifecycle.RecordNotAsked}
	wantAnswers(t, p, refs, want)
	if err := js.DeleteKeyValue(t.Context(), fleet.BucketIdempotency); err != nil {
		t.Fatal(err)
	}
	wantAnswers(t, p, refs[:2], []lifecycle.RecordAnswer{gone, gone})
}

func TestRecordsInFirestoreAreLookedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	p := idempotency.Sources{
		idempotency.NewKVSource(nil), idempotency.NewFirestoreSource(idempotency.FirestoreConfig{Project: b.cfg.Project, Emulator: b.cfg.Emulator}),
	}
	t.Cleanup(func() { _ = p.Close() })
	var refs []lifecycle.RecordRef
	var want []lifecycle.RecordAnswer
	for i, task := range names("t", 250) { // More than are asked for at once.
		answer := gone
		if i%2 == 0 {
			b.complete(task, time.Now())
			answer = there
		}
		refs, want = append(refs, lifecycle.RecordRef{TaskID: task, Source: "task-idempotency/" + task}), append(want, answer)
	}
	refs, want = append(refs, lifecycle.RecordRef{TaskID: "elsewhere", Source: "KV_task-idempotency"}), append(want, lifecycle.RecordNotAsked)
	wantAnswers(t, p, refs, want)
	b.server.Fail(firestoretest.BatchGetDocuments, codes.PermissionDenied, -1)
	if got, err := p.Records(t.Context(), refs); err == nil {
		t.Errorf("without an answer: %v, want an error", got)
	}
}

func wantAnswers(t *testing.T, p idempotency.Sources, refs []lifecycle.RecordRef, want []lifecycle.RecordAnswer) {
	t.Helper()
	got, err := p.Records(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}
