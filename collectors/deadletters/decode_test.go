package deadletters_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/collectors"
	"fleetglass/collectors/deadletters"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

var stored = lifecycle.MicrosOf(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))

// resolve knows TASKS, which ends at 100.
func resolve() collectors.Streams {
	return collectors.Streams{Contract: fleet.NewContract(""), LastSeq: map[string]collectors.LastSeq{"TASKS": {Seq: 100}}}
}

func entry(subject string, headers map[string][]string, body string) collectors.Line {
	return collectors.Line{
		Source: lifecycle.StreamID{Name: "DLQ", Epoch: 7}, Seq: 9, At: stored, Subject: "genbrain.dlq." + subject, Headers: headers, Body: []byte(body),
	}
}

// contractHeaders are those of an entry as the contract has it; the pairs replace some of them.
func contractHeaders(pairs ...string) map[string][]string {
	h := map[string][]string{
		"X-DLQ-Stream": {"TASKS"}, "X-DLQ-Seq": {"42"}, "X-DLQ-Consumer": {"cto-task-worker"}, "X-DLQ-Subject": {"genbrain.agents.cto.tasks.code_review"},
		"X-DLQ-Path": {"max_deliveries"}, "X-DLQ-Category": {"transient"}, "X-DLQ-Detail": {"network_transient"}, "X-DLQ-Reason": {"reset by peer"},
		"X-DLQ-Deliveries": {"3"}, "X-DLQ-Failed-At": {"2026-11-22T11:59:00Z"}, "Nats-Msg-Id": {"dlq:TASKS:42"}, "X-Task-ID": {"T-1"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if h[pairs[i]] = []string{pairs[i+1]}; pairs[i+1] == "" {
			delete(h, pairs[i])
		}
	}
	return h
}

// said is what the tests compare of an event.
type said struct {
	Message, Task, OfTask, Agent, Consumer, Subject, Entry, Path, Category, Detail, Reason string
	Deliveries                                                                             int
	FailedAt                                                                               lifecycle.Micros
}

func saidBy(e lifecycle.Event) said {
	d := e.Detail
	return said{e.Message.String(), e.TaskID, d.OfTask, e.Agent, e.Consumer, d.Subject, d.Entry, d.Path, d.Category, d.CategoryDetail, d.Reason, d.Deliveries, d.FailedAt}
}

func TestEntriesAreReadAsTheyDescribeThemselves(t *testing.T) {
	t.Parallel()
	full := said{"TASKS:42", "T-1", "T-1", "cto", "cto-task-worker", "genbrain.agents.cto.tasks.code_review", "DLQ:9", "max_deliveries", "transient",
		"network_transient", "reset by peer", 3, stored.Add(-time.Minute)}
	with := func(change func(*said)) said { s := full; change(&s); return s }
	for _, tc := range []struct {
		name string
		line collectors.Line
		want said
	}{
		{"as the contract has it", entry("cto.transient", contractHeaders(), "{}"), full},
		{"names in another case", entry("cto.transient", map[string][]string{"x-dlq-stream": {"TASKS"}, "x-dlq-seq": {"42"}}, ""),
			said{Message: "TASKS:42", Agent: "cto", Entry: "DLQ:9", Category: "transient"}},
		{"the category of the subject where no header says one", entry("cto.permanent", contractHeaders("X-DLQ-Category", ""), "{}"),
			with(func(s *said) { s.Category = "permanent" })},
		{"the place in the message id", entry("cto.transient", contractHeaders("X-DLQ-Stream", "", "X-DLQ-Seq", ""), "{}"), full},
		{"the task by its original message id", entry("cto.transient", contractHeaders("X-Task-ID", "", "X-DLQ-Msg-Id", "T-9:r2"), "{}"),
			with(func(s *said) { s.Task, s.OfTask = "T-9", "T-9" })},
		{"a body that claims other things is the original one", entry("cto.transient", contractHeaders(), `{"stream":"OTHER","seq":1,"reason":"x"}`), full},
		{"it failed later than it was written", entry("cto.transient", contractHeaders("X-DLQ-Failed-At", "2036-01-01T00:00:00Z"), "{}"),
			with(func(s *said) { s.FailedAt = stored })},
		{"a message that the stream does not have", entry("cto.transient", contractHeaders("X-DLQ-Seq", "101"), "{}"), with(func(s *said) { s.Message = "DLQ:9" })},
		{"another monitor's JSON", entry("cto.transient", nil, `{"originalStream":"TASKS","stream_seq":42,"consumer":"cto-task-worker",
			"original_subject":"genbrain.agents.cto.tasks.code_review","failure-path":"max_deliveries","failureDetail":"network_transient","error":"reset by peer","deliveries":3,
			"failedAt":1795348740000,"taskId":"T-1"}`), full},
		{"another monitor's JSON, nested", entry("cto", nil, `{"reason":"budget","original":{"stream":"TASKS","sequence":"42"}}`),
			said{Message: "TASKS:42", Agent: "cto", Entry: "DLQ:9", Reason: "budget"}},
		{"nothing but bytes", entry("cto.transient", nil, "\xff\x00"), said{Message: "DLQ:9", Agent: "cto", Entry: "DLQ:9", Category: "transient"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var b lifecycle.Batch
			if err := deadletters.Decode(tc.line, resolve(), &b); err != nil {
				t.Fatal(err)
			}
			if len(b.Events) != 1 || len(b.Payloads) != 1 {
				t.Fatalf("got %d events and %d payloads, want one of each", len(b.Events), len(b.Payloads))
			}
			if d := cmp.Diff(tc.want, saidBy(b.Events[0])); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if p := b.Payloads[0]; p.Message.String() != "DLQ:9" || string(p.Body) != string(tc.line.Body) || p.Size != int64(len(tc.line.Body)) {
				t.Errorf("the payload is %+v, want body and size of the entry under its own key", p)
			}
		})
	}
}

func TestWhatIsNoEntryIsIgnoredOrQuarantined(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		line    collectors.Line
		refused bool
	}{
		{"a stream that takes other subjects too", collectors.Line{Source: lifecycle.StreamID{Name: "ALL"}, Seq: 1, At: stored, Subject: "genbrain.agents.cto.tasks.x"}, false},
		{"a sequence that is no number", entry("cto.transient", contractHeaders("X-DLQ-Seq", "first"), ""), true},
		{"a sequence beyond 2^53", entry("cto.transient", contractHeaders("X-DLQ-Seq", "9007199254740993"), ""), true},
		{"a stream that no broker has", entry("cto.transient", contractHeaders("X-DLQ-Stream", "a b"), ""), true},
	} {
		var b lifecycle.Batch
		if err := deadletters.Decode(tc.line, resolve(), &b); (err != nil) != tc.refused || len(b.Events) > 0 {
			t.Errorf("%s: got %v and %d events, want refused %t and none", tc.name, err, len(b.Events), tc.refused)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("cto.transient", "TASKS", "42", `{"stream":"TASKS","seq":42,"original":{"reason":"x"}}`, "dlq:TASKS:42")
	f.Add("", "", "", `{"original":{"original":{}}}`, "dlq:")
	f.Fuzz(func(t *testing.T, subject, stream, seq, body, id string) {
		for _, headers := range []map[string][]string{{"Nats-Msg-Id": {id}}, {"X-DLQ-Stream": {stream}, "X-DLQ-Seq": {seq}, "Nats-Msg-Id": {id}}} {
			var b lifecycle.Batch
			if err := deadletters.Decode(entry(subject, headers, body), resolve(), &b); err == nil && (len(b.Events) != 1 || b.Events[0].Message.IsZero()) {
				t.Errorf("%d events of %q", len(b.Events), body)
			}
		}
	})
}
