package fleet_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"fleetglass/fleet"
	"fleetglass/lifecycle"

	"github.com/google/go-cmp/cmp"
)

var key = lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}

func headers(pairs ...string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

func TestTaskIDIsTheFirstThatExists(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		headers map[string][]string
		body    string
		want    string
	}{
		{"header first", headers("X-Task-ID", "h", "Nats-Msg-Id", "m"), `{"taskId":"p"}`, "h"},
		{"then payload", headers("Nats-Msg-Id", "m"), `{"taskId":"p"}`, "p"},
		{"then message id", headers("Nats-Msg-Id", "m"), `{}`, "m"},
		{"without its generation", headers("Nats-Msg-Id", "m:r3"), ``, "m"},
		{"but not without other suffixes", headers("Nats-Msg-Id", "m:rx"), ``, "m:rx"},
		{"nor a suffix that no retry has", headers("Nats-Msg-Id", "m:r01"), ``, "m:r01"},
		{"nor when nothing would remain", headers("Nats-Msg-Id", ":r1"), ``, ":r1"},
		{"then the key", nil, `{}`, "TASKS:7"},
		{"empty header", headers("X-Task-ID", "  "), `{"taskId":"p"}`, "p"},
		{"empty payload id", headers("Nats-Msg-Id", "m"), `{"taskId":""}`, "m"},
		{"header in other case", headers("x-task-id", "h"), `{"taskId":"p"}`, "h"},
		{"number", nil, `{"taskId":12345678901234567890}`, "12345678901234567890"},
		{"not an id", nil, `{"taskId":{"a":1}}`, "TASKS:7"},
		{"nor this", nil, `{"taskId":true,"x":null}`, "TASKS:7"},
		{"nested taskId is another one", nil, `{"payload":{"taskId":"inner"},"a":[{"taskId":"q"}]}`, "TASKS:7"},
		{"late in the body", nil, `{"a":[1,"}",{"b":"\"]"}],"payload":"x","taskId":"p"}`, "p"},
		{"last one counts", nil, `{"taskId":"a","taskId":"b"}`, "b"},
		{"escapes", nil, `{"task\u0049d":"a\u002fb"}`, "a/b"},
		{"byte order mark", nil, "\ufeff {\"taskId\":\"p\"}", "p"},
		{"broken off", nil, `{"taskId":"p","payload":{"title":"x`, "p"},
		{"array", nil, `[{"taskId":"p"}]`, "TASKS:7"},
		{"binary", nil, "\x00\x01{\xff", "TASKS:7"},
		{"control characters", headers("X-Task-ID", "a\x00b"), ``, "ab~" + fleet.Fingerprint([]byte("a\x00b"))[:12]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := fleet.ReadTask(tc.headers, []byte(tc.body), key).ID; got != tc.want {
				t.Errorf("headers %v, body %s: id %q, want %q", tc.headers, tc.body, got, tc.want)
			}
		})
	}
}

