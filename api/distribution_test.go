package api

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// The distribution that was published of a fleet of 7 agents (SPEC 5): 118 dead letters of 26,147 messages in 11 months; 61, 22, 14 and 3 % by path;
// 72, 29 and 17 by category, with their details; 81 % resolved without a person, in 12 minutes, and in 4.2 hours with one.
const (
	publishedMessages = 26_147
	publishedMonths   = 11
	publishedByHuman  = 22 // Of 118: 96, that is 81 %, needed nobody.
)

var publishedDetails = []struct {
	detail string
	n      int
}{
	{dlqtriage.LLMProviderTimeout, 31}, {dlqtriage.LLMProviderRateLimit, 18}, {dlqtriage.GitHubAPIRateLimit, 9}, {dlqtriage.NetworkTransient, 8},
	{dlqtriage.NodePreemption, 6}, {dlqtriage.ContextWindowOverflow, 17}, {dlqtriage.HallucinationLoop, 5}, {dlqtriage.TokenBudgetExceeded, 4},
	{dlqtriage.ModelConfusion, 3}, {dlqtriage.AuthorityExceeded, 7}, {dlqtriage.ImpossibleTask, 4}, {dlqtriage.DependencyUnavailable, 3},
	{dlqtriage.DataIntegrity, 3},
}

var publishedPaths = map[dlqtriage.Path]int{
	dlqtriage.PathMaxDeliveries: 72, dlqtriage.PathTerminated: 26, dlqtriage.PathContextOverflow: 17, dlqtriage.PathFilterRejected: 3,
}

// field tells the story of that fleet.
type field struct {
	*fixture
	begin lifecycle.Micros // Of the first month.
	seq   uint64
	paths []dlqtriage.Path // Of the entries that are no overflow, in the order in which they are dealt.
	died  int
}

func (f *fixture) theField() *field {
	now := f.now.Time()
	begin := time.Date(now.Year(), now.Month()-publishedMonths, 1, 0, 0, 0, 0, time.UTC)
	w := &field{fixture: f, begin: lifecycle.MicrosOf(begin)}
	for _, p := range []dlqtriage.Path{dlqtriage.PathMaxDeliveries, dlqtriage.PathTerminated, dlqtriage.PathFilterRejected} {
		for range publishedPaths[p] {
			w.paths = append(w.paths, p)
		}
	}
	return w
}

// at is the time of the n-th message: spread evenly over the months.
func (w *field) at(n int) lifecycle.Micros {
	end := lifecycle.MicrosOf(w.begin.Time().AddDate(0, publishedMonths, 0))
	return w.begin + (end-w.begin)*lifecycle.Micros(n)/publishedMessages
}

// say tells something that happened at a time.
func (w *field) say(at lifecycle.Micros, e lifecycle.Event) {
	w.lines++
	e.At, e.Source, e.SourceSeq, e.ID = at, "OBS_TEST", w.lines, lifecycle.NewEventID("field", strconv.FormatUint(w.lines, 10))
	e.Provenance = lifecycle.Observed
	w.batch.Events = append(w.batch.Events, e)
}

// publish tells that a message of a task was stored, and returns it.
func (w *field) publish(at lifecycle.Micros, task string, of lifecycle.MessageKey) lifecycle.Event {
	w.seq++
	e := lifecycle.Event{Kind: lifecycle.Published, TaskID: task, Message: inTasks(w.seq), Agent: "marketing"}
	e.Detail.Naming = lifecycle.Naming{MsgID: task, Type: "content_creation", Subject: "genbrain.agents.marketing.tasks.content_creation", IdempotencyKey: task + "-1"}
	if !of.IsZero() {
		e.Detail.MsgID, e.Detail.RetryOf, e.Detail.Generation = task+":r1", of.String(), 1
	}
	w.say(at, e)
	return lifecycle.Event{TaskID: task, Message: e.Message, Agent: e.Agent}
}

// dies tells that a message died of a detail, and what somebody did about it.
func (w *field) dies(at lifecycle.Micros, m lifecycle.Event, detail string) {
	path := dlqtriage.PathContextOverflow
	if detail != dlqtriage.ContextWindowOverflow {
		path, w.paths = w.paths[0], w.paths[1:]
	}
	w.ends(at, m, path, detail)
	class, _ := dlqtriage.DetailNamed(detail)
	c := m
	c.Kind = lifecycle.Classified
	c.Detail.Category, c.Detail.CategoryDetail, c.Detail.CauseKind = string(class.Category), detail, string(class.Kind)
	c.Detail.Rule, c.Detail.Actor = "names-its-detail", dlqtriage.ByRules
	w.say(at+1, c)
	via, took := "auto", 12*time.Minute
	if w.died >= 118-publishedByHuman {
		via, took = "page", 252*time.Minute
	}
	w.died++
	w.resolved(at, m, via, took)
}

