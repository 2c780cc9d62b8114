package lifecycle

import (
	"math/rand/v2"
	"testing"
)

// What tests outside of the package use: the events of a scenario file, random histories, and what a fold proves of them.

// ScenarioEvents are the events of the text of a scenario file.
func ScenarioEvents(t testing.TB, text string) []Event {
	t.Helper()
	return parseScenario(t, text)
}

// RandomHistory makes a few events about one message, with no regard for what is likely.
func RandomHistory(r *rand.Rand) []Event { return randomHistory(r) }

// Story is a task with all of its events.
type Story struct {
	Record TaskRecord
	Events []Event
}

// Stories are the tasks that events prove.
func Stories(events []Event) []Story {
	m := foldAll([][]Event{events})
	var out []Story
	for _, id := range m.taskIDs() {
		s := Story{Record: m.record(id)}
		for _, e := range m.events[id] {
			s.Events = append(s.Events, e)
		}
		SortCausally(s.Events, s.Record.Messages)
		out = append(out, s)
	}
	return out
}
