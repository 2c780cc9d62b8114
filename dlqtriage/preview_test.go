package dlqtriage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

const testNow = lifecycle.Micros(1_700_000_000_000_000)

// dead is an entry as it is examined: the first message of a task of marketing, that died of a slow provider.
func dead(edit ...func(*Known)) *Known {
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}
	k := &Known{
		Entry: Entry{
			ID: EntryID(key), Key: key, TaskID: "blog/1", MessageID: "blog/1", Subject: "genbrain.agents.marketing.tasks.content_creation", Agent: "marketing",
			Type: "content_creation", Class: ClassOf(Transient, "llm_provider_timeout"), Status: StatusOpen,
		},
		Payload: lifecycle.Payload{
			Message: key, Body: []byte(`{"taskId":"blog/1","assignee":"marketing","version":1,"payload":{"n":1}}`),
			Headers: map[string][]string{
				"Nats-Msg-Id": {"blog/1"}, "X-Task-ID": {"blog/1"}, "X-Idempotency-Key": {"blog/1-1"}, "traceparent": {"00-1"}, "Nats-Stream": {"TASKS"}, "x-mine": {"1"},
			},
		},
	}
	k.Record.Messages = []lifecycle.MessageFacts{{Key: key, Stored: &lifecycle.StoredFacts{MsgID: "blog/1", IdempotencyKey: "blog/1-1"}}}
	for _, f := range edit {
		f(k)
	}
	k.Case = CaseOf(k.Entry, nil)
	k.readRecord()
	k.Case.readPayload(k.Payload.Body)
	return k
}

func previewOf(t *testing.T, k *Known, r Request) Preview {
	t.Helper()
	r.Reason = "because"
	if err := r.check(DefaultPolicy(), testNow); err != nil {
		t.Fatal(err)
	}
	v, err := k.preview(r, "act-1", DefaultPolicy(), fleet.NewContract(""), testNow)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func codes(all []Obstacle) []ObstacleCode {
	out := []ObstacleCode{}
	for _, o := range all {
		out = append(out, o.Code)
	}
	return out
}

func TestARetryThatChangesNothingKeepsKeyAndPayload(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Params{"by plan": {}, "unchanged": {As: AsUnchanged}} {
		v := previewOf(t, dead(), Request{Action: ActionRetry, Params: p})
		want := map[string]string{
			"Nats-Msg-Id": "blog/1:r1", "X-Task-ID": "blog/1", "X-Idempotency-Key": "blog/1-1", "X-Retry-Of": "TASKS:7", "X-Retry-Generation": "1",
			"X-Triage-Action": "act-1", "traceparent": "00-1", "x-mine": "1",
		}
		if diff := cmp.Diff(want, v.Message.Headers); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, diff)
		}
		if !v.Eligible || len(v.Diff) != 0 || string(v.Message.Payload) != string(dead().Payload.Body) || v.Message.Subject != dead().Entry.Subject {
			t.Errorf("%s: %+v", name, v)
		}
		delay := map[string]time.Duration{"by plan": 30 * time.Second}[name]
		if v.DueAt != testNow.Add(delay) || v.Preflight.Verdict != PreflightOK {
			t.Errorf("%s: due in %s, preflight %+v", name, v.DueAt.Sub(testNow), v.Preflight)
		}
	}
}

func TestARetryThatChangesThePayloadRaisesTheVersion(t *testing.T) {
	t.Parallel()
	k := dead(func(k *Known) {
		k.Entry.Class = ClassOf(ConditionallyRecoverable, ContextWindowOverflow)
		k.Record.Messages = append(k.Record.Messages, lifecycle.MessageFacts{
			Key: lifecycle.MessageKey{Stream: k.Entry.Key.Stream, Seq: 3}, Stored: &lifecycle.StoredFacts{MsgID: "blog/0", IdempotencyKey: "blog/1-4"},
		})
	})
	v := previewOf(t, k, Request{Action: ActionRetry})
	h := v.Message.Headers
	if h["X-Idempotency-Key"] != "blog/1-5" || h["X-Target-Model"] == "" || !strings.Contains(h["X-Modifications"], "compress_context") {
		t.Errorf("headers %v, want version 5, a model and the modifications", h)
	}
	var payload map[string]any
	if err := json.Unmarshal(v.Message.Payload, &payload); err != nil || payload["version"] != 5.0 || payload["max_context_tokens"] != 80000.0 || payload["model"] != h["X-Target-Model"] {
		t.Errorf("payload %s", v.Message.Payload)
	}
	paths := []string{}
	for _, d := range v.Diff {
		paths = append(paths, d.Path)
	}
	if !slices.Contains(paths, "/version") || !slices.Contains(paths, "/max_context_tokens") {
		t.Errorf("diff %v", paths)
	}
}

