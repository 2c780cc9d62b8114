package idempotency_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/idempotency"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func line(key, body string, headers map[string][]string) collectors.Line {
	return collectors.Line{
		Source: lifecycle.StreamID{Name: "KV_task-idempotency", Epoch: 1}, Seq: 7, At: 1_700_000_000_000_000,
		Subject: "$KV.task-idempotency." + key, Headers: headers, Body: []byte(body),
	}
}

func TestRevisionsBecomeEvents(t *testing.T) {
	t.Parallel()
	record := `{"taskId":"T 1","agentId":"marketing","completedAt":1699999999000,"natsStreamSeq":5,"expiresAt":1700259199000,"payloadHash":"aa"}`
	for _, tc := range []struct {
		name    string
		line    collectors.Line
		want    lifecycle.Kind
		task    string
		nothing bool
		wrong   string
	}{
		{name: "completion under another's key", line: line("x", record, nil), wrong: "no worker looks for it"},
		{name: "completion", line: line("=VCAx", record, nil), want: lifecycle.CompletionRecorded, task: "T 1"},
		{name: "expired", line: line("=VCAx", "", map[string][]string{"Nats-Marker-Reason": {"MaxAge"}}), want: lifecycle.RecordExpired, task: "T 1"},
		{name: "deleted", line: line("T1", "", map[string][]string{"KV-Operation": {"DEL"}}), want: lifecycle.RecordDeleted, task: "T1"},
		{name: "purged", line: line("T1", "", map[string][]string{"KV-Operation": {"PURGE"}}), want: lifecycle.RecordDeleted, task: "T1"},
		{name: "reservation", line: line("T1", `{"taskId":"T1"}`, nil), nothing: true},
		{name: "reservation beside", line: line("T1/=held", `{"taskId":"T1","owner":"a","expiresAt":1700000000000}`, nil), nothing: true},
		{name: "reservation confirmed", line: line("T1/=held", `{"taskId":"T1","completion":`+record+`}`, nil), nothing: true},
		{name: "reservation released", line: line("T1/=2/=held", "", map[string][]string{"KV-Operation": {"DEL"}}), nothing: true},
		{name: "reservation expired", line: line("=VCAx/=held", "", map[string][]string{"Nats-Marker-Reason": {"MaxAge"}}), nothing: true},
		{name: "second version expired", line: line("T1/=2", "", map[string][]string{"Nats-Marker-Reason": {"MaxAge"}}), want: lifecycle.RecordExpired, task: "T1"},
		{name: "not JSON", line: line("T1", `oops`, nil), wrong: "idempotency record"},
		{name: "no task", line: line("T1", `{}`, nil), wrong: "no taskId"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var b lifecycle.Batch
			err := idempotency.DecodeKV(tc.line, collectors.Streams{}, &b)
			switch {
			case tc.wrong != "":
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("got error %v, want one about %q", err, tc.wrong)
				}
			case err != nil:
				t.Error(err)
			case tc.nothing:
				if len(b.Events) != 0 {
					t.Errorf("got %v, want no event", b.Events)
				}
			case len(b.Events) != 1 || b.Events[0].Kind != tc.want || b.Events[0].TaskID != tc.task:
				t.Errorf("got %+v, want one %s about %q", b.Events, tc.want, tc.task)
			}
		})
	}
}

func TestACompletionKeepsBothClocks(t *testing.T) {
	t.Parallel()
	var b lifecycle.Batch
	if err := idempotency.DecodeKV(line("T1", `{"taskId":"T1","completedAt":1600000000000}`, nil), collectors.Streams{}, &b); err != nil {
		t.Fatal(err)
	}
	e := b.Events[0]
	if e.At != 1_700_000_000_000_000 || e.Detail.CreatedAt != 1_600_000_000_000_000 {
		t.Errorf("got at %d, stated %d; want the broker's time and the agent's", e.At, e.Detail.CreatedAt)
	}
}

// A client may leave the end of a record to the broker, which deletes it then.
func TestARecordEndsWhenItsOwnTTLDoes(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	kv, err := js.KeyValue(t.Context(), fleet.BucketIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KV_"+fleet.BucketIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	const hour = lifecycle.Micros(3_600_000_000)
	for task, want := range map[string]struct {
		states, lasts lifecycle.Micros // Until when it says that it is kept, after it was stored, and until when it is; zero for no end.
		ttl           time.Duration
	}{
		"no end": {}, "by the broker alone": {ttl: time.Hour, lasts: hour}, "by its own word": {states: hour, lasts: hour},
		"sooner by the broker": {states: 2 * hour, ttl: time.Hour, lasts: hour}, "sooner by its own word": {states: hour, ttl: 2 * time.Hour, lasts: hour},
	} {
		stated := lifecycle.Micros(0)
		if want.states > 0 {
			stated = lifecycle.MicrosOf(time.Now()) + want.states
		}
		body := fmt.Sprintf(`{"taskId":%q,"completedAt":1600000000000,"expiresAt":%d}`, task, stated/1000)
		key := fleet.RecordKey(task, "")
		var options []jetstream.KVCreateOpt
		if want.ttl > 0 {
			options = append(options, jetstream.KeyTTL(want.ttl))
		}
		if _, err := kv.Create(t.Context(), key, []byte(body), options...); err != nil {
			t.Fatal(err)
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), "$KV."+fleet.BucketIdempotency+"."+key)
		if err != nil {
			t.Fatal(err)
		}
		l := line(key, body, m.Header)
		l.At = lifecycle.MicrosOf(m.Time)
		var b lifecycle.Batch
		if err := idempotency.DecodeKV(l, collectors.Streams{}, &b); err != nil {
			t.Fatal(err)
		}
		lasts := b.Events[0].Detail.ExpiresAt
		if lasts.Known() {
			lasts -= l.At
		}
		if off := lasts - want.lasts; off < -5_000_000 || off > 5_000_000 {
			t.Errorf("%s: kept for %d µs, want %d", task, lasts, want.lasts)
		}
	}
}

func FuzzDecodeKV(f *testing.F) {
	f.Add("T1", `{"taskId":"T1","completedAt":1600000000000}`, "")
	f.Add("=VCAx", "", "DEL")
	f.Fuzz(func(t *testing.T, key, body, op string) {
		var b lifecycle.Batch
		err := idempotency.DecodeKV(line(key, body, map[string][]string{"KV-Operation": {op}}), collectors.Streams{}, &b)
		if err == nil && len(b.Events) == 1 && b.Events[0].TaskID == "" {
			t.Error("an event names no task")
		}
	})
}
