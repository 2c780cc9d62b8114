package idempotency

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

func TestTheTaskOfAKeyFollowsTheFleetsRule(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"T-1-1": "T-1", "T-1-12": "T-1", "blog-post-2": "blog-post", "T-1": "T", "T": "T", "T-0": "T-0", "T-01": "T-01", "T--1": "T-", "-1": "-1",
		"publish-hello": "publish-hello", "T-1x": "T-1x", "": "",
	} {
		if got := taskOfKey(key); got != want {
			t.Errorf("taskOfKey(%q) = %q, want %q", key, got, want)
		}
	}
}

// FuzzDecodeDocument checks that no document breaks the decoders, and that what they give fits any store.
func FuzzDecodeDocument(f *testing.F) {
	f.Add("T-1", `{"taskId":"T-1","agentId":"cto","completedAt":1700000000000,"expiresAt":"2026-01-01T00:00:00Z","payloadHash":"ab"}`)
	f.Add("T-1", `{"completedAt":true}`)
	f.Add("k-1", `{"key":"k-1","action":"push","side_effects":[{"type":"git","ref":"a"},{"slug":1}],"completed_at":"1700000000000"}`)
	f.Add("k", `{"status":{"a":[null]},"taskId":[1]}`)
	f.Fuzz(func(t *testing.T, id, body string) {
		var fields map[string]any
		if json.Unmarshal([]byte(body), &fields) != nil || fields == nil || id == "" {
			return
		}
		for _, s := range sources() {
			d := document{path: "agent-state/a/" + s.collection + "/" + id, created: 1, updated: 2, read: 3, revision: "r", fields: fields}
			var b lifecycle.Batch
			if err := s.decode(d, &b); err != nil {
				b.Quarantined = append(b.Quarantined, d.quarantined(err.Error()))
			}
			collectors.MakeStorable(&b)
			for _, e := range b.Events {
				if e.TaskID == "" || !utf8.ValidString(e.TaskID+e.Detail.ResultRef) || e.At != 2 || e.ID != d.eventID() {
					t.Errorf("event %+v", e)
				}
			}
		}
	})
}
