package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

var entryTests = []conformanceTest{
	{"entries are listed in pages", entriesInPages},
	{"entries are selected", entriesSelected},
	{"entries are grouped", entriesGrouped},
	{"an entry has the revision of its subject", entryRevision},
	{"entries to copy and entries that are due", entriesToWorkOff},
	{"an entry that is no more", entryWithdrawn},
	{"a message names another one as the one that it retries", entryFollowedByAnother},
}

// entries are the entries that follow from all messages, those that died last first: worked out from all facts at once.
func (w expected) entries() []dlqtriage.Entry {
	by := map[string][]dlqtriage.FollowUp{}
	for _, m := range w.messages {
		if f, ok := dlqtriage.FollowUpOf(*m.Facts, *w.tasks[m.TaskID].Facts); ok {
			by[f.Of] = append(by[f.Of], f)
		}
	}
	var out []dlqtriage.Entry
	for _, m := range w.messages {
		if e, ok := dlqtriage.EntryOf(*m.Facts, *w.tasks[m.TaskID].Facts); ok {
			out = append(out, e.Followed(by[e.ID]))
		}
	}
	slices.SortFunc(out, func(a, b dlqtriage.Entry) int {
		return cmp.Or(cmp.Compare(b.FailedAt, a.FailedAt), cmp.Compare(b.ID, a.ID))
	})
	return out
}

func (w expected) checkEntries(t *testing.T, s Store) {
	t.Helper()
	got := allEntries(t, s, dlqtriage.EntryFilter{}, 7)
	for i := range got {
		got[i].Revision = 0
	}
	diff(t, "entries", got, w.entries())
}

// allEntries reads a list in pages.
func allEntries(t *testing.T, s dlqtriage.EntryReader, f dlqtriage.EntryFilter, size int) []dlqtriage.Entry {
	t.Helper()
	var out []dlqtriage.Entry
	for p := (dlqtriage.EntryPageRequest{Limit: size}); ; {
		page, err := s.Entries(t.Context(), f, p)
		if err != nil {
			t.Fatalf("entries: %v", err)
		}
		out = append(out, page.Entries...)
		if page.Next == nil {
			return out
		}
		p.From = page.Next
	}
}

// graveyard tells of n messages that died, some at one time, by several agents and for several reasons.
func graveyard(n int) *eventScript {
	w := newEventScript("DEAD")
	for i := range n {
		k := w.published(fmt.Sprintf("task-%02d", i), []string{"cto", "cso", "devops"}[i%3], 0)
		w.delivered(k, 1)
		if i%4 == 1 {
			w.now -= 1000 // At the time of the line before.
		}
		w.said(lifecycle.Terminated, k, 1, lifecycle.Detail{Ending: lifecycle.Ending{Reason: fmt.Sprintf("status %d after %d s", []int{429, 529}[i%2], i)}})
		w.classified(k, 0, "rules", []string{"transient", "permanent"}[i%2], []string{"", "llm_provider_timeout", "authority_exceeded"}[i%3])
		w.wait(time.Minute)
	}
	return w
}

func entriesInPages(t *testing.T, s Store) {
	w := graveyard(11)
	mustAppend(t, s, w.events)
	want := expectedOf(w.events).entries()
	diff(t, "pages of 3, forwards", allEntries(t, s, dlqtriage.EntryFilter{}, 3), want)
	last, err := s.Entries(t.Context(), dlqtriage.EntryFilter{}, dlqtriage.EntryPageRequest{Limit: 4, From: want[10].Cursor(), Backward: true})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "the page before the last row", last.Entries, want[6:10])
	if last.Prev == nil || *last.Prev != *want[6].Cursor() || last.Next == nil || *last.Next != *want[9].Cursor() {
		t.Errorf("cursors around it: %+v and %+v", last.Prev, last.Next)
	}
	first, err := s.Entries(t.Context(), dlqtriage.EntryFilter{}, dlqtriage.EntryPageRequest{Limit: 4, From: want[2].Cursor(), Backward: true})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "the beginning, read backwards", first.Entries, want[:2])
	if first.Prev != nil {
		t.Errorf("the beginning has something before it: %+v", first.Prev)
	}
}

