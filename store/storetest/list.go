package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var listTests = []conformanceTest{
	{"filters", listFilters},
	{"every field narrows a list", listFields},
	{"any filter selects what its meaning says", listAnyFilter},
	{"pages forward and backward over ties", listPages},
	{"a page beyond the end", listBeyond},
	{"a publisher of many tasks", listManyGiven},
}

// filterCases has every field alone, alternatives, and combinations; they are read against everyScenario.
func filterCases(events []lifecycle.Event) map[string]lifecycle.Filter {
	middle := events[len(events)/2].At
	return map[string]lifecycle.Filter{
		"everything":           {},
		"one state":            {States: []lifecycle.State{lifecycle.StateCompleted}},
		"two states":           {States: []lifecycle.State{lifecycle.StateCompleted, lifecycle.StatePublished}},
		"agent":                {Agents: []string{"cto"}},
		"two agents":           {Agents: []string{"cto", "backend"}},
		"unknown agent":        {Agents: []string{"nobody else"}},
		"type":                 {Types: []string{"api_design"}},
		"publisher":            {Publishers: []string{"ceo"}},
		"publisher of several": {Publishers: []string{"Fleetglass", "a/b"}},
		"unknown publisher":    {Publishers: []string{"nobody", ""}},
		"publisher lately":     {Publishers: []string{"ceo"}, Published: bounds(int64(secondGiven(events)), 0)},
		"publisher before":     {Publishers: []string{"ceo", "Fleetglass"}, Published: bounds(0, int64(secondGiven(events)))},
		"publisher and agent":  {Publishers: []string{"ceo"}, Agents: []string{"cto"}, States: []lifecycle.State{lifecycle.StatePublished, lifecycle.StateCompleted}},
		"not the publisher":    {Not: lifecycle.Exclusion{Publishers: []string{"Fleetglass", "nobody"}}},
		"neither publisher":    {Publishers: []string{"ceo"}, Not: lifecycle.Exclusion{Publishers: []string{"Fleetglass"}}},
		"stream":               {Streams: []string{"plain", "crash"}},
		"unknown stream":       {Streams: []string{"nowhere"}},
		"category":             {Categories: []string{"permanent"}},
		"id":                   {IDs: []string{"crash"}},
		"id and prefix":        {IDs: []string{"plain", "re*"}},
		"nested prefixes":      {IDs: []string{"re*", "retr*", "retried", "r*", "re*", "plain", "plain"}},
		"prefix is no LIKE":    {IDs: []string{"%*", "_*"}},
		"every id":             {IDs: []string{"*"}},
		"anomaly":              {Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyPublishUnseen, lifecycle.AnomalyOrphaned}},
		"duplicates":           {Duplicates: true},
		"layer":                {Layers: []lifecycle.Layer{lifecycle.LayerExecution}},
		"layers":               {Layers: []lifecycle.Layer{lifecycle.LayerStream, lifecycle.LayerExecution, lifecycle.LayerIdempotency}},
		"not the layers":       {Not: lifecycle.Exclusion{Layers: []lifecycle.Layer{lifecycle.LayerStream, lifecycle.LayerUnknown}}},
		"layers of agent":      {Layers: []lifecycle.Layer{lifecycle.LayerStream, lifecycle.LayerUnknown}, Agents: []string{"marketing"}},
		"layer and anomaly":    {Layers: []lifecycle.Layer{lifecycle.LayerIdempotency, lifecycle.LayerUnknown}, Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalySilentAttempt}},
		"word":                 {Words: []string{"write"}},
		"word in upper case":   {Words: []string{"WRITE"}},
		"two words":            {Words: []string{"about", "cras"}},
		"word of message id":   {Words: []string{":R1"}},
		"word of refused id":   {Words: []string{"refused-1"}},
		"word of a reason":     {Words: []string{"Authority_exceeded"}},
		"word is no LIKE":      {Words: []string{"%"}},
		"word with quotes":     {Words: []string{`'"`}},
		"not a state":          {Not: lifecycle.Exclusion{States: []lifecycle.State{lifecycle.StateCompleted}}},
		"no state at all":      {States: []lifecycle.State{lifecycle.StateCompleted}, Not: lifecycle.Exclusion{States: []lifecycle.State{lifecycle.StateCompleted}}},
		"not an agent":         {Not: lifecycle.Exclusion{Agents: []string{"cto", "nobody else"}}},
		"neither id":           {Not: lifecycle.Exclusion{IDs: []string{"plain", "re*"}}},
		"not a word":           {Not: lifecycle.Exclusion{Words: []string{"WRITE"}}},
		"not duplicates":       {Not: lifecycle.Exclusion{Duplicates: true}},
		"not the stream":       {Not: lifecycle.Exclusion{Streams: []string{"plain", "nowhere"}}},
		"not the type":         {Not: lifecycle.Exclusion{Types: []string{"content_creation"}}},
		"not the category":     {Not: lifecycle.Exclusion{Categories: []string{"permanent"}}},
		"not the anomaly":      {Not: lifecycle.Exclusion{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyPublishUnseen}}},
		"message":              {Messages: []string{"plain:1"}},
		"earlier message":      {Messages: []string{"retried:1", "retried:2"}},
		"unknown message":      {Messages: []string{"plain:99", "nowhere:1"}},
		"message and id":       {Messages: []string{"plain:1", "crash:1"}, IDs: []string{"pl*"}},
		"not the message":      {Not: lifecycle.Exclusion{Messages: []string{"plain:1"}}},
		"attempt":              {Attempt: bounds(2, 0)},
		"run time":             {Ran: lifecycle.RunTime{Bounds: bounds(1_000, 0), AsOf: events[len(events)-1].At}},
		"run time later":       {Ran: lifecycle.RunTime{Bounds: bounds(0, 60_000_000), AsOf: events[len(events)-1].At.Add(time.Minute)}},
		"cost":                 {Cost: bounds(400_000, 0)},
		"cost below":           {Cost: bounds(0, 400_000)},
		"published":            {Published: bounds(int64(middle), 0)},
		"published before":     {Published: bounds(0, int64(middle))},
		"from":                 {From: middle},
		"to":                   {To: middle},
		"from to":              {From: middle.Add(-20 * time.Second), To: middle.Add(20 * time.Second)},
		"agent and state":      {Agents: []string{"cto", "ceo"}, States: []lifecycle.State{lifecycle.StateCompleted}},
		"agent, type, word":    {Agents: []string{"cto"}, Types: []string{"content_creation"}, Words: []string{"retried"}},
		"stream and anomaly":   {Streams: []string{"headless"}, Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalyPublishUnseen}},
		"duplicates of agent":  {Duplicates: true, Agents: []string{"marketing"}, From: middle.Add(-time.Hour)},
	}
}

