package storetest

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/lifecycle"

	"pgregory.net/rapid"
)

// listAnyFilter asks for what nobody thought of: any filter over the values that the scenarios have, and a few that they do not have.
func listAnyFilter(t *testing.T, s Store) {
	events := everyScenario()
	mustAppend(t, s, events)
	w := expectedOf(events)
	g := filterGenerator(events, w)
	rapid.Check(t, func(r *rapid.T) {
		f := g.Draw(r, "filter")
		page, err := s.ListTasks(t.Context(), f, lifecycle.Page{Limit: len(w.tasks) + 1})
		if err != nil {
			r.Fatalf("list %s: %v", f.Query(), err)
		}
		if got, want := taskIDs(page.Tasks), taskIDs(w.list(f)); got != want {
			r.Fatalf("list %s:\ngot  %s\nwant %s", f.Query(), got, want)
		}
		if got, want := w.counted(t, s, f), fmt.Sprint(w.countsOf(f)); got != want {
			r.Fatalf("count %s:\ngot  %s\nwant %s", f.Query(), got, want)
		}
	})
}

func taskIDs(tasks []lifecycle.TaskSummary) (out string) {
	for _, task := range tasks {
		out += task.TaskID + " "
	}
	return out
}

// filterGenerator draws few values of few fields, so that most filters select something.
func filterGenerator(events []lifecycle.Event, w expected) *rapid.Generator[lifecycle.Filter] {
	ids, agents, types, streams, messages, instants := []string{"*", "re*", "nobody"}, []string{"", "nobody"}, []string{""}, []string{"nowhere"}, []string{"nowhere:1"}, []lifecycle.Micros{}
	for _, row := range w.tasks {
		s := row.Summary
		ids, agents, types, streams = append(ids, s.TaskID), append(agents, s.Agent), append(types, s.Type), append(streams, s.Message.Stream.String())
		messages, instants = append(messages, s.Message.String()), append(instants, s.LastEventAt, s.PublishedAt)
	}
	publishers := []string{"", "ceo", "a/b", "a|b", "Fleetglass", "nobody"}
	words, categories := []string{"write", "cras", "1", "re", "%", ":r", "authority"}, []string{"", "permanent", "transient"}
	return rapid.Custom(func(r *rapid.T) (f lifecycle.Filter) {
		f.Sort = pick(r, sorts)
		for range rapid.IntRange(1, 3).Draw(r, "conditions") {
			switch x := &f.Not; rapid.IntRange(0, 25).Draw(r, "field") {
			case 0:
				f.States = some(r, lifecycle.States())
			case 1:
				x.States = some(r, lifecycle.States())
			case 2:
				f.Agents = some(r, agents)
			case 3:
				x.Agents = some(r, agents)
			case 4:
				f.Types = some(r, types)
			case 5:
				x.Types = some(r, types)
			case 6:
				f.Streams = some(r, streams)
			case 7:
				x.Streams = some(r, streams)
			case 8:
				f.Categories = some(r, categories)
			case 9:
				x.Categories = some(r, categories)
			case 10:
				f.IDs = some(r, ids)
			case 11:
				x.IDs = some(r, ids)
			case 12:
				f.Messages = some(r, messages)
			case 13:
				x.Messages = some(r, messages)
			case 14:
				f.Words = some(r, words)
			case 15:
				x.Words = some(r, words)
			case 16:
				f.Anomalies = some(r, lifecycle.AnomalyCodes())
			case 17:
				x.Anomalies = some(r, lifecycle.AnomalyCodes())
			case 18:
				f.Attempt = anyBounds(r, []int64{0, 1, 2, 3})
			case 19:
				f.Ran = lifecycle.RunTime{Bounds: anyBounds(r, []int64{0, 1_000, 50_000, 2_000_000, 60_000_000}), AsOf: events[len(events)-1].At.Add(pick(r, []time.Duration{0, time.Minute}))}
			case 20:
				f.Published = anyBounds(r, []int64{int64(pick(r, instants)), int64(pick(r, instants))})
			case 21:
				f.Publishers = some(r, publishers)
			case 22:
				x.Publishers = some(r, publishers)
			case 23:
				f.Cost = anyBounds(r, []int64{0, 1, 250_000, 500_000, 1_000_000})
			case 24:
				f.Layers = some(r, lifecycle.Layers())
			case 25:
				x.Layers = some(r, lifecycle.Layers())
			}
		}
		return f
	})
}

func pick[T any](r *rapid.T, values []T) T { return rapid.SampledFrom(values).Draw(r, "value") }

func some[T any](r *rapid.T, values []T) []T {
	return rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(r, "values")
}

func anyBounds(r *rapid.T, values []int64) lifecycle.Bounds {
	end := func() lifecycle.Bound {
		return lifecycle.Bound{At: pick(r, values), Set: rapid.Bool().Draw(r, "set"), Open: rapid.Bool().Draw(r, "open")}
	}
	return lifecycle.Bounds{Least: end(), Most: end()}
}

// counted writes the counts that a store gives, without zeros.
func (w expected) counted(t *testing.T, s Store, f lifecycle.Filter) string {
	t.Helper()
	got, _, err := s.CountTasks(t.Context(), f)
	if err != nil {
		t.Fatalf("count %s: %v", f.Query(), err)
	}
	for state, n := range got {
		if n == 0 {
			delete(got, state)
		}
	}
	return fmt.Sprint(got)
}

// countsOf counts what a list shows per state, whatever states it asks for. States that it leaves out are not counted.
func (w expected) countsOf(f lifecycle.Filter) map[lifecycle.State]int64 {
	f.States = nil
	counts := map[lifecycle.State]int64{}
	for _, row := range w.list(f) {
		counts[row.State]++
	}
	return counts
}