func entriesSelected(t *testing.T, s Store) {
	w := graveyard(12)
	k := w.published("told", "cto", 0)
	w.dies(k, "Straße gesperrt: NO way")
	w.triaged(k, 1, lifecycle.OutcomeDiscarded)
	mustAppend(t, s, w.events)
	all := expectedOf(w.events).entries()
	for name, c := range map[string]struct {
		filter dlqtriage.EntryFilter
		holds  func(dlqtriage.Entry) bool
	}{
		"two agents": {dlqtriage.EntryFilter{Agents: []string{"cto", "cso"}}, func(e dlqtriage.Entry) bool { return e.Agent != "devops" }},
		"agent and category": {
			dlqtriage.EntryFilter{Agents: []string{"cto"}, Categories: []dlqtriage.Category{dlqtriage.Permanent}},
			func(e dlqtriage.Entry) bool { return e.Agent == "cto" && e.Category == dlqtriage.Permanent },
		},
		"a status":  {dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{dlqtriage.StatusDiscarded}}, func(e dlqtriage.Entry) bool { return e.Status == dlqtriage.StatusDiscarded }},
		"no detail": {dlqtriage.EntryFilter{Details: []string{dlqtriage.Empty}}, func(e dlqtriage.Entry) bool { return e.Detail == "" }},
		"a detail or none": {
			dlqtriage.EntryFilter{Details: []string{dlqtriage.Empty, "authority_exceeded"}}, func(e dlqtriage.Entry) bool { return e.Detail != "llm_provider_timeout" },
		},
		"a kind":        {dlqtriage.EntryFilter{Kinds: []dlqtriage.Kind{dlqtriage.KindResource}}, func(e dlqtriage.Entry) bool { return e.Kind == dlqtriage.KindResource }},
		"a path":        {dlqtriage.EntryFilter{Paths: []dlqtriage.Path{dlqtriage.PathFilterRejected}}, func(dlqtriage.Entry) bool { return false }},
		"a type":        {dlqtriage.EntryFilter{Types: []string{"content_creation"}}, func(dlqtriage.Entry) bool { return true }},
		"a fingerprint": {dlqtriage.EntryFilter{Fingerprints: []string{all[3].ReasonFingerprint}}, func(e dlqtriage.Entry) bool { return e.ReasonFingerprint == all[3].ReasonFingerprint }},
		"words":         {dlqtriage.EntryFilter{Words: []string{"STRASSE"}}, func(dlqtriage.Entry) bool { return false }},
		"more words":    {dlqtriage.EntryFilter{Words: []string{"straße", "no WAY"}}, func(e dlqtriage.Entry) bool { return e.TaskID == "told" }},
		"a task":        {dlqtriage.EntryFilter{IDs: []string{"told"}}, func(e dlqtriage.Entry) bool { return e.TaskID == "told" }},
		"an id":         {dlqtriage.EntryFilter{IDs: []string{all[5].ID}}, func(e dlqtriage.Entry) bool { return e.ID == all[5].ID }},
		"not an agent":  {dlqtriage.EntryFilter{Not: dlqtriage.EntryExclusion{Agents: []string{"cto"}}}, func(e dlqtriage.Entry) bool { return e.Agent != "cto" }},
		"not a task":    {dlqtriage.EntryFilter{Not: dlqtriage.EntryExclusion{IDs: []string{"told", all[5].ID}}}, func(e dlqtriage.Entry) bool { return e.TaskID != "told" && e.ID != all[5].ID }},
		"not a word":    {dlqtriage.EntryFilter{Not: dlqtriage.EntryExclusion{Words: []string{"no WAY"}}}, func(e dlqtriage.Entry) bool { return e.TaskID != "told" }},
		"some detail":   {dlqtriage.EntryFilter{Not: dlqtriage.EntryExclusion{Details: []string{dlqtriage.Empty}}}, func(e dlqtriage.Entry) bool { return e.Detail != "" }},
		"neither status nor category": {
			dlqtriage.EntryFilter{Not: dlqtriage.EntryExclusion{Statuses: []dlqtriage.Status{dlqtriage.StatusDiscarded}, Categories: []dlqtriage.Category{dlqtriage.Permanent}}},
			func(e dlqtriage.Entry) bool {
				return e.Status != dlqtriage.StatusDiscarded && e.Category != dlqtriage.Permanent
			},
		},
		"times": {
			dlqtriage.EntryFilter{From: all[8].FailedAt, To: all[2].FailedAt},
			func(e dlqtriage.Entry) bool { return e.FailedAt >= all[8].FailedAt && e.FailedAt < all[2].FailedAt },
		},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(e dlqtriage.Entry) bool { return !c.holds(e) })
		diff(t, name, allEntries(t, s, c.filter, 5), want)
		if n, err := s.CountEntries(t.Context(), c.filter); err != nil || n != int64(len(want)) {
			t.Errorf("%s: %d counted, %v; want %d", name, n, err, len(want))
		}
	}
}

