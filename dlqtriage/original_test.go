package dlqtriage

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

// kept is a store of payloads.
type kept map[string]lifecycle.Payload

func (k kept) Payload(_ context.Context, key lifecycle.MessageKey) (lifecycle.Payload, error) {
	if p, found := k[key.String()]; found {
		return p, nil
	}
	return lifecycle.Payload{}, lifecycle.ErrNotFound
}

func TestTheOriginalIsReadFromTheEntryWhereItWasNotCaptured(t *testing.T) {
	t.Parallel()
	e := Entry{Key: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}, DLQStream: "DLQ", DLQSeq: 3}
	ours := lifecycle.Payload{Body: []byte("entry"), Headers: map[string][]string{
		"Nats-Msg-Id": {"dlq:TASKS:7"}, "X-DLQ-Msg-Id": {"T-1"}, "X-DLQ-Stream": {"TASKS"}, "X-Task-ID": {"T-1"},
	}}
	missing := ours
	missing.Headers = map[string][]string{"X-DLQ-Stream": {"TASKS"}, "X-DLQ-Why-Missing": {"it was not captured"}}
	for _, tc := range []struct {
		name  string
		store kept
		want  string
	}{
		{"captured", kept{"TASKS:7": {Body: []byte("captured")}, "DLQ:3": ours}, "captured"},
		{"in the entry", kept{"DLQ:3": ours}, "entry"},
		{"in no place", kept{}, ""},
		{"the entry says that it is missing", kept{"DLQ:3": missing}, ""},
		{"another monitor's form", kept{"DLQ:3": {Body: []byte(`{"stream":"TASKS"}`)}}, ""},
	} {
		p, err := Original(t.Context(), tc.store, e)
		if string(p.Body) != tc.want || errors.Is(err, lifecycle.ErrNotFound) != (tc.want == "") {
			t.Errorf("%s: got %q, %v; want %q", tc.name, p.Body, err, tc.want)
		}
	}
	p, err := Original(t.Context(), kept{"DLQ:3": ours}, e)
	if d := cmp.Diff(map[string][]string{"Nats-Msg-Id": {"T-1"}, "X-Task-ID": {"T-1"}}, p.Headers); d != "" || err != nil || p.Message != e.Key {
		t.Errorf("headers (-want +got), %v:\n%s", err, d)
	}
}
