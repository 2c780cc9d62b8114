package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// tellRetry tells of a task whose first attempt fell silent and whose second was acknowledged, published three times.
func tellRetry(f *fixture) {
	f.worker("marketing")
	tried := lifecycle.Event{Kind: lifecycle.PublishAttempted, TaskID: "blog", Agent: "marketing", Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "blog"}}}
	f.tell(tried)
	f.published("blog", "marketing", 7)
	f.tell(tried)
	f.tell(tried)
	f.pass(10 * time.Second)
	f.delivered("blog", "marketing", 7, 1)
	f.pass(30 * time.Second)
	f.delivered("blog", "marketing", 7, 2)
	f.pass(20 * time.Second)
	f.did(lifecycle.Acked, "blog", "marketing", 7, 2)
	f.commit()
}

func TestATraceTellsTheStory(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		tellRetry(f)
		got := get[Trace](f, "/api/v1/tasks/blog")
		if got.State != "completed" || got.Attempts != 2 || got.MaxDeliver != 3 || got.CompletedAt == 0 || got.Lease.Value != nil {
			t.Errorf("trace = %+v", got)
		}
		if got.WaitingMS < 10_000 || got.WaitingMS > 11_000 || got.RunningMS < 50_000 || got.RunningMS > 51_000 {
			t.Errorf("waiting %d ms, running %d ms", got.WaitingMS, got.RunningMS)
		}
		if got.Duplicates.CaughtByStream != 2 || len(got.Duplicates.Publishes) != 1 || got.Duplicates.Publishes[0].Attempts != 3 {
			t.Errorf("duplicates = %+v", got.Duplicates)
		}
		if got.Boundaries.IngressAckedAt == 0 || got.Boundaries.DispatchedAt == 0 || got.Boundaries.AcceptedAt != 0 || got.Boundaries.CompletedAt != 0 {
			t.Errorf("boundaries = %+v: an acknowledgement is neither acceptance nor completion", got.Boundaries)
		}
		ends := []string{}
		for _, a := range got.Messages[0].Attempts {
			ends = append(ends, a.End)
		}
		if diff := cmp.Diff([]string{"timed_out", "acked"}, ends); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		for name, a := range map[string]Answer{"ownership": got.Answers.Ownership, "last receipt": got.Answers.LastReceipt, "recovery": got.Answers.Recovery} {
			if a.Text == "" || a.Provenance == "" {
				t.Errorf("%s = %+v", name, a)
			}
		}
		if got.Links.Self != "/api/v1/tasks/blog" {
			t.Errorf("links = %+v", got.Links)
		}
	})
}

func TestNoBoundaryIsCrossedBeforeTheMessageWasStored(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("blog", "marketing", 7)
		f.delivered("blog", "marketing", 7, 1)
		stored := f.batch.Events[0]
		early, heard := stored.At.Add(-time.Hour), stored.At.Add(9*time.Second)
		for _, e := range []lifecycle.Event{
			{Kind: lifecycle.ReportAccepted}, {Kind: lifecycle.ReportOutboundSent}, {Kind: lifecycle.ReportCompleted, Detail: lifecycle.Detail{OutcomeReport: lifecycle.OutcomeReport{HeardAt: heard}}},
		} {
			e.TaskID, e.Agent, e.Provenance, e.Attempt = "blog", "marketing", lifecycle.Reported, 1
			f.tell(e)
			f.batch.Events[len(f.batch.Events)-1].At = early
		}
		f.commit()
		got := get[Trace](f, "/api/v1/tasks/blog")
		want := Boundaries{IngressAckedAt: Instant(stored.At), AcceptedAt: Instant(stored.At), SentAt: Instant(stored.At), CompletedAt: Instant(heard), DispatchedAt: got.Boundaries.DispatchedAt}
		if got.Boundaries != want || got.CompletedAt != Instant(heard) || got.StateSince != Instant(heard) || got.Answers.LastReceipt.At != Instant(heard) {
			t.Errorf("boundaries %+v, state %s since %d, last receipt %+v", got.Boundaries, got.State, got.StateSince, got.Answers.LastReceipt)
		}
	})
}

