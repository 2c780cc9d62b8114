package storetest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fleetglass/lifecycle"
)

// selects says whether a list with filter f shows the task: the meaning of [lifecycle.Filter], row by row.
func (w expected) selects(f lifecycle.Filter, r lifecycle.TaskRow) bool {
	s := r.Summary
	at := s.LastEventAt
	return s.Listed &&
		oneOf(f.States, s.State) && oneOf(f.Agents, s.Agent) && oneOf(f.Types, s.Type) && (len(f.Publishers) == 0 || w.given(f.Publishers, f.Published, s.TaskID)) && oneOf(f.Categories, s.Category) &&
		(len(f.Streams) == 0 || inStream(f.Streams, s)) &&
		(len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(id string) bool { return matchesID(id, s.TaskID) })) &&
		(len(f.Messages) == 0 || w.hasMessage(f.Messages, s.TaskID)) &&
		(len(f.Anomalies) == 0 || slices.ContainsFunc(f.Anomalies, func(c lifecycle.AnomalyCode) bool { return slices.Contains(s.Anomalies, c) })) &&
		(!f.Duplicates || s.Duplicates > 0) && (len(f.Layers) == 0 || slices.ContainsFunc(f.Layers, func(l lifecycle.Layer) bool { return hasCase(s, l) })) &&
		!slices.ContainsFunc(f.Words, func(word string) bool { return !mentions(r, word) }) &&
		f.Attempt.Holds(int64(s.Attempt)) && f.Ran.Holds(f.Ran.Of(s).Microseconds()) &&
		(!f.AsksCost() || s.Used.Cost > 0 && f.Cost.Holds(s.Used.Cost)) &&
		(!f.Published.Asked() || len(f.Publishers) > 0 || s.PublishedAt.Known() && f.Published.Holds(int64(s.PublishedAt))) &&
		(!f.From.Known() || at >= f.From) && (!f.To.Known() || at < f.To) && !w.excluded(f.Not, r)
}

// excluded says whether a task has one of the values that it may not have.
func (w expected) excluded(x lifecycle.Exclusion, r lifecycle.TaskRow) bool {
	s := r.Summary
	return slices.Contains(x.States, s.State) || slices.Contains(x.Agents, s.Agent) || slices.Contains(x.Types, s.Type) || w.given(x.Publishers, lifecycle.Bounds{}, s.TaskID) ||
		slices.Contains(x.Categories, s.Category) || inStream(x.Streams, s) || w.hasMessage(x.Messages, s.TaskID) ||
		slices.ContainsFunc(x.IDs, func(id string) bool { return matchesID(id, s.TaskID) }) ||
		slices.ContainsFunc(x.Anomalies, func(c lifecycle.AnomalyCode) bool { return slices.Contains(s.Anomalies, c) }) ||
		x.Duplicates && s.Duplicates > 0 || slices.ContainsFunc(x.Layers, func(l lifecycle.Layer) bool { return hasCase(s, l) }) ||
		slices.ContainsFunc(x.Words, func(word string) bool { return mentions(r, word) })
}

func hasCase(s lifecycle.TaskSummary, l lifecycle.Layer) bool {
	if l == lifecycle.LayerStream {
		return s.Duplicates > 0
	}
	return slices.Contains(s.Anomalies, l.Anomaly())
}

func inStream(streams []string, s lifecycle.TaskSummary) bool {
	return !s.Message.IsZero() && slices.Contains(streams, s.Message.Stream.String())
}

// hasMessage says whether a task has a message at one of the places, in any incarnation of the stream where none is named.
func (w expected) hasMessage(places []string, task string) bool {
	for _, m := range w.messages {
		k := m.Facts.Key
		seq := ":" + strconv.FormatUint(k.Seq, 10)
		if m.TaskID == task && (slices.Contains(places, k.String()) || slices.Contains(places, k.Stream.Name+seq)) {
			return true
		}
	}
	return false
}

// given says whether one of the publishers published a message of the task, within the bounds.
func (w expected) given(publishers []string, within lifecycle.Bounds, task string) bool {
	for _, m := range w.messages {
		publisher, at := m.Facts.Given()
		if m.TaskID == task && publisher != "" && slices.Contains(publishers, publisher) && within.Holds(int64(at)) {
			return true
		}
	}
	return false
}

func oneOf[T comparable](values []T, v T) bool { return len(values) == 0 || slices.Contains(values, v) }

func matchesID(pattern, id string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(id, prefix)
	}
	return pattern == id
}

// mentions says whether a word occurs in the task id, in the title, in the reason why it died, or in the id of a message of the task that
// was published.
func mentions(r lifecycle.TaskRow, word string) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(word)) }
	if has(r.Summary.TaskID) || has(r.Summary.Title) || has(r.Summary.Reason) {
		return true
	}
	for id := range r.Facts.Publishes {
		if has(id) {
			return true
		}
	}
	return false
}

// list returns what a list with filter f shows, in order.
func (w expected) list(f lifecycle.Filter) []lifecycle.TaskSummary {
	var out []lifecycle.TaskSummary
	for _, r := range w.tasks {
		if w.selects(f, r) {
			out = append(out, r.Summary)
		}
	}
	slices.SortFunc(out, func(a, b lifecycle.TaskSummary) int {
		c := cmp.Or(cmp.Compare(sortKey(f.Sort, a), sortKey(f.Sort, b)), strings.Compare(a.TaskID, b.TaskID))
		if f.Sort == lifecycle.SortLastEvent || f.Sort == lifecycle.SortPublished || f.Sort == lifecycle.SortCost {
			return c
		}
		return -c
	})
	return out
}

func sortKey(s lifecycle.Sort, t lifecycle.TaskSummary) lifecycle.Micros {
	if s == lifecycle.SortPublished || s == lifecycle.SortPublishedDesc {
		return t.PublishedAt
	}
	if s == lifecycle.SortCost || s == lifecycle.SortCostDesc {
		return lifecycle.Micros(t.Used.Cost)
	}
	return t.LastEventAt
}