func entriesGrouped(t *testing.T, s Store) {
	w := graveyard(13)
	for seq, completes := range map[uint64]bool{1: true, 4: false, 7: true} { // All are of cto.
		died := lifecycle.MessageKey{Stream: w.stream, Seq: seq}
		w.triaged(died, 1, lifecycle.OutcomeRetried)
		again := w.retries(died, fmt.Sprintf("task-%02d", seq-1), "cto", 1)
		w.delivered(again, 1)
		if completes {
			w.acked(again, 1)
		}
	}
	mustAppend(t, s, w.events)
	all := expectedOf(w.events).entries()
	now := all[6].FailedAt.Add(dlqtriage.TrendSpan) // Six died after now's span began, the seventh just not.
	for name, by := range map[string][]dlqtriage.GroupField{
		"by agent": {dlqtriage.ByAgent}, "by category and detail": {dlqtriage.ByCategory, dlqtriage.ByDetail}, "by reason": {dlqtriage.ByFingerprint},
		"by everything": dlqtriage.GroupFields(),
	} {
		got, err := s.EntryGroups(t.Context(), dlqtriage.EntryFilter{Agents: []string{"cto", "cso"}}, by, now, 50)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		diff(t, name, got, groupsOf(all, by, now))
		entryStepsAgree(t, s, name, by, now, got, all)
	}
	got, err := s.EntryGroups(t.Context(), dlqtriage.EntryFilter{}, []dlqtriage.GroupField{dlqtriage.ByAgent}, now, 1)
	if err != nil || len(got) != 1 || got[0].Values[0] != "cto" {
		t.Fatalf("the largest group alone: %+v, %v", got, err)
	}
	if got[0].Retried != 3 || got[0].Recovered != 2 || got[0].Median <= 0 {
		t.Errorf("of cto %d were retried and %d recovered, half of them within %s; want 3 and 2, and some time", got[0].Retried, got[0].Recovered, got[0].Median)
	}
}

// entryStepsAgree holds the deaths over time to the entries themselves, and to the two halves of the groups.
func entryStepsAgree(t *testing.T, s Store, name string, by []dlqtriage.GroupField, now lifecycle.Micros, groups []dlqtriage.EntryGroup, all []dlqtriage.Entry) {
	t.Helper()
	steps, err := s.EntrySteps(t.Context(), dlqtriage.EntryFilter{Agents: []string{"cto", "cso"}}, by, now)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := map[string][dlqtriage.TrendSteps]int64{}
	for _, g := range steps {
		got[strings.Join(g.Values, "\x00")] = g.Counts
	}
	want := map[string][dlqtriage.TrendSteps]int64{}
	for _, e := range all {
		if age := now.Sub(e.FailedAt); e.Agent != "devops" && age >= 0 && age < 2*dlqtriage.TrendSpan {
			key := strings.Join(valuesOf(e, by), "\x00")
			counts := want[key]
			counts[dlqtriage.TrendSteps-1-int(age/dlqtriage.TrendStep)]++
			want[key] = counts
		}
	}
	diff(t, name+", over time", got, want)
	for _, g := range groups {
		var halves [2]int64
		for i, n := range got[strings.Join(g.Values, "\x00")] {
			halves[2*i/dlqtriage.TrendSteps] += n
		}
		if halves != [2]int64{g.Before, g.Recent} {
			t.Errorf("%s, group %v: %v over time, want %d before and %d recent", name, g.Values, halves, g.Before, g.Recent)
		}
	}
}