func TestReportsAndRecordsFillTheBoundaries(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.published("blog", "marketing", 7)
		f.delivered("blog", "marketing", 7, 1)
		accepted := f.tell(lifecycle.Event{Kind: lifecycle.ReportAccepted, TaskID: "blog", Provenance: lifecycle.Reported, Attempt: 1})
		recorded := f.tell(lifecycle.Event{
			Kind: lifecycle.CompletionRecorded, TaskID: "blog", Agent: "marketing", Provenance: lifecycle.Recorded,
			Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: "blog-1", PayloadHash: "ab12"}},
		})
		sent := f.tell(lifecycle.Event{Kind: lifecycle.ReportOutboundSent, TaskID: "blog", Provenance: lifecycle.Reported, Attempt: 1})
		f.commit()
		got := get[Trace](f, "/api/v1/tasks/blog")
		b := got.Boundaries
		if b.AcceptedAt != Instant(accepted.At) || b.CompletedAt != Instant(recorded.At) || b.SentAt != Instant(sent.At) || got.CompletedAt != Instant(recorded.At) {
			t.Errorf("boundaries = %+v", b)
		}
		if got.State != "completing" || got.Idempotency.Value == nil || got.Idempotency.Value.Key != "blog-1" {
			t.Errorf("state %s, idempotency %+v", got.State, got.Idempotency.Value)
		}
	})
}

func TestARecordThatIsGoneIsToldSo(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		tell := func(kind lifecycle.Kind) Instant {
			e := f.tell(lifecycle.Event{Kind: kind, TaskID: "blog", Provenance: lifecycle.Recorded, Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: "blog-1"}}})
			f.commit()
			return Instant(e.At)
		}
		gone := func() Instant { return get[Trace](f, "/api/v1/tasks/blog").Idempotency.Value.GoneAt }
		f.published("blog", "marketing", 7)
		tell(lifecycle.CompletionRecorded)
		if got := gone(); got != 0 {
			t.Errorf("the record is there, and gone since %d", got)
		}
		if deleted := tell(lifecycle.RecordDeleted); gone() != deleted {
			t.Errorf("the record is gone since %d, want %d", gone(), deleted)
		}
		tell(lifecycle.CompletionRecorded)
		if got := gone(); got != 0 {
			t.Errorf("the record was written again, and is gone since %d", got)
		}
	})
}

func TestTasksThatAreNotThereAreNotFound(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for _, path := range []string{"", "/events", "/payload", "/report"} {
			f.refused(f.do("GET", "/api/v1/tasks/none"+path, ""), 404, "not_found")
			f.refused(f.do("GET", "/api/v1/tasks/%ff%00%80"+path, ""), 404, "not_found")
		}
		f.refused(f.do("GET", "/api/v1/agents/none", ""), 404, "not_found")
	})
}

// Ids are any text; their links must lead back to them.
func oddIDs() []string {
	return []string{
		"a/b", "a%2Fb", "100%", "a b+c", "counts", "ü/日本", "a?b#c", "TASKS:12", `"><script>`, "a;b=c&d", "events", "../x", "a\nb", "%63ounts",
	}
}

func TestAnyIDIsOnePathSegment(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i, id := range oddIDs() {
			f.published(id, "cto", uint64(i+1))
		}
		f.commit()
		for _, row := range get[List[TaskRow]](f, "/api/v1/tasks").Data {
			if got := get[Trace](f, row.Links.Self); got.TaskID != row.TaskID {
				t.Errorf("%s led to %q, want %q", row.Links.Self, got.TaskID, row.TaskID)
			}
			if got := get[List[Event]](f, row.Links.Events); len(got.Data) != 1 {
				t.Errorf("%s: %d events", row.Links.Events, len(got.Data))
			}
			if got := get[Payload](f, row.Links.Payload); got.TaskID != row.TaskID || got.Body != "{}" {
				t.Errorf("%s: %+v", row.Links.Payload, got)
			}
		}
	})
}