func TestEverythingATaskSays(t *testing.T) {
	t.Parallel()
	body := []byte(`{"taskId":"t-1","assignee":"cto","type":"code_review","version":2,"createdAt":1763650000123,
		"payload":{"repo":"x","description":"second best","title":" Review  the\nretry \u202epath "},"title":"outer"}`)
	got := fleet.ReadTask(headers(
		"Nats-Msg-Id", "t-1:r2", "X-Retry-Of", "TASKS:5", "X-Triage-Action", "act-9",
		"traceparent", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
	), body, key)
	want := fleet.Task{
		ID: "t-1", MsgID: "t-1:r2", IdempotencyKey: "t-1-2", Type: "code_review", Generation: 2, RetryOf: "TASKS:5", TriageAction: "act-9",
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Publisher: fleet.PublisherFleetglass, Title: "Review the retry path",
		CreatedAt: 1763650000123000, Size: int64(len(body)), PayloadHash: fleet.Fingerprint(body),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHeadersWinOverThePayload(t *testing.T) {
	t.Parallel()
	got := fleet.ReadTask(headers(
		"X-Task-Type", "deployment", "X-Idempotency-Key", "k", "X-Created-At", "2026-11-20T10:00:00.5Z", "X-Retry-Generation", "4", "Nats-Msg-Id", "m:r2",
		"traceparent", "nonsense", "Nats-Msg-Size", "99",
	), []byte(`{"type":"x","version":1,"createdAt":1}`), key)
	at := lifecycle.MicrosOf(time.Date(2026, 11, 20, 10, 0, 0, 5e8, time.UTC))
	if got.Type != "deployment" || got.IdempotencyKey != "k" || got.CreatedAt != at || got.Generation != 4 || got.TraceParent != "" || got.Size == 99 {
		t.Errorf("got %+v", got)
	}
}

// A retry has the headers of the message that died, that of its publisher too: who sent the retry is Fleetglass.
func TestThePublisherIsWhoSentTheMessage(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]map[string][]string{
		"": headers("X-Task-ID", "a"), "ceo": headers("x-publisher", " ceo\n"), fleet.PublisherFleetglass: headers("X-Publisher", "ceo", "X-Triage-Action", "act-1"),
	} {
		if got := fleet.ReadTask(h, nil, key).Publisher; got != want {
			t.Errorf("%v: %q published it, want %q", h, got, want)
		}
	}
}

func TestAHeadersOnlyCopyHasASizeAndNoFingerprint(t *testing.T) {
	t.Parallel()
	got := fleet.ReadTask(headers("Nats-Msg-Size", "5000"), nil, key)
	if got.Size != 5000 || got.PayloadHash != "" {
		t.Errorf("size %d, hash %q", got.Size, got.PayloadHash)
	}
}

func TestTitlesAreOneShortLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	for body, want := range map[string]string{
		`{"payload":{"name":"n","title":"t"}}`:        "t",
		`{"payload":{"topic":"p","x":1},"title":"o"}`: "p",
		`{"payload":"text","subject":"s"}`:            "s",
		`{"payload":{"title":"","topic":"p"}}`:        "p",
		`{"payload":{"title":"` + long + `"}}`:        strings.Repeat("é", 119) + "…",
		`{"payload":{"title":"<b>&amp;"}}`:            "<b>&amp;",
		`{"payload":{"title":["x"]}}`:                 "",
		"{\"title\":\"a\xffb\"}":                      "a\ufffdb",
	} {
		if got := fleet.ReadTask(nil, []byte(body), key).Title; got != want {
			t.Errorf("%.60s: title %q, want %q", body, got, want)
		}
	}
}