func TestAReassignedTaskGoesToTheOtherAgent(t *testing.T) {
	t.Parallel()
	k := dead(func(k *Known) { k.Entry.Class = ClassOf(Permanent, "authority_exceeded"); k.Entry.Generation = 2 })
	v := previewOf(t, k, Request{Action: ActionReassign, Params: Params{Agent: "frontend", As: AsUnchanged}})
	if !v.Eligible || v.Message.Subject != "genbrain.agents.frontend.tasks.content_creation" || v.Message.Headers["Nats-Msg-Id"] != "blog/1:r3" || v.DueAt != testNow {
		t.Errorf("got %+v, %+v", v, v.Message)
	}
	if !strings.Contains(string(v.Message.Payload), `"assignee":"frontend"`) || v.Message.Headers["X-Idempotency-Key"] != "blog/1-2" {
		t.Errorf("payload %s, headers %v", v.Message.Payload, v.Message.Headers)
	}
}

func TestAnEditedRetrySendsWhatTheRequestSays(t *testing.T) {
	t.Parallel()
	k := dead(func(k *Known) { k.Entry.Class = ClassOf(Permanent, "data_integrity") })
	v := previewOf(t, k, Request{Action: ActionRetry, Params: Params{
		As: AsEdited, Payload: json.RawMessage(`{"taskId":"blog/1","assignee":"marketing","version":1,"payload":{"n":2}}`), Headers: map[string]string{"X-Mine": "", "X-New": "2"},
	}})
	if !v.Eligible || v.Message.Headers["X-New"] != "2" || v.Message.Headers["x-mine"] != "" || v.Message.Headers["X-Idempotency-Key"] != "blog/1-2" {
		t.Errorf("blocked %v, headers %v", v.Blocked, v.Message.Headers)
	}
	if !strings.Contains(string(v.Message.Payload), `"n":2`) {
		t.Errorf("payload %s", v.Message.Payload)
	}
}

func TestAnEditedPayloadMayBeAText(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{`"plain text"`: "plain text", `null`: string(dead().Payload.Body), `[1]`: "[1]"} {
		v := previewOf(t, dead(), Request{Action: ActionRetry, Params: Params{As: AsEdited, Payload: json.RawMessage(payload)}})
		if string(v.Message.Payload) != want {
			t.Errorf("payload %s: published %s, want %s", payload, v.Message.Payload, want)
		}
	}
}

func TestAPayloadThatIsNoObjectStaysAndTheHeadersSayTheRest(t *testing.T) {
	t.Parallel()
	k := dead(func(k *Known) {
		k.Payload.Body = []byte("\x00binary")
		k.Entry.Class = ClassOf(ConditionallyRecoverable, ContextWindowOverflow)
	})
	v := previewOf(t, k, Request{Action: ActionRetry})
	if string(v.Message.Payload) != "\x00binary" || v.Message.Headers["X-Modifications"] == "" || v.Message.Headers["X-Idempotency-Key"] != "blog/1-1" {
		t.Errorf("payload %q, headers %v", v.Message.Payload, v.Message.Headers)
	}
}