// ends tells how a message came to its end.
func (w *field) ends(at lifecycle.Micros, m lifecycle.Event, path dlqtriage.Path, detail string) {
	e := m
	e.Detail.Reason = detail + ": what happened"
	switch path {
	case dlqtriage.PathFilterRejected:
		e.Kind, e.Detail.Reason = lifecycle.Orphaned, ""
		w.say(at, e)
		return
	case dlqtriage.PathMaxDeliveries:
		e.Kind, e.Consumer, e.Attempt = lifecycle.MaxDeliveries, "marketing-task-worker", 3
	default:
		e.Kind, e.Consumer, e.Attempt, e.ConsumerSeq = lifecycle.Terminated, "marketing-task-worker", 1, m.Message.Seq
	}
	w.say(at, e)
}

// resolved tells that somebody retried a message, and that the new one was done so long after the death.
func (w *field) resolved(at lifecycle.Micros, m lifecycle.Event, via string, took time.Duration) {
	d := m
	d.Kind = lifecycle.Triaged
	d.Detail.Triage = lifecycle.Triage{Revision: 1, Outcome: lifecycle.OutcomeRetried, Action: "retry", Actor: via, Via: via}
	w.say(at.Add(time.Minute), d)
	again := w.publish(at.Add(2*time.Minute), m.TaskID, m.Message)
	again.Kind, again.Consumer, again.Attempt, again.ConsumerSeq = lifecycle.Acked, "marketing-task-worker", 1, again.Message.Seq
	w.say(at.Add(took), again)
}

// tellAll tells of all messages; every so often one dies.
func (w *field) tellAll() {
	var deaths []string
	for _, d := range publishedDetails {
		for range d.n {
			deaths = append(deaths, d.detail)
		}
	}
	every := publishedMessages / len(deaths)
	for n := range publishedMessages {
		m := w.publish(w.at(n), fmt.Sprintf("task-%05d", n), lifecycle.MessageKey{})
		if n%every == every/2 && n/every < len(deaths) {
			w.dies(w.at(n).Add(time.Second), m, deaths[n/every])
		}
		if len(w.batch.Events) >= 1000 {
			w.commit()
		}
	}
	w.commit()
}

func TestThePublishedDistributionComesOutToTheDigit(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		w := f.theField()
		w.tellAll()
		target := "/api/v1/dlq/stats?bucket=month&from=" + w.begin.Time().Format(time.DateOnly) + "&to=" + w.begin.Time().AddDate(0, publishedMonths, 0).Format(time.DateOnly)
		got := get[EntryStatistics](f, target)
		minutes := int64(12 * 60_000)
		total := EntryStatisticsRow{Bucket: Instant(w.begin), Observed: "all", Messages: publishedMessages, EntrySums: EntrySums{
			Entries: 118, AutoResolved: 96, HumanRequired: 22, Resolved: 118, MedianResolutionMS: &minutes,
		}}
		rate := 118.0 / publishedMessages
		total.Rate = &rate
		if diff := cmp.Diff(total, got.Totals); diff != "" {
			t.Errorf("totals (-want +got):\n%s", diff)
		}
		checkRows(t, got)
		checkGroups(t, got)
	})
}

// checkRows holds the months to their sum.
func checkRows(t *testing.T, got EntryStatistics) {
	t.Helper()
	var messages, entries int64
	for _, row := range got.Data {
		messages, entries = messages+row.Messages, entries+row.Entries
		if row.Messages < 2100 || row.Entries < 8 {
			t.Errorf("a month with %d messages and %d entries", row.Messages, row.Entries)
		}
	}
	if len(got.Data) != publishedMonths || messages != publishedMessages || entries != 118 {
		t.Errorf("%d months with %d messages and %d entries", len(got.Data), messages, entries)
	}
}

// checkGroups holds paths, categories and details to what was published.
func checkGroups(t *testing.T, got EntryStatistics) {
	t.Helper()
	want := map[string]int64{"transient": 72, "conditionally_recoverable": 29, "permanent": 17}
	for _, d := range publishedDetails {
		want[d.detail] = int64(d.n)
	}
	for p, n := range publishedPaths {
		want[string(p)] = int64(n)
	}
	have := map[string]int64{}
	for _, g := range got.ByCategory {
		have[string(g.Category)] = g.Entries
	}
	for _, g := range got.ByDetail {
		have[string(g.Detail)] = g.Entries
	}
	for _, g := range got.ByPath {
		have[string(g.Path)] = g.Entries
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for path, percent := range map[dlqtriage.Path]int64{
		dlqtriage.PathMaxDeliveries: 61, dlqtriage.PathTerminated: 22, dlqtriage.PathContextOverflow: 14, dlqtriage.PathFilterRejected: 3,
	} {
		if have[string(path)] == 0 || (have[string(path)]*200+118)/236 != percent {
			t.Errorf("%s: %d of 118, want %d %%", path, have[string(path)], percent)
		}
	}
}