func TestEventsComeInCausalOrderAndPages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		// The worker's clock is an hour behind: its heartbeat seems older than the publish.
		f.published("blog", "marketing", 7)
		early := f.did(lifecycle.Heartbeat, "blog", "marketing", 7, 1)
		for i := range f.batch.Events {
			if f.batch.Events[i].ID == early.ID {
				f.batch.Events[i].At = early.At.Add(-time.Hour)
			}
		}
		f.did(lifecycle.Acked, "blog", "marketing", 7, 1, func(e *lifecycle.Event) { e.Raw = []byte{0xff, 0x00, '\n', 0x80} })
		f.commit()
		list := get[List[Event]](f, "/api/v1/tasks/blog/events")
		kinds := []string{}
		for _, e := range list.Data {
			kinds = append(kinds, e.Kind)
		}
		if diff := cmp.Diff([]string{"published", "heartbeat", "acked"}, kinds); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		beat, ack := list.Data[1], list.Data[2]
		if beat.RawEncoding != "utf-8" || beat.Raw == nil || !strings.HasPrefix(*beat.Raw, "$JS.ACK.TASKS") || beat.Provenance != "observed" || beat.ConsumerSeq != 71 {
			t.Errorf("heartbeat = %+v", beat)
		}
		if raw, err := base64.StdEncoding.DecodeString(*ack.Raw); ack.RawEncoding != "base64" || err != nil || string(raw) != "\xff\x00\n\x80" {
			t.Errorf("raw = %v %s %v", *ack.Raw, ack.RawEncoding, err)
		}
		if list.Data[0].Raw != nil || list.Data[0].Data.MessageID != "blog" || list.Data[0].Summary != "The stream stored the message: from here on it survives every crash of a publisher or worker." {
			t.Errorf("published = %+v", list.Data[0])
		}
		first := get[List[Event]](f, "/api/v1/tasks/blog/events?limit=2")
		second := get[List[Event]](f, "/api/v1/tasks/blog/events?limit=2&cursor="+string(first.Page.Next))
		back := get[List[Event]](f, "/api/v1/tasks/blog/events?limit=2&cursor="+string(second.Page.Prev))
		if diff := cmp.Diff(list.Data, append(first.Data, second.Data...)); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(first.Data, back.Data); diff != "" {
			t.Errorf("back (-want +got):\n%s", diff)
		}
		if second.Page.Next != "" || back.Page.Prev != "" {
			t.Errorf("ends = %+v %+v", second.Page, back.Page)
		}
	})
}

func TestEveryKindOfEventHasASentence(t *testing.T) {
	t.Parallel()
	for _, row := range lifecycle.Kinds() {
		e := lifecycle.Event{Kind: row.Kind}
		if got := summaryOf(e); got != row.Meaning {
			t.Errorf("%s: %q, want %q", row.Kind, got, row.Meaning)
		}
		e.Attempt = 2
		if got := summaryOf(e); !strings.EqualFold(got, "Attempt 2: "+row.Meaning) || got == "Attempt 2: "+row.Meaning {
			t.Errorf("%s: %q", row.Kind, got)
		}
	}
	nak := lifecycle.Event{Kind: lifecycle.Nacked, Attempt: 1, Detail: lifecycle.Detail{Ending: lifecycle.Ending{Delay: 2 * time.Second}}}
	if got, want := summaryOf(nak), "Attempt 1: the worker handed the message back, to be delivered again after 2s."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := summaryOf(lifecycle.Event{Kind: "novel"}); got != "An observation of the kind novel." {
		t.Errorf("got %q", got)
	}
}

func TestPayloads(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		html := []byte("<html>\xff<script>alert(1)</script>")
		f.published("blog", "marketing", 7)
		f.published("blog", "marketing", 9, func(e *lifecycle.Event) { e.Detail.Generation = 1 })
		f.batch.Payloads[1].Body, f.batch.Payloads[1].Size, f.batch.Payloads[1].Truncated = html, 999, true
		f.batch.Payloads[1].Headers = map[string][]string{"X-Odd": {"<b>", "two"}}
		f.commit()
		newest := get[Payload](f, "/api/v1/tasks/blog/payload")
		body, err := base64.StdEncoding.DecodeString(newest.Body)
		if err != nil || string(body) != string(html) || newest.BodyEncoding != "base64" || newest.Seq != 9 || !newest.Truncated || newest.SizeBytes != 999 {
			t.Errorf("newest = %+v", newest)
		}
		if diff := cmp.Diff(map[string][]string{"X-Odd": {"<b>", "two"}}, newest.Headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if older := get[Payload](f, "/api/v1/tasks/blog/payload?stream=TASKS&seq=7"); older.Body != "{}" || older.BodyEncoding != "utf-8" {
			t.Errorf("older = %+v", older)
		}
		raw := f.do("GET", "/api/v1/tasks/blog/payload", "", "Accept", "application/octet-stream")
		want := map[string]string{
			"Content-Type": "application/octet-stream", "Content-Disposition": `attachment; filename="payload-9.bin"`,
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox", "X-Truncated": "true",
		}
		for name, value := range want {
			if got := raw.header.Get(name); got != value {
				t.Errorf("%s = %q, want %q", name, got, value)
			}
		}
		if string(raw.body) != string(html) {
			t.Errorf("raw = %q", raw.body)
		}
		f.refused(f.do("GET", "/api/v1/tasks/blog/payload?seq=7", ""), 400, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/tasks/blog/payload?stream=TASKS&seq=-1", ""), 400, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/tasks/blog/payload?stream=TASKS&seq=8", ""), 404, "not_found")
	})
}