func TestWhatStandsInTheWayOfAnAction(t *testing.T) {
	t.Parallel()
	completed := func(k *Known) {
		at := lifecycle.MicrosOf(time.Unix(1, 0))
		k.Record.Facts.Completed = []lifecycle.Completed{{Stated: at, At: at, Key: "blog/1-1", Seq: 7}}
		k.Record.Facts.Copies = []lifecycle.DeliveryCopy{{Key: k.Entry.Key, IdemKey: "blog/1-1"}}
	}
	newer := func(k *Known) {
		k.Record.Messages = append(k.Record.Messages, lifecycle.MessageFacts{Key: lifecycle.MessageKey{Stream: k.Entry.Key.Stream, Seq: 9}, Stored: &lifecycle.StoredFacts{Generation: 1}})
	}
	done := func(key string) func(*Known) { // A newer message of the task, with an idempotency key, is acknowledged.
		return func(k *Known) {
			m := lifecycle.MessageFacts{
				Key: lifecycle.MessageKey{Stream: k.Entry.Key.Stream, Seq: 9}, Stored: &lifecycle.StoredFacts{At: 1, Generation: 1, IdempotencyKey: key},
				Attempts: []lifecycle.AttemptFacts{{N: 1, AckAt: 2, LastAckAt: 2}},
			}
			k.Record.Messages, k.Record.Summary.State = append(k.Record.Messages, m), lifecycle.Judge(m, k.Record.Facts).State
		}
	}
	diedToo := func(k *Known) { // What is said of the newest message, which is another version.
		newer(k)
		k.Record.Summary.Anomalies = []lifecycle.AnomalyCode{lifecycle.AnomalyCompletedAndDead}
	}
	status := func(s Status) func(*Known) { return func(k *Known) { k.Entry.Status = s } }
	class := func(c Category, detail string) func(*Known) {
		return func(k *Known) { k.Entry.Class = ClassOf(c, detail) }
	}
	for _, tt := range []struct {
		name   string
		k      *Known
		action ActionKind
		params Params
		want   []ObstacleCode
	}{
		{"an open one", dead(), ActionRetry, Params{}, nil},
		{"a deferred one", dead(status(StatusDeferred)), ActionRetry, Params{}, nil},
		{"one that is acted on", dead(status(StatusActing)), ActionRetry, Params{}, []ObstacleCode{BlockedBusy}},
		{"one that was retried", dead(status(StatusRetried)), ActionDiscard, Params{}, []ObstacleCode{BlockedStatus}},
		{"completed", dead(completed), ActionRetry, Params{}, []ObstacleCode{BlockedCompleted}},
		{"recorded, and followed by a newer message", dead(completed, newer), ActionRetry, Params{}, []ObstacleCode{BlockedCompleted, BlockedSuperseded}},
		{"its retry completed", dead(done("blog/1-1")), ActionRetry, Params{}, []ObstacleCode{BlockedCompleted, BlockedSuperseded}},
		{"another version completed", dead(done("blog/1-2")), ActionRetry, Params{}, []ObstacleCode{BlockedSuperseded}},
		{"another version is recorded and died", dead(diedToo), ActionRetry, Params{}, []ObstacleCode{BlockedSuperseded}},
		{"completed, forced", dead(completed), ActionRetry, Params{Force: true, ForceReason: "I looked"}, nil},
		{"superseded", dead(newer), ActionRetry, Params{}, []ObstacleCode{BlockedSuperseded}},
		{"superseded, forced", dead(newer), ActionRetry, Params{Force: true, ForceReason: "I looked"}, []ObstacleCode{BlockedSuperseded}},
		{"permanent", dead(class(Permanent, "impossible_task")), ActionRetry, Params{As: AsUnchanged}, []ObstacleCode{BlockedPermanent}},
		{"permanent, edited", dead(class(Permanent, "impossible_task")), ActionRetry, Params{As: AsEdited, Payload: json.RawMessage(`{"n":2}`)}, nil},
		{"permanent, another header", dead(class(Permanent, "impossible_task")), ActionRetry, Params{As: AsEdited, Headers: map[string]string{"X-Mine": "2"}}, nil},
		{"permanent, for another model", dead(class(Permanent, "impossible_task")), ActionRetry, Params{As: AsEdited, Model: "claude-opus-4-1"}, nil},
		{"permanent, edited without an edit", dead(class(Permanent, "impossible_task")), ActionRetry, Params{As: AsEdited}, []ObstacleCode{BlockedPermanent}},
		{
			"permanent, edited to what it was", dead(class(Permanent, "impossible_task")), ActionRetry,
			Params{As: AsEdited, Payload: json.RawMessage(`{"version":1,"taskId":"blog/1","assignee":"marketing","payload":{"n":1}}`), Headers: map[string]string{"X-Mine": "1"}},
			[]ObstacleCode{BlockedPermanent},
		},
		{"permanent, reassigned to its own agent", dead(class(Permanent, "impossible_task")), ActionReassign, Params{Agent: "marketing"}, []ObstacleCode{BlockedPermanent}},
		{"open is not reopened", dead(), ActionReopen, Params{}, []ObstacleCode{BlockedStatus}},
		{"discarded is reopened", dead(status(StatusDiscarded)), ActionReopen, Params{}, nil},
		{"retried is not reopened", dead(status(StatusRetried)), ActionReopen, Params{}, []ObstacleCode{BlockedStatus}},
		{"retried is reclassified", dead(status(StatusRetried)), ActionReclassify, Params{Category: Permanent}, nil},
		{"without a subject", dead(func(k *Known) { k.Entry.Subject = "" }), ActionRetry, Params{}, nil},
		{"without subject and type", dead(func(k *Known) { k.Entry.Subject, k.Entry.Type, k.Entry.Agent = "", "", "" }), ActionRetry, Params{}, []ObstacleCode{BlockedNoSubject}},
	} {
		v := previewOf(t, tt.k, Request{Action: tt.action, Params: tt.params})
		if got := codes(v.Blocked); !slices.Equal(got, tt.want) || v.Eligible != (len(tt.want) == 0) {
			t.Errorf("%s: blocked by %v, want %v", tt.name, v.Blocked, tt.want)
		}
	}
}