func TestLongIDsStayDistinct(t *testing.T) {
	t.Parallel()
	a := fleet.ReadTask(headers("X-Task-ID", strings.Repeat("x", 5000)+"a"), nil, key).ID
	b := fleet.ReadTask(headers("X-Task-ID", strings.Repeat("x", 5000)+"b"), nil, key).ID
	if a == b || len(a) > 200 || len(b) > 200 {
		t.Errorf("ids of %d and %d bytes, equal: %v", len(a), len(b), a == b)
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	const want = lifecycle.Micros(1763650000123456)
	for text, want := range map[string]lifecycle.Micros{
		"1763650000": 1763650000e6, "1763650000123": 1763650000123e3, "1763650000123456": want, "1763650000123456789": want,
		"1763650000.5": 17636500005e5, "2025-11-20T14:46:40.123456Z": want, "2025-11-20T15:46:40.123456+01:00": want,
		"": 0, "-5": 0, "yesterday": 0, "1e400": 0, "NaN": 0, "0": 0,
	} {
		if got := fleet.ParseInstant(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestHugeBodiesAreCheap(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	for name, body := range map[string][]byte{
		"deep":        append(bytes.Repeat([]byte("["), size/2), bytes.Repeat([]byte("]"), size/2)...),
		"deep object": []byte(`{"payload":` + strings.Repeat(`{"a":`, size/5)),
		"escapes":     []byte(`{"payload":"` + strings.Repeat(`\"`, size/2) + `","taskId":"last"}`),
		"binary":      bytes.Repeat([]byte{0, 255, '{'}, size/3),
		"open quote":  []byte(`{"` + strings.Repeat("x", size)),
		"members":     []byte("{" + strings.Repeat(`"title":"x",`, size/12) + `"taskId":"last"}`),
	} {
		began := time.Now()
		got := fleet.ReadTask(nil, body, key)
		// Generous for a busy machine; a quadratic reader would take hours.
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %s", name, took)
		}
		if strings.Contains(string(body[len(body)-20:]), "last") && got.ID != "last" {
			t.Errorf("%s: id %q, want the one at the end", name, got.ID)
		}
	}
}

func TestLimitHeadersKeepsTheContractsOwn(t *testing.T) {
	t.Parallel()
	h := headers("X-Task-ID", "t", "Nats-Msg-Id", "m", "Huge", strings.Repeat("x", 1<<20))
	for i := range 100 {
		h[fmt.Sprintf("A-%d", i)] = []string{"v"}
	}
	kept, dropped := fleet.LimitHeaders(h)
	if len(kept) != 64 || dropped != 39 || kept["X-Task-ID"] == nil || kept["Nats-Msg-Id"] == nil || kept["Huge"] != nil {
		t.Errorf("kept %d, dropped %d", len(kept), dropped)
	}
	small := headers("a", "b")
	if same, dropped := fleet.LimitHeaders(small); len(same) != 1 || dropped != 0 {
		t.Errorf("small headers changed: %v", same)
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	c := fleet.NewContract("acme.prod")
	for subject, want := range map[string][3]string{
		c.TaskSubject("cto", "code_review"):          {"cto", "code_review", "ok"},
		c.TaskSubject("cto", "code.review.go"):       {"cto", "code.review.go", "ok"},
		"acme.prod.agents.cto.tasks.":                {},
		"acme.prod.agents.cto.tasks":                 {},
		"acme.prod.agents..tasks.x":                  {},
		"acme.prod.agents.a.b.tasks.x":               {},
		"acme.production.agents.cto.tasks.x":         {},
		"genbrain.agents.cto.tasks.x":                {},
		"":                                           {},
		"acme.prod.agents.tasks.tasks.tasks":         {"tasks", "tasks", "ok"},
		"acme.prod.agents.agent-ü.tasks.日本.<script>": {"agent-ü", "日本.<script>", "ok"},
	} {
		agent, taskType, ok := c.ParseTaskSubject(subject)
		if got := [3]string{agent, taskType, map[bool]string{true: "ok"}[ok]}; got != want {
			t.Errorf("%q: %q, want %q", subject, got, want)
		}
	}
	if got := fleet.AgentOfWorker(fleet.WorkerName("cto")); got != "cto" {
		t.Errorf("agent of worker: %q", got)
	}
	if got := fleet.AgentOfWorker("cto-other"); got != "" {
		t.Errorf("agent of a consumer that is no worker: %q", got)
	}
}

func TestSubjectMatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.*.c", "a.b.c", true}, {"a.>", "a.b.c", true}, {"a.>", "a", false}, {"a.b", "a.b.c", false}, {"a.b.c", "a.b", false},
		{">", "x", true}, {"a.*", "a.b.c", false}, {"a.b", "a.b", true},
	} {
		if got := fleet.SubjectMatches(tc.pattern, tc.subject); got != tc.want {
			t.Errorf("%s over %s: %v", tc.pattern, tc.subject, got)
		}
	}
}

func FuzzReadTask(f *testing.F) {
	for _, body := range []string{
		`{"taskId":"t-1","type":"x","payload":{"title":"Review"},"version":1,"createdAt":1763650000}`, `{"taskId":""}`, `{"taskId":-0e9}`,
		`{`, `{"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[[[[`, "\x00\xff", `{"payload":{"title":"\ud800"}}`, `{"title":"<script>"}`, "\ufeff{}",
	} {
		f.Add("X-Task-ID", "", "m:r1", []byte(body))
		f.Add("x-retry-generation", "-1", "", []byte(body))
	}
	f.Add("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "\x00", []byte{})
	f.Fuzz(func(t *testing.T, name, value, msgID string, body []byte) {
		h := headers("Nats-Msg-Id", msgID, name, value)
		task := fleet.ReadTask(h, body, key)
		if diff := cmp.Diff(task, fleet.ReadTask(h, body, key)); diff != "" {
			t.Fatalf("not pure: %s", diff)
		}
		if task.ID == "" || len(task.ID) > 200 || task.Generation < 0 {
			t.Fatalf("id %q, generation %d", task.ID, task.Generation)
		}
		for _, text := range []string{task.ID, task.MsgID, task.IdempotencyKey, task.Type, task.RetryOf, task.TriageAction, task.TraceParent, task.Publisher, task.Title} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || utf8.RuneCountInString(text) > 256 {
				t.Fatalf("unfit text %q", text)
			}
		}
		if utf8.RuneCountInString(task.Title) > 120 {
			t.Fatalf("title of %d runes", utf8.RuneCountInString(task.Title))
		}
	})
}