func TestThePayloadOfATaskWithoutAMessageIsNotFound(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.tell(lifecycle.Event{Kind: lifecycle.PublishAttempted, TaskID: "lost", Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "lost"}}})
		f.tell(lifecycle.Event{Kind: lifecycle.NotStored, TaskID: "lost", Provenance: lifecycle.Inferred})
		f.commit()
		f.refused(f.do("GET", "/api/v1/tasks/lost/payload", ""), 404, "not_found")
		if got := get[Trace](f, "/api/v1/tasks/lost"); len(got.Messages) != 0 || got.State != "outcome_unknown" {
			t.Errorf("trace = %+v", got)
		}
	})
}

func TestTheReportIsMarkdownOrJSON(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		tellRetry(f)
		for accept, isJSON := range map[string]bool{
			"": false, "*/*": false, "text/markdown": false, "application/json": true, "application/json;q=0.5, text/markdown": false,
			"text/*;q=0.1, application/json": true, "application/json;q=nonsense": false, "text/html, */*;q=0.8": false,
		} {
			a := f.do("GET", "/api/v1/tasks/blog/report", "", "Accept", accept)
			if a.status != http.StatusOK || (a.header.Get("Content-Type") == "application/json") != isJSON || a.header.Get("Vary") != "Accept" {
				t.Errorf("Accept %q: %d %v", accept, a.status, a.header)
			}
		}
		text := string(f.do("GET", "/api/v1/tasks/blog/report", "").body)
		if !strings.HasPrefix(text, "# Task `blog`") {
			t.Errorf("markdown = %s", text)
		}
		report := get[RecoveryReport](f, "/api/v1/tasks/blog/report", "Accept", "application/json")
		if report.TaskID != "blog" || report.Trace.State != "completed" || !strings.HasPrefix(report.Markdown, "# Task `blog`") || report.Recommendation.Value != nil {
			t.Errorf("report = %+v", report)
		}
	})
}

func TestATaskOfThousandsOfEventsIsWalkedWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.published("long", "cto", 1)
	for i := range maxCausal + 100 {
		f.did(lifecycle.Heartbeat, "long", "cto", 1, i/500+1)
	}
	f.commit()
	seen := map[string]bool{}
	target := "/api/v1/tasks/long/events?limit=200"
	for pages := 0; target != ""; pages++ {
		a := f.do("GET", target, "")
		if a.status != 200 || pages > 100 {
			t.Fatalf("page %d: %d %s", pages, a.status, a.body)
		}
		for _, e := range parse[List[Event]](t, a.body).Data {
			if seen[e.ID] {
				t.Fatalf("event %s twice", e.ID)
			}
			seen[e.ID] = true
		}
		target = linkOf(a.header.Get("Link"), "next")
	}
	if len(seen) != maxCausal+101 {
		t.Errorf("walked %d events, want %d", len(seen), maxCausal+101)
	}
}

func TestACursorWhoseEventIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.published("a", "cto", 1)
	f.commit()
	path := "/api/v1/tasks/a/events"
	gone := query.Cursor{At: 1, Key: fmt.Sprintf("%016x", 1)}.Encode(query.Binding(path, nil))
	f.refused(f.do("GET", path+"?cursor="+gone, ""), 400, "invalid_cursor")
}

// A name that cannot be a key is kept in another form; who knows the task by its name finds it all the same.
func TestATaskIsFoundUnderTheNameThatItsPublisherGaveIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for i, name := range []string{"tab\tin", "\u202eevil", strings.Repeat("x", 300), " blank before", "a/b%2F"} {
		kept := fleet.TaskName(name)
		f.published(kept, "cto", uint64(i+1))
		f.commit()
		path := "/api/v1/tasks/" + url.PathEscape(name)
		if got := get[Trace](f, path); got.TaskID != kept {
			t.Errorf("%.20q: task %q, want %q", name, got.TaskID, kept)
		}
		if got := get[List[Event]](f, path+"/events"); len(got.Data) == 0 {
			t.Errorf("%.20q: no events", name)
		}
	}
	f.refused(f.do("GET", "/api/v1/tasks/tab%09out", ""), http.StatusNotFound, "not_found")
}