func TestAStepThatWasBegunAndNotEndedBlocksARetry(t *testing.T) {
	t.Parallel()
	said := func(kind lifecycle.Kind, change func(*lifecycle.Event)) lifecycle.Event {
		e := lifecycle.Event{Kind: kind, Provenance: kind.Row().Provenance, TaskID: "t1", Agent: "cto"}
		e.Detail.MsgID = "t1"
		change(&e)
		return e
	}
	step := func(kind lifecycle.Kind, id, class string) lifecycle.Event {
		return said(kind, func(e *lifecycle.Event) { e.Detail.StepID, e.Detail.StepClass = id, class })
	}
	const begun, done = lifecycle.ReportStepIntent, lifecycle.ReportStepReceipt
	stranger := said(done, func(e *lifecycle.Event) { e.Agent, e.Detail.StepID = "mallory", "s1" })
	logged := func(key, status string) lifecycle.Event {
		return said(lifecycle.EffectLogged, func(e *lifecycle.Event) { e.Detail.IdempotencyKey, e.Detail.Status = key, status })
	}
	keyed := said(begun, func(e *lifecycle.Event) { e.Detail.IdempotencyKey = "k1" })
	for name, tt := range map[string]struct {
		events []lifecycle.Event
		want   bool
	}{
		"nothing":                                  {nil, false},
		"a step":                                   {[]lifecycle.Event{step(begun, "s1", "unsafe")}, true},
		"steps that may be repeated":               {[]lifecycle.Event{step(begun, "s1", "keyed"), step(begun, "s2", "pure")}, false},
		"a step and its receipt":                   {[]lifecycle.Event{step(begun, "s1", ""), step(done, "s1", "")}, false},
		"a step and another's receipt":             {[]lifecycle.Event{step(begun, "s1", ""), step(done, "s2", "")}, true},
		"a message":                                {[]lifecycle.Event{step(lifecycle.ReportOutboundIntent, "", "")}, true},
		"a message that was sent":                  {[]lifecycle.Event{step(lifecycle.ReportOutboundIntent, "", ""), step(lifecycle.ReportOutboundSent, "", "")}, false},
		"a step, and another agent confirms it":    {[]lifecycle.Event{step(begun, "s1", "unsafe"), stranger}, true},
		"a step without a name, and a logged one":  {[]lifecycle.Event{step(begun, "", "unsafe"), logged("k9", "done")}, true},
		"a step that is logged":                    {[]lifecycle.Event{keyed, logged("k1", "done")}, false},
		"a step that is logged as not done yet":    {[]lifecycle.Event{keyed, logged("k1", "pending")}, true},
		"two steps without a name and one receipt": {[]lifecycle.Event{step(begun, "", "unsafe"), step(begun, "", "unsafe"), step(done, "", "")}, true},
	} {
		stored := lifecycle.Event{Kind: lifecycle.Published, Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}, TaskID: "t1", Agent: "cto"}
		stored.Detail.MsgID = "t1"
		all := append([]lifecycle.Event{stored}, tt.events...)
		f := lifecycle.NewFold()
		for i := range all {
			all[i].ID, all[i].At = lifecycle.NewEventID("step", fmt.Sprint(i)), lifecycle.Micros(1_000_000_000+i)
		}
		f.Assign(all)
		for _, e := range all {
			f.Add(e)
		}
		c := f.Changes()
		k := Known{Entry: Entry{Key: stored.Message}, Record: lifecycle.TaskRecord{Facts: *c.Tasks[0].Facts, Messages: []lifecycle.MessageFacts{*c.Messages[0].Facts}}}
		if got := k.effectsUnknown(); (got != "") != tt.want {
			t.Errorf("%s: %q, want a warning: %t", name, got, tt.want)
		}
	}
}