// secondGiven is when the second message was stored that says who published it.
func secondGiven(events []lifecycle.Event) lifecycle.Micros {
	n := 0
	for _, e := range events {
		if e.Detail.Publisher == "" {
			continue
		}
		if n++; n == 2 {
			return e.At
		}
	}
	return 0
}

func listFilters(t *testing.T, s Store) {
	events := everyScenario()
	mustAppend(t, s, events)
	w := expectedOf(events)
	for name, f := range filterCases(events) {
		t.Run(name, func(t *testing.T) {
			for _, order := range sorts {
				f.Sort = order
				w.checkList(t, s, f)
			}
			w.checkCounts(t, s, f)
		})
	}
}

// listFields holds filterCases to the table of fields: each has a case of its own that selects some tasks and leaves others out.
func listFields(t *testing.T, s Store) {
	events := everyScenario()
	mustAppend(t, s, events)
	w := expectedOf(events)
	all := len(w.list(lifecycle.Filter{}))
	for _, field := range lifecycle.FilterFields() {
		narrowed := field.Name == "sort" // It orders and narrows nothing.
		for _, f := range filterCases(events) {
			if !asksAlone(field, f) {
				continue
			}
			n := len(w.list(f))
			narrowed = narrowed || 0 < n && n < all
			w.checkList(t, s, f)
			w.checkCounts(t, s, f)
		}
		if !narrowed {
			t.Errorf("no case narrows a list by %s alone: add one to filterCases", field.Name)
		}
	}
}

