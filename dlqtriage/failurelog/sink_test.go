package failurelog

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"fleetglass/dlqtriage"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

var noon = lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// shelf is a store of entries, one on each page.
type shelf struct {
	entries []dlqtriage.Entry
	hours   []Hour
}

func (s *shelf) Entries(_ context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	at := 0
	for i, e := range s.entries {
		if p.From != nil && e.ID == p.From.ID {
			at = i + 1
		}
	}
	for ; at < len(s.entries); at++ {
		if e := s.entries[at]; e.FailedAt >= f.From {
			return dlqtriage.EntryPage{Entries: []dlqtriage.Entry{e}, Next: &dlqtriage.EntryCursor{FailedAt: e.FailedAt, ID: e.ID}}, nil
		}
	}
	return dlqtriage.EntryPage{}, nil
}

func (s *shelf) Hours(_ context.Context, from, to lifecycle.Micros) ([]Hour, error) {
	var out []Hour
	for _, h := range s.hours {
		if h.At >= from && h.At < to {
			out = append(out, h)
		}
	}
	return out, nil
}

func deadLetter(id string, at lifecycle.Micros) dlqtriage.Entry {
	return dlqtriage.Entry{
		ID: id, TaskID: "task-" + id, MessageID: "task-" + id, Agent: "marketing", Type: "content_creation", Path: dlqtriage.PathTerminated,
		Class:          dlqtriage.ClassOf("", dlqtriage.LLMProviderTimeout),
		Classification: dlqtriage.Classification{Rule: "provider-away", By: dlqtriage.ByRules}, Reason: "no first token", Deliveries: 3,
		FailedAt: at, Status: dlqtriage.StatusOpen,
	}
}

func newSink(t *testing.T, s *shelf, addr string) *Sink {
	t.Helper()
	sink, err := New(Config{
		Project: firestoretest.Project, Emulator: addr, Entries: s, Hours: s.Hours, Every: 20 * time.Millisecond,
		Now: func() time.Time { return noon.Time() },
	})
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// documents reads a collection.
func documents(t *testing.T, client *firestore.Client, collection string) map[string]map[string]any {
	t.Helper()
	found, err := client.Collection(collection).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, d := range found {
		out[d.Ref.ID] = d.Data()
	}
	return out
}

func TestDeadLettersAndHoursAreCopied(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	client := server.Client(t)
	s := &shelf{
		entries: []dlqtriage.Entry{deadLetter("TASKS:2", noon), deadLetter("TASKS:1", noon.Add(-time.Hour)), deadLetter("TASKS:0", noon.Add(-30*24*time.Hour))},
		hours: []Hour{
			{At: noon.Add(-2 * time.Hour), Messages: 200, Entries: 1, AutoResolved: 1, Median: 45 * time.Second}, {At: noon.Add(-time.Hour), Entries: 1},
		},
	}
	sink := newSink(t, s, server.Addr())
	if err := sink.Copy(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	got := documents(t, client, FailureCollection)
	want := map[string]any{
		"entryId": "TASKS:1", "taskId": "task-TASKS:1", "messageId": "task-TASKS:1", "agentId": "marketing", "type": "content_creation", "category": "transient",
		"detail": "llm_provider_timeout", "kind": "transient", "path": "terminated", "reason": "no first token", "rule": "provider-away", "classifiedBy": "rules",
		"deliveries": int64(3), "generation": int64(0), "failedAt": int64(noon.Add(-time.Hour)) / 1000, "date": "2026-11-20", "status": "open", "outcome": "",
		"resolvedAt": nil,
	}
	if diff := cmp.Diff(want, got["TASKS:1"]); diff != "" || len(got) != 2 {
		t.Errorf("%d documents, TASKS:1 (-want +got):\n%s", len(got), diff)
	}
	wantHours := map[string]map[string]any{
		"2026-11-20T10": {"hour": int64(noon.Add(-2*time.Hour)) / 1000, "date": "2026-11-20", "messages": int64(200), "entries": int64(1), "rate": 0.005,
			"autoResolved": int64(1), "humanRequired": int64(0), "medianResolutionMs": int64(45000)},
		"2026-11-20T11": {"hour": int64(noon.Add(-time.Hour)) / 1000, "date": "2026-11-20", "messages": int64(0), "entries": int64(1), "rate": nil,
			"autoResolved": int64(0), "humanRequired": int64(0), "medianResolutionMs": nil},
	}
	if diff := cmp.Diff(wantHours, documents(t, client, MetricsCollection)); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
}

func TestOnlyWhatChangedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	client := server.Client(t)
	s := &shelf{entries: []dlqtriage.Entry{deadLetter("TASKS:2", noon), deadLetter("TASKS:1", noon)}}
	sink := newSink(t, s, server.Addr())
	updates := func() (a, b time.Time) {
		if err := sink.Copy(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		docs, err := client.GetAll(t.Context(), []*firestore.DocumentRef{client.Doc("failure-log/TASKS:1"), client.Doc("failure-log/TASKS:2")})
		if err != nil {
			t.Fatal(err)
		}
		return docs[0].UpdateTime, docs[1].UpdateTime
	}
	one, two := updates()
	s.entries[1].Status, s.entries[1].Outcome, s.entries[1].ResolvedAt = dlqtriage.StatusRetried, dlqtriage.OutcomeResolved, noon
	oneAfter, twoAfter := updates()
	if !oneAfter.After(one) || !twoAfter.Equal(two) {
		t.Errorf("the one that changed: %v then %v; the other: %v then %v", one, oneAfter, two, twoAfter)
	}
	if got := documents(t, client, FailureCollection)["TASKS:1"]; got["outcome"] != "resolved" || got["resolvedAt"] != int64(noon)/1000 {
		t.Errorf("got %v", got)
	}
}

func TestAFailureIsSaidAndMadeUpFor(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	server.Fail("Commit", codes.PermissionDenied, 1000)
	sink := newSink(t, &shelf{entries: []dlqtriage.Entry{deadLetter("TASKS:1", noon)}}, server.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sink.Run(ctx) }()
	wait := func(state health.State, detail string) {
		testkit.Eventually(t, 20*time.Second, func() error {
			if p := sink.Health()[0]; p.State != state || !strings.Contains(p.Detail, detail) {
				return errUnlike(p)
			}
			return nil
		})
	}
	wait(health.Behind, "failure-log/TASKS:1")
	server.Heal()
	wait(health.OK, "")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := documents(t, server.Client(t), FailureCollection); len(got) != 1 {
		t.Errorf("documents %v", got)
	}
}

type errUnlike health.Part

func (e errUnlike) Error() string { return string(e.State) + ": " + e.Detail }

func TestALongReasonIsShortened(t *testing.T) {
	t.Parallel()
	e := deadLetter("TASKS:1", noon)
	e.Reason = strings.Repeat("é\xff", 20_000)
	_, doc := failure(e)
	text := doc["reason"].(string)
	if len(text) > maxReason+10 || strings.ToValidUTF8(text, "") != text || !strings.HasSuffix(text, "…") {
		t.Errorf("%d bytes", len(text))
	}
}