func TestWhatARequestMustSay(t *testing.T) {
	t.Parallel()
	long := int64(8 * 24 * time.Hour / time.Millisecond)
	for _, tt := range []struct {
		r       Request
		code    RefusalCode
		pointer string
	}{
		{Request{Action: "reboot", Reason: "because"}, RefusedAction, "/action"},
		{Request{Action: ActionRetry}, RefusedReason, "/reason"},
		{Request{Action: ActionRetry, Reason: " no "}, RefusedReason, "/reason"},
		{Request{Action: ActionRetry, Reason: strings.Repeat("x", 2001)}, RefusedReason, "/reason"},
		{Request{Action: ActionRetry, Params: Params{As: "is"}}, RefusedParameter, "/params/as"},
		{Request{Action: ActionRetry, Params: Params{Payload: []byte("{}")}}, RefusedParameter, "/params/as"},
		{Request{Action: ActionRetry, Params: Params{DelayMS: &long}}, RefusedParameter, "/params/delay_ms"},
		{Request{Action: ActionRetry, Params: Params{Force: true}}, RefusedParameter, "/params/force_reason"},
		{Request{Action: ActionRetry, Params: Params{As: AsEdited, Headers: map[string]string{"Nats-Msg-Id": "x"}}}, RefusedParameter, "/params/headers"},
		{Request{Action: ActionRetry, Params: Params{As: AsEdited, Headers: map[string]string{"x-task-id": "x"}}}, RefusedParameter, "/params/headers"},
		{Request{Action: ActionReassign}, RefusedAgent, "/params/agent"},
		{Request{Action: ActionReassign, Params: Params{Agent: "stranger"}}, RefusedAgent, "/params/agent"},
		{Request{Action: ActionDefer}, RefusedParameter, "/params/until"},
		{Request{Action: ActionDefer, Params: Params{Until: testNow}}, RefusedParameter, "/params/until"},
		{Request{Action: ActionDefer, Params: Params{Until: testNow + 1, To: ToHuman}}, RefusedParameter, "/params/until"},
		{Request{Action: ActionDiscard, Params: Params{Because: "tired"}}, RefusedParameter, "/params/because"},
		{Request{Action: ActionReclassify}, RefusedParameter, "/params/category"},
		{Request{Action: ActionReclassify, Params: Params{Category: Transient, Detail: ContextWindowOverflow}}, RefusedParameter, "/params/detail"},
	} {
		if tt.r.Reason == "" && tt.code != RefusedReason {
			tt.r.Reason = "because"
		}
		var got *Refusal
		if err := tt.r.check(DefaultPolicy(), testNow); !errors.As(err, &got) || got.Code != tt.code || got.Wrong[0].Pointer != tt.pointer {
			t.Errorf("%+v: %v, want %s at %s", tt.r, err, tt.code, tt.pointer)
		}
	}
}

func TestEveryActionHasItsEventAndItsStatus(t *testing.T) {
	t.Parallel()
	params := map[ActionKind]Params{ActionDefer: {To: ToHuman}, ActionReassign: {Agent: "cto"}, ActionReclassify: {Category: Permanent}}
	got := map[ActionKind]string{}
	for _, kind := range ActionKinds() {
		k := dead()
		if kind == ActionReopen {
			k.Entry.Status = StatusDiscarded
		}
		r := Request{Action: kind, Reason: "because", Params: params[kind], Key: "key"}
		d, a, err := k.decide(r, "act-1", "", previewOf(t, k, r), testNow)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil || a.Status.Ended() == kind.Sends() || len(d.Effects) != map[bool]int{true: 1}[kind.Sends()] {
			t.Errorf("%s: %v, action %s, %d effects", kind, err, a.Status, len(d.Effects))
		}
		e := d.Events[0]
		got[kind] = string(e.Kind) + " " + string(e.Detail.Outcome) + " " + string(d.Audit[0].After)
		back, err := readAction(*d.Action)
		if diff := cmp.Diff(a, back); diff != "" || err != nil {
			t.Errorf("%s: the action reads back as another one: %v\n%s", kind, err, diff)
		}
	}
	state := func(s string) string {
		return `{"status":"` + s + `","category":"transient","detail":"llm_provider_timeout"}`
	}
	want := map[ActionKind]string{
		ActionRetry: "decided  " + state("acting"), ActionReassign: "decided  " + state("acting"), ActionDefer: "triaged deferred " + state("deferred"),
		ActionDiscard: "triaged discarded " + state("discarded"), ActionQuarantine: "triaged quarantined " + state("quarantined"),
		ActionReopen: "reopened  " + state("open"), ActionReclassify: `classified  {"status":"open","category":"permanent"}`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}