// groupsOf groups the entries of cto and cso by hand.
func groupsOf(all []dlqtriage.Entry, by []dlqtriage.GroupField, now lifecycle.Micros) []dlqtriage.EntryGroup {
	groups, took := map[string]*dlqtriage.EntryGroup{}, map[string][]time.Duration{}
	for _, e := range all {
		if e.Agent == "devops" {
			continue
		}
		values := valuesOf(e, by)
		key := strings.Join(values, "\x00")
		g := groups[key]
		if g == nil {
			g = &dlqtriage.EntryGroup{Values: values, FirstAt: e.FailedAt, LastAt: e.FailedAt}
			groups[key] = g
		}
		g.Count++
		g.FirstAt, g.LastAt = min(g.FirstAt, e.FailedAt), max(g.LastAt, e.FailedAt)
		if e.Open() {
			g.Open++
		}
		if e.Status == dlqtriage.StatusRetried || e.Status == dlqtriage.StatusReassigned {
			g.Retried++
			switch e.Outcome {
			case dlqtriage.OutcomeResolved:
				g.Recovered++
				took[key] = append(took[key], max(0, e.ResolvedAt.Sub(e.FailedAt)))
			case dlqtriage.OutcomeDiedAgain:
				g.DiedAgain++
			}
		}
		switch age := now.Sub(e.FailedAt); {
		case age < 0:
		case age < dlqtriage.TrendSpan:
			g.Recent++
		case age < 2*dlqtriage.TrendSpan:
			g.Before++
		}
	}
	var out []dlqtriage.EntryGroup
	for key, g := range groups {
		if times := took[key]; len(times) > 0 {
			slices.Sort(times)
			g.Median = times[(len(times)-1)/2]
		}
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b dlqtriage.EntryGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.Values, b.Values))
	})
	return out
}

func valuesOf(e dlqtriage.Entry, by []dlqtriage.GroupField) []string {
	of := map[dlqtriage.GroupField]string{
		dlqtriage.ByStatus: string(e.Status), dlqtriage.ByCategory: string(e.Category), dlqtriage.ByDetail: e.Detail, dlqtriage.ByKind: string(e.Kind),
		dlqtriage.ByPath: string(e.Path), dlqtriage.ByAgent: e.Agent, dlqtriage.ByType: e.Type, dlqtriage.ByFingerprint: e.ReasonFingerprint,
	}
	var out []string
	for _, field := range by {
		out = append(out, of[field])
	}
	return out
}

