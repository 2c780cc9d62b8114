package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

var origin = fleet.ReportOrigin{Source: "OBS_REPORT", Seq: 9, At: 1_767_400_000_000_000, Agent: "backend"}

// report is a valid report with some attributes replaced; an empty value removes one. Values are JSON.
func report(replace ...string) string {
	attributes := map[string]string{
		"specversion": `"1.0"`, "id": `"r-1"`, "source": `"/agents/backend"`, "type": `"fleet.lifecycle.completed.v1"`, "subject": `"T-1"`,
		"time": `"2026-01-02T03:04:05.000006Z"`, "data": `{"message_id":"m-1","attempt":2,"result_ref":"s3://x"}`,
	}
	for i := 0; i < len(replace); i += 2 {
		if attributes[replace[i]] = replace[i+1]; replace[i+1] == "" {
			delete(attributes, replace[i])
		}
	}
	var parts []string
	for name, value := range attributes {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestAReportIsRead(t *testing.T) {
	t.Parallel()
	data := `{"message_id":"m-1","step_id":"s-1","attempt":2,"lease_owner":"w-1","lease_version":7,"lease_expires_at":"2026-01-02T03:09:05Z",
		"input_hash":"h1","canonical_input_hash":"h2","status":"completed","result_ref":"s3://x","tool":"git.push","step_class":"keyed",
		"idempotency_key":"k-1","model":"large","input_tokens":100,"output_tokens":20,"cost_usd":0.25,"records_ms":2.5,"reason":"fine","more":{"x":[1]}}`
	events, err := fleet.DecodeReports(nil, []byte(report("data", data)), origin)
	if err != nil {
		t.Fatal(err)
	}
	events[0].Raw = nil
	want := lifecycle.Event{
		ID: events[0].ID, At: 1767323045000006, Kind: lifecycle.ReportCompleted,
		Provenance: lifecycle.Reported, Source: "OBS_REPORT", SourceSeq: 9, TaskID: "T-1", Agent: "backend", Attempt: 2,
		Detail: lifecycle.Detail{
			Naming:        lifecycle.Naming{MsgID: "m-1", IdempotencyKey: "k-1"},
			Ending:        lifecycle.Ending{Reason: "fine"},
			LeaseReport:   lifecycle.LeaseReport{LeaseOwner: "w-1", LeaseVersion: 7, LeaseExpiresAt: 1767323345000000},
			StepReport:    lifecycle.StepReport{StepID: "s-1", InputHash: "h2", Tool: "git.push", StepClass: "keyed"},
			OutcomeReport: lifecycle.OutcomeReport{Status: "completed", ResultRef: "s3://x", HeardAt: origin.At, RecordsWait: 2500 * time.Microsecond},
			ModelUse:      lifecycle.ModelUse{Model: "large", InputTokens: 100, OutputTokens: 20, CostUSD: 0.25},
		},
	}
	if diff := cmp.Diff([]lifecycle.Event{want}, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryKindIsReadAsItself(t *testing.T) {
	t.Parallel()
	kinds := map[string]lifecycle.Kind{
		"ingress_acked": lifecycle.ReportIngressAcked, "claimed": lifecycle.ReportClaimed, "accepted": lifecycle.ReportAccepted,
		"heartbeat": lifecycle.ReportHeartbeat, "step_intent": lifecycle.ReportStepIntent, "step_receipt": lifecycle.ReportStepReceipt,
		"checkpoint": lifecycle.ReportCheckpoint, "completed": lifecycle.ReportCompleted, "failed": lifecycle.ReportFailed,
		"duplicate_caught": lifecycle.ReportDuplicateCaught, "publish_duplicate": lifecycle.ReportPublishDuplicate,
		"outbound_intent": lifecycle.ReportOutboundIntent, "outbound_sent": lifecycle.ReportOutboundSent,
	}
	for name, want := range kinds {
		events, err := fleet.DecodeReports(nil, []byte(report("type", `"fleet.lifecycle.`+name+`.v1"`)), origin)
		if err != nil || events[0].Kind != want {
			t.Errorf("%s: %v, error %v, want kind %s", name, events, err, want)
		}
	}
}

func TestWhatCloudEventsRequiresIsRequired(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, why string }{
		{"no specversion", report("specversion", ""), "specversion"},
		{"another specversion", report("specversion", `"9.9"`), "specversion"},
		{"the version before", report("specversion", `"0.3"`), "specversion"},
		{"no id", report("id", ""), "id"},
		{"empty id", report("id", `""`), "id"},
		{"no source", report("source", ""), "source"},
		{"no type", report("type", ""), "type"},
		{"another type", report("type", `"com.example.thing"`), "is not fleet.lifecycle."},
		{"unknown kind", report("type", `"fleet.lifecycle.juggled.v1"`), "known kind"},
		{"another version", report("type", `"fleet.lifecycle.completed.v2"`), "is not fleet.lifecycle."},
		{"a bare kind", report("type", `"completed"`), "is not fleet.lifecycle."},
		{"no subject", report("subject", ""), "subject"},
		{"blank subject", report("subject", `"  "`), "subject"},
		{"a time that is none", report("time", `"yesterday"`), "time"},
		{"nothing but a specversion", `{"specversion":"1.0"}`, "id: MUST be a non-empty string; source: REQUIRED; type: MUST be a non-empty string"},
		{"not JSON", "hello", "CloudEvent"},
		{"nothing", "", "CloudEvent"},
		{"null", "null", "CloudEvent"},
		{"a bad one in a batch", "[" + report() + "," + report("id", "") + "]", "report 2 of 2"},
		{"a batch that breaks off", "[" + report(), "batch"},
	}
	for _, tt := range tests {
		events, err := fleet.DecodeReports(nil, []byte(tt.body), origin)
		if err == nil || !strings.Contains(err.Error(), tt.why) || len(events) != 0 {
			t.Errorf("%s: %d events, error %v, want one about %q", tt.name, len(events), err, tt.why)
		}
	}
}

func TestDataIsReadLeniently(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`""`, `[]`, `7`, `{"attempt":"2","lease_version":-1,"cost_usd":"NaN","lease_expires_at":{},"input_tokens":1.5,"message_id":["x"]}`, "",
	} {
		events, err := fleet.DecodeReports(nil, []byte(report("data", data)), origin)
		if err != nil || len(events) != 1 {
			t.Errorf("data %s: %v", data, err)
			continue
		}
		if d := events[0].Detail; d.LeaseVersion != 0 || d.CostUSD != 0 || d.LeaseExpiresAt != 0 || d.InputTokens != 0 || d.MsgID != "" {
			t.Errorf("data %s was read as %+v", data, d)
		}
	}
}

func TestAWaitForRecordsIsReadLeniently(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"0.412": 412 * time.Microsecond, "3600000": time.Hour, `"7"`: 7 * time.Millisecond,
		"0": 0, "-1": 0, `"NaN"`: 0, `"Inf"`: 0, "3600000.1": 0, "1e300": 0, "null": 0, "true": 0, "[3]": 0, `"3 ms"`: 0, `""`: 0,
	} {
		events, err := fleet.DecodeReports(nil, []byte(report("data", `{"records_ms":`+value+`,"attempt":2}`)), origin)
		if err != nil || events[0].Detail.RecordsWait != want || events[0].Attempt != 2 {
			t.Errorf("%s: read as %s, attempt %d, %v; want %s", value, events[0].Detail.RecordsWait, events[0].Attempt, err, want)
		}
	}
}

func TestTimesAndAgentsOfReports(t *testing.T) {
	t.Parallel()
	nobody := origin
	nobody.Agent = ""
	tests := []struct {
		name, body string
		from       fleet.ReportOrigin
		at         lifecycle.Micros
		agent      string
	}{
		{"far in the past", report("time", `"1901-01-01T00:00:00Z"`), origin, -2177452800000000, "backend"},
		{"far in the future", report("time", `"2901-01-01T00:00:00Z"`), origin, origin.At, "backend"},
		{"completed in the future", report("time", "", "data", `{"completed_at":"9999-01-01T00:00:00Z"}`), origin, origin.At, "backend"},
		{"no time", report("time", ""), origin, origin.At, "backend"},
		{"no time, but when it completed", report("time", "", "data", `{"completed_at":1767323045000}`), origin, 1767323045000000, "backend"},
		{"the subject's agent comes first", report("source", `"/agents/cto"`), origin, 1767323045000006, "backend"},
		{"the source names the agent", report("source", `"/agents/cto"`), nobody, 1767323045000006, "cto"},
		{"the data names the agent", report("data", `{"agent":"cso"}`), nobody, 1767323045000006, "cso"},
		{"nobody names it", report("source", `"https://example.com"`), nobody, 1767323045000006, ""},
	}
	for _, tt := range tests {
		events, err := fleet.DecodeReports(nil, []byte(tt.body), tt.from)
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if events[0].At != tt.at || events[0].Agent != tt.agent {
			t.Errorf("%s: at %d by %q, want %d by %q", tt.name, events[0].At, events[0].Agent, tt.at, tt.agent)
		}
	}
}

func TestTheSameReportByTwoWaysIsOneEvent(t *testing.T) {
	t.Parallel()
	a, err1 := fleet.DecodeReports(nil, []byte(report()), origin)
	b, err2 := fleet.DecodeReports(nil, []byte("["+report("time", `"2026-01-02T04:04:05.000006+01:00"`)+"]"), fleet.ReportOrigin{Source: "http", At: 1_767_400_000_000_001})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if a[0].ID != b[0].ID || a[0].At != b[0].At || a[0].TaskID != b[0].TaskID {
		t.Errorf("%+v and %+v are two events", a[0], b[0])
	}
}

func TestTwoReportsUnderOneIdAreTwoEvents(t *testing.T) {
	t.Parallel()
	id := func(replace ...string) lifecycle.EventID {
		events, err := fleet.DecodeReports(nil, []byte(report(replace...)), origin)
		if err != nil {
			t.Fatal(err)
		}
		return events[0].ID
	}
	first := id()
	if id("data", `{"result_ref":"s3://x", "attempt":2, "message_id":"m-1", "sent_by":"a relay"}`) != first {
		t.Error("want one event of a report that is written otherwise")
	}
	for name, other := range map[string]lifecycle.EventID{
		"another kind":    id("type", `"fleet.lifecycle.failed.v1"`),
		"another attempt": id("data", `{"message_id":"m-1","attempt":3,"result_ref":"s3://x"}`),
		"another message": id("data", `{"message_id":"m-2","attempt":2,"result_ref":"s3://x"}`),
		"another cost":    id("data", `{"message_id":"m-1","attempt":2,"result_ref":"s3://x","cost_usd":1}`),
	} {
		if other == first {
			t.Errorf("%s: it is taken for the first one again, and lost", name)
		}
	}
}

func FuzzDecodeReports(f *testing.F) {
	f.Add([]byte(report()))
	f.Add([]byte("[" + report("id", `"a"`) + "," + report("data", "") + "]"))
	f.Add([]byte(`{"specversion":"1.0","id":"1","source":"a","type":"fleet.lifecycle.failed.v1","subject":"T","data_base64":"eyJ4IjoxfQ=="}`))
	f.Add([]byte(`{"specversion":"0.3","id":"1","source":"a","type":"fleet.lifecycle.failed.v1","subject":"T"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := fleet.DecodeReports(nil, body, origin)
		if err != nil && events != nil {
			t.Fatalf("events with error %v", err)
		}
		for _, e := range events {
			if e.TaskID == "" || e.Kind == "" || e.Attempt < 0 || e.Detail.CostUSD < 0 || e.Provenance != lifecycle.Reported {
				t.Errorf("event %+v", e)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		}
	})
}