// asksAlone says whether a filter asks for a field and for no other.
func asksAlone(field lifecycle.FilterField, f lifecycle.Filter) bool {
	for _, other := range lifecycle.FilterFields() {
		if other.Asks(f) != (other.Name == field.Name) {
			return false
		}
	}
	return true
}

// bounds are those of a number: more than least, up to most; zero for no end.
func bounds(least, most int64) lifecycle.Bounds {
	return lifecycle.Bounds{
		Least: lifecycle.Bound{At: least, Set: least != 0, Open: least != 0}, Most: lifecycle.Bound{At: most, Set: most != 0},
	}
}

var sorts = []lifecycle.Sort{"", lifecycle.SortLastEventDesc, lifecycle.SortLastEvent, lifecycle.SortPublishedDesc, lifecycle.SortPublished, lifecycle.SortCostDesc, lifecycle.SortCost}

// checkList reads all pages of a list, in one page and in small ones, and compares.
func (w expected) checkList(t *testing.T, s Store, f lifecycle.Filter) {
	t.Helper()
	want := w.list(f)
	page, err := s.ListTasks(t.Context(), f, lifecycle.Page{Limit: len(want) + 1})
	if err != nil {
		t.Fatalf("list %+v: %v", f, err)
	}
	diff(t, fmt.Sprintf("list %+v", f), page.Tasks, want)
	if page.Next != nil || page.Prev != nil {
		t.Errorf("list %+v in one page: next %v, prev %v; want none", f, page.Next, page.Prev)
	}
}

// listPages walks lists of tasks that share times.
func listPages(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 23 {
		k := w.published(fmt.Sprintf("task-%02d", i), []string{"cto", "ceo"}[i%2], 0)
		if i%3 == 0 {
			w.acked(k, 1)
		}
		if i%4 > 0 { // Some cost as much as others, and of some no cost is reported.
			w.reported(lifecycle.ReportCheckpoint, fmt.Sprintf("task-%02d", i), []string{"cto", "ceo"}[i%2], 1, lifecycle.Detail{ModelUse: lifecycle.ModelUse{CostUSD: float64(i%4) / 4}})
		}
	}
	for i := range w.events { // Four instants for all.
		w.events[i].At = w.events[0].At + lifecycle.Micros(i%4)
	}
	w.delivered(lifecycle.MessageKey{Stream: w.stream, Seq: 99}, 1) // Two whose publishing was not seen.
	w.delivered(lifecycle.MessageKey{Stream: w.stream, Seq: 98}, 1)
	mustAppend(t, s, w.events)
	all := expectedOf(w.events)
	for _, f := range []lifecycle.Filter{
		{}, {States: []lifecycle.State{lifecycle.StatePublished}}, {Agents: []string{"cto"}}, {Words: []string{"task-1"}},
		{States: []lifecycle.State{lifecycle.StatePublished, lifecycle.StateCompleted}, Agents: []string{"cto", "ceo"}},
	} {
		for _, order := range sorts {
			f.Sort = order
			for _, limit := range []int{1, 3, 8, 100} {
				all.checkWalk(t, s, f, limit)
			}
		}
	}
}