func entryRevision(t *testing.T, s Store) {
	w := newEventScript("DEAD")
	k := w.published("decided", "cto", 0)
	w.dies(k, "no")
	mustAppend(t, s, w.events)
	d := lifecycle.Event{Kind: lifecycle.Triaged, At: w.now + 1, Message: k, ID: decision.EventID("d-1", 0), Provenance: lifecycle.Recorded}
	d.Detail.Outcome, d.Detail.Until, d.Detail.Actor, d.Detail.ActionID = lifecycle.OutcomeDeferred, w.now+77, "ann", "a-1"
	_, err := s.Decide(t.Context(), decision.Decision{
		ID: "d-1", Subject: decision.About(k), At: w.now + 1, Change: decision.Change{
			Events: []lifecycle.Event{d}, Audit: []decision.AuditRecord{{ID: "r-1", At: w.now + 1, Actor: "ann", Action: "defer", Outcome: decision.Allowed}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Entry(t.Context(), dlqtriage.EntryID(k))
	if err != nil || e.Revision != 1 || e.Status != dlqtriage.StatusDeferred || e.DeferredUntil != w.now+77 || e.Action != "a-1" || e.Actor != "ann" {
		t.Errorf("after the decision: %+v, %v", e, err)
	}
	if _, err := s.Entry(t.Context(), "DEAD:77"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("an entry that is not there: %v, want ErrNotFound", err)
	}
	of, err := s.EntriesOf(t.Context(), "decided", 10)
	if err != nil || len(of) != 1 || of[0].ID != e.ID || of[0].Revision != 1 {
		t.Errorf("entries of the task: %+v, %v", of, err)
	}
}

func entriesToWorkOff(t *testing.T, s Store) {
	w := graveyard(6)
	all := expectedOf(w.events).entries()
	slices.Reverse(all)
	w.said(lifecycle.DeadLettered, all[1].Key, 0, lifecycle.Detail{DeadLetter: lifecycle.DeadLetter{Entry: "DLQ:9"}})
	for i, until := range []lifecycle.Micros{500, 0, 300} {
		var d lifecycle.Detail
		d.Revision, d.Outcome, d.Until = 1, lifecycle.OutcomeDeferred, until
		w.said(lifecycle.Triaged, all[i].Key, 0, d)
	}
	mustAppend(t, s, w.events)
	first, err := s.Uncopied(t.Context(), all[5].FailedAt, nil, 2)
	if err != nil || !slices.Equal(entryIDs(first), entryIDs([]dlqtriage.Entry{all[0], all[2]})) {
		t.Fatalf("not copied: %v, %v", entryIDs(first), err)
	}
	rest, err := s.Uncopied(t.Context(), all[5].FailedAt, first[1].Cursor(), 10)
	if err != nil || !slices.Equal(entryIDs(rest), entryIDs(all[3:5])) {
		t.Errorf("not copied, beyond those: %v, %v", entryIDs(rest), err)
	}
	due, err := s.DeferredUntil(t.Context(), 499, 10)
	if err != nil || !slices.Equal(entryIDs(due), []string{all[2].ID}) {
		t.Errorf("due: %v, %v", entryIDs(due), err)
	}
	due, err = s.DeferredUntil(t.Context(), 500, 10)
	if err != nil || !slices.Equal(entryIDs(due), []string{all[2].ID, all[0].ID}) {
		t.Errorf("due later: %v, %v", entryIDs(due), err)
	}
	fates := map[dlqtriage.Fate]int{}
	err = s.EachFate(t.Context(), all[1].FailedAt, all[4].FailedAt, func(f dlqtriage.Fate) { fates[f]++ })
	if err != nil {
		t.Fatal(err)
	}
	want := map[dlqtriage.Fate]int{}
	for _, e := range expectedOf(w.events).entries() {
		if e.FailedAt >= all[1].FailedAt && e.FailedAt < all[4].FailedAt {
			want[fateOf(e)]++
		}
	}
	diff(t, "fates", fates, want)
}

func fateOf(e dlqtriage.Entry) dlqtriage.Fate {
	return dlqtriage.Fate{
		Class: e.Class, Path: e.Path, Agent: e.Agent, Type: e.Type, Status: e.Status, Outcome: e.Outcome, Via: e.Via, Until: e.DeferredUntil,
		FailedAt: e.FailedAt, ResolvedAt: e.ResolvedAt,
	}
}

func entryIDs(entries []dlqtriage.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// entryWithdrawn tells of a message of which a consumer is found that takes it, after nobody did.
func entryWithdrawn(t *testing.T, s Store) {
	w := newEventScript("DEAD")
	k := w.published("orphan", "cto", 0)
	w.said(lifecycle.Orphaned, k, 0, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	if got := allEntries(t, s, dlqtriage.EntryFilter{Paths: []dlqtriage.Path{dlqtriage.PathFilterRejected}}, 5); len(got) != 1 {
		t.Fatalf("entries of a message that no consumer takes: %v", entryIDs(got))
	}
	w.said(lifecycle.Adopted, k, 0, lifecycle.Detail{})
	mustAppend(t, s, w.events)
	if got := allEntries(t, s, dlqtriage.EntryFilter{}, 5); len(got) != 0 {
		t.Errorf("entries when a consumer takes it: %v", entryIDs(got))
	}
	if n, err := s.CountEntries(t.Context(), dlqtriage.EntryFilter{To: math.MaxInt64}); err != nil || n != 0 {
		t.Errorf("counted: %d, %v", n, err)
	}
}

// entryFollowedByAnother gives two publish lines of one message, of which the later to come counts and names another one.
func entryFollowedByAnother(t *testing.T, s Store) {
	w := newEventScript("DEAD")
	a, b := w.published("a", "cto", 0), w.published("b", "cto", 0)
	w.dies(a, "no")
	w.dies(b, "no")
	w.retries(a, "a", "cto", 1)
	counts := w.events[len(w.events)-1]
	w.seq--
	w.retries(b, "a", "cto", 1)
	late := w.events[len(w.events)-1]
	mustAppend(t, s, append(slices.Clone(w.events[:len(w.events)-2]), late))
	mustAppend(t, s, []lifecycle.Event{counts})
	expectedOf(w.events).checkEntries(t, s)
	if e, err := s.Entry(t.Context(), dlqtriage.EntryID(b)); err != nil || e.Outcome != "" {
		t.Errorf("what followed b: %q, %v; want nothing", e.Outcome, err)
	}
}
