package publishes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"fleetglass/collectors"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// published are the messages that the golden lines hold. The second one is a duplicate: an attempt, but not stored.
func published() []*nats.Msg {
	msg := func(subject, body string, headers ...string) *nats.Msg {
		m := nats.NewMsg(subject)
		m.Data = []byte(body)
		for i := 0; i < len(headers); i += 2 {
			m.Header.Add(headers[i], headers[i+1])
		}
		return m
	}
	full := []string{
		"Nats-Msg-Id", "T-1:r2", "X-Task-ID", "T-1", "X-Idempotency-Key", "T-1-v1", "X-Task-Type", "code_review", "X-Created-At",
		"2026-01-02T03:04:05Z", "X-Retry-Of", "TASKS:9", "X-Retry-Generation", "2", "X-Triage-Action", "act-1", "traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Custom", "one", "X-Custom", "two",
	}
	return []*nats.Msg{
		msg("genbrain.agents.backend.tasks.code_review", `{"taskId":"T-1","payload":{"title":"Review <b>it</b>"}}`, full...),
		msg("genbrain.agents.backend.tasks.code_review", `{"taskId":"T-1","payload":{"title":"Review <b>it</b>"}}`, full...),
		msg("genbrain.agents.cto.tasks.plan.q3.budget", `{"taskId":"T-2","version":4,"name":"Plan"}`),
		msg("genbrain.agents.cto.tasks.plan", "plain text"),
		msg("genbrain.agents.cto.tasks.plan", "\xff\xfe\x00binary", "Nats-Msg-Id", "bin-1"),
		msg("genbrain.agents.cto.tasks.plan", "", "Nats-Msg-Id", "empty-1"),
		msg("genbrain.agents.mal.tasks.x", "{}", "Nats-Msg-Id", "spoof-1", "Nats-Stream", "OTHER", "Nats-Sequence", "999",
			"Nats-Subject", "genbrain.agents.victim.tasks.y", "Nats-Time-Stamp", "2001-01-01T00:00:00Z", "nats-sequence", "7"),
	}
}

func publishAll(t *testing.T, s fleet.Streams) (pub, raw []testkit.Captured) {
	t.Helper()
	srv := testkit.BareBroker(t)
	testkit.Provision(t, srv, s)
	js := testkit.JetStream(t, srv)
	for _, m := range published() {
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	n := uint64(len(published()))
	return testkit.Capture(t, js, fleet.CapturePub, n-1), testkit.Capture(t, js, fleet.CaptureRaw, n)
}

func TestTheBrokerSendsTheGoldenLines(t *testing.T) {
	bodies, raw := publishAll(t, fleet.Streams{Contract: fleet.NewContract("")})
	headers, _ := publishAll(t, fleet.Streams{Contract: fleet.NewContract(""), Bodies: fleet.HeadersOnly})
	for file, got := range map[string][]testkit.Captured{"stored.lines.json": bodies, "headers.lines.json": headers, "attempts.lines.json": raw} {
		for i := range got {
			got[i].Body = strings.ToValidUTF8(got[i].Body, "?")
		}
		if testkit.Updating() {
			testkit.Golden(t, file, got)
			continue
		}
		var want []testkit.Captured
		testkit.LoadGolden(t, file, &want)
		if diff := cmp.Diff(forms(want), forms(got)); diff != "" {
			t.Errorf("%s: the broker sends other lines now (-golden +broker):\n%s", file, diff)
		}
	}
}

func forms(lines []testkit.Captured) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Form())
	}
	return out
}

func TestGoldenLinesDecode(t *testing.T) {
	t.Parallel()
	type result struct {
		Subject  string
		Events   []lifecycle.Event   `json:",omitempty"`
		Payloads []lifecycle.Payload `json:",omitempty"`
		Error    string              `json:",omitempty"`
	}
	for _, form := range []string{"stored", "headers", "attempts"} {
		var lines []testkit.Captured
		testkit.LoadGolden(t, form+".lines.json", &lines)
		var results []result
		for _, c := range lines {
			var b lifecycle.Batch
			err := decoder(form)(line(c), streams(), &b)
			r := result{Subject: c.Subject, Events: b.Events, Payloads: b.Payloads}
			if err != nil {
				r.Error = err.Error()
			}
			results = append(results, r)
		}
		testkit.Golden(t, form+".events.json", results)
	}
}

func decoder(form string) collectors.Decoder {
	if form == "attempts" {
		return publishes.DecodeAttempt
	}
	return func(l collectors.Line, s collectors.Streams, b *lifecycle.Batch) error {
		return publishes.Decode(l, s, 40, b)
	}
}

func streams() collectors.Streams { return collectors.Streams{Contract: fleet.NewContract("")} }

