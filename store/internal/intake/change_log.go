package intake

import (
	"slices"

	"fleetglass/lifecycle"
)

// ChangeLog finds out which of the batches of a transaction changed what.
type ChangeLog struct {
	ends    []int             // Where the events of each batch end.
	touched []map[string]bool // The tasks that new events of each batch are about; not kept for a single batch.
	results []lifecycle.Appended
}

// Batch adds the next batch of the transaction.
func (l *ChangeLog) Batch(events int) {
	end := events
	if n := len(l.ends); n > 0 {
		end += l.ends[n-1]
	}
	l.ends, l.touched, l.results = append(l.ends, end), append(l.touched, map[string]bool{}), append(l.results, lifecycle.Appended{})
}

// Added notes a new event by its index in the transaction.
func (l *ChangeLog) Added(event int, task string) {
	i, _ := slices.BinarySearch(l.ends, event+1)
	l.results[i].New++
	if len(l.ends) > 1 {
		l.touched[i][task] = true
	}
}

// Results gives every batch the tasks that changed because of it, in the order of rows, while the transaction holds them. A task that lost its message to another one belongs
// to whoever brought the line that said so; every batch is told of it.
func (l *ChangeLog) Results(rows []lifecycle.TaskRow) []lifecycle.Appended {
	for k := range rows {
		s, facts := &rows[k].Summary, rows[k].Facts
		change := lifecycle.TaskChange{
			TaskID: s.TaskID, State: s.State, Agent: s.Agent, At: s.LastEventAt, Shares: facts.SharesKey(), Fallen: len(facts.Fallen) > 0,
			Number: lifecycle.NextChange(),
		}
		unclaimed := !slices.ContainsFunc(l.touched, func(tasks map[string]bool) bool { return tasks[s.TaskID] })
		for i := range l.results {
			if unclaimed || l.touched[i][s.TaskID] {
				l.results[i].Changed = append(l.results[i].Changed, change)
			}
		}
	}
	return l.results
}