// checkWalk reads a list page by page to its end and back.
func (w expected) checkWalk(t *testing.T, s Store, f lifecycle.Filter, limit int) {
	t.Helper()
	want := w.list(f)
	var pages [][]lifecycle.TaskSummary
	var forward []lifecycle.TaskSummary
	page := mustList(t, s, f, lifecycle.Page{Limit: limit})
	if page.Prev != nil {
		t.Errorf("list %+v: the first page has one before it", f)
	}
	for {
		pages, forward = append(pages, page.Tasks), append(forward, page.Tasks...)
		if page.Next == nil || len(pages) > len(want) {
			break
		}
		page = mustList(t, s, f, lifecycle.Page{Limit: limit, From: page.Next})
	}
	diff(t, fmt.Sprintf("list %+v by %d", f, limit), forward, want)
	for i := len(pages) - 2; i >= 0; i-- {
		if page.Prev == nil {
			t.Fatalf("list %+v by %d: page %d has none before it", f, limit, i+1)
		}
		page = mustList(t, s, f, lifecycle.Page{Limit: limit, From: page.Prev, Backward: true})
		diff(t, fmt.Sprintf("list %+v by %d, page %d backward", f, limit, i), page.Tasks, pages[i])
		if page.Next == nil {
			t.Errorf("list %+v by %d: page %d backward has none after it", f, limit, i)
		}
	}
	if page.Prev != nil {
		t.Errorf("list %+v by %d: the first page, come back to, has one before it", f, limit)
	}
}

func mustList(t *testing.T, s Store, f lifecycle.Filter, p lifecycle.Page) lifecycle.TaskPage {
	t.Helper()
	page, err := s.ListTasks(t.Context(), f, p)
	if err != nil {
		t.Fatalf("list %+v: %v", f, err)
	}
	return page
}

// listManyGiven lists what a publisher gave that gave more than an index is asked for, beside one that gave little.
func listManyGiven(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	for i := range 1300 {
		d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("task-%04d", i), Type: "review"}}
		if d.Publisher = "ceo"; i%100 == 0 {
			d.Publisher = "marketing"
		}
		k := w.store(d.MsgID, []string{"cto", "backend"}[i%2], d)
		if i%3 == 0 {
			w.acked(k, 1)
		}
	}
	for batch := range slices.Chunk(w.events, 500) {
		mustAppend(t, s, batch)
	}
	all, half := expectedOf(w.events), bounds(int64(w.events[len(w.events)/2].At), 0)
	for _, f := range []lifecycle.Filter{
		{Publishers: []string{"ceo"}}, {Publishers: []string{"marketing"}}, {Publishers: []string{"ceo"}, Published: half},
		{Publishers: []string{"ceo"}, Agents: []string{"cto"}, States: []lifecycle.State{lifecycle.StateCompleted}},
		{Not: lifecycle.Exclusion{Publishers: []string{"ceo"}}}, {Publishers: []string{"marketing", "ceo"}, Not: lifecycle.Exclusion{Publishers: []string{"marketing"}}},
	} {
		for _, order := range []lifecycle.Sort{"", lifecycle.SortPublished} {
			f.Sort = order
			all.checkWalk(t, s, f, 200)
		}
		all.checkCounts(t, s, f)
	}
}

func listBeyond(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	w.published("only", "cto", 0)
	mustAppend(t, s, w.events)
	page := mustList(t, s, lifecycle.Filter{}, lifecycle.Page{Limit: 5, From: &lifecycle.Cursor{At: 1, TaskID: "x"}})
	if len(page.Tasks) != 0 || page.Next != nil {
		t.Errorf("beyond the end: got %d tasks, next %v; want none", len(page.Tasks), page.Next)
	}
	page = mustList(t, s, lifecycle.Filter{}, lifecycle.Page{Limit: 5, From: &lifecycle.Cursor{At: 1, TaskID: "x"}, Backward: true})
	if len(page.Tasks) != 1 || page.Prev != nil {
		t.Errorf("backward from beyond the end: got %d tasks, prev %v; want the one, at the beginning", len(page.Tasks), page.Prev)
	}
}