func line(c testkit.Captured) collectors.Line {
	return collectors.Line{
		Source: lifecycle.StreamID{Name: "OBS", Epoch: 1}, Seq: c.Seq, At: lifecycle.MicrosOf(c.Time), Subject: c.Subject,
		Headers: c.Headers, Body: []byte(c.Body),
	}
}

func TestLinesThatNoStreamRepublishedAreRefused(t *testing.T) {
	t.Parallel()
	good := map[string][]string{"Nats-Stream": {"TASKS"}, "Nats-Subject": {"genbrain.agents.a.tasks.t"}, "Nats-Sequence": {"7"},
		"Nats-Time-Stamp": {"2026-01-02T03:04:05.123456789Z"}}
	tests := []struct{ name, header, value, why string }{
		{"no stream", "Nats-Stream", "", "Nats-Stream"},
		{"stream with a slash", "Nats-Stream", "a/b", "stream name"},
		{"no subject", "Nats-Subject", "", "Nats-Subject"},
		{"no sequence", "Nats-Sequence", "", "Nats-Sequence"},
		{"sequence zero", "Nats-Sequence", "0", "stream sequence"},
		{"sequence beyond 2^53", "Nats-Sequence", "9007199254740993", "stream sequence"},
		{"sequence overflows", "Nats-Sequence", "18446744073709551616", "Nats-Sequence"},
		{"negative sequence", "Nats-Sequence", "-1", "Nats-Sequence"},
		{"no time", "Nats-Time-Stamp", "yesterday", "Nats-Time-Stamp"},
		{"stored after its line was captured", "Nats-Time-Stamp", "9999-01-01T00:00:00Z", "forged"},
		{"beyond the end of the stream", "Nats-Sequence", "8", "forged"},
	}
	for _, tt := range tests {
		headers := map[string][]string{}
		for k, v := range good {
			headers[k] = v
		}
		headers[tt.header] = []string{tt.value}
		var b lifecycle.Batch
		known := streams()
		known.LastSeq = map[string]collectors.LastSeq{"TASKS": {Seq: 7}}
		at := lifecycle.MicrosOf(time.Date(2026, 1, 2, 3, 4, 5, 200, time.UTC))
		err := publishes.Decode(collectors.Line{At: at, Subject: "obs.pub.a.t", Headers: headers}, known, 10, &b)
		if err == nil || !strings.Contains(err.Error(), tt.why) || !b.Empty() {
			t.Errorf("%s: error %v and batch %+v, want an error about %s", tt.name, err, b, tt.why)
		}
	}
}

func TestAnAttemptWithoutAnyIDAddsNothing(t *testing.T) {
	t.Parallel()
	var b lifecycle.Batch
	if err := publishes.DecodeAttempt(collectors.Line{Subject: "obs.raw.a.t", Body: []byte("hello")}, streams(), &b); err != nil || !b.Empty() {
		t.Errorf("error %v, batch %+v, want neither", err, b)
	}
	if err := publishes.DecodeAttempt(collectors.Line{Subject: "elsewhere.a.t", Body: []byte("hello")}, streams(), &b); err == nil {
		t.Error("a subject of another stream was taken")
	}
}

func FuzzDecode(f *testing.F) {
	for _, form := range []string{"stored", "headers", "attempts"} {
		var lines []testkit.Captured
		testkit.LoadGolden(f, form+".lines.json", &lines)
		for _, l := range lines {
			f.Add(form, l.Subject, headerText(l.Headers), []byte(l.Body))
		}
	}
	f.Fuzz(func(t *testing.T, form, subject, headers string, body []byte) {
		var b lifecycle.Batch
		err := decoder(form)(collectors.Line{Subject: subject, Headers: parseHeaders(headers), Body: body}, streams(), &b)
		if err != nil && !b.Empty() {
			t.Fatalf("a batch with error %v", err)
		}
		for _, e := range b.Events {
			if e.TaskID == "" || (form == "attempts") != e.Message.IsZero() {
				t.Errorf("event %+v", e)
			}
			if k, err := lifecycle.ParseMessageKey(e.Message.String()); !e.Message.IsZero() && (err != nil || k != e.Message) {
				t.Errorf("key %q does not read back: %v", e.Message, err)
			}
		}
		for _, p := range b.Payloads {
			if len(p.Body) > 40 || int64(len(p.Body)) > p.Size || p.Truncated != (int64(len(p.Body)) < p.Size) {
				t.Errorf("payload of %d bytes of %d, truncated %t", len(p.Body), p.Size, p.Truncated)
			}
		}
	})
}

func headerText(h map[string][]string) string {
	var b strings.Builder
	for name, values := range h {
		for _, v := range values {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.String()
}

func parseHeaders(text string) map[string][]string {
	out := map[string][]string{}
	for l := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(l, ": "); ok {
			out[name] = append(out[name], value)
		}
	}
	return out
}
