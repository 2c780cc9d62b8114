package postgres

import (
	"slices"

	"fleetglass/lifecycle"
)

// told finds out which of the batches of a transaction changed what.
type told struct {
	jobs    []*job
	ends    []int             // Where the events of each job end.
	touched []map[string]bool // The tasks that new events of each job are about; not kept for a single job.
}

// newTold also forgets what an earlier try found.
func newTold(jobs []*job) told {
	t := told{jobs: jobs}
	end := 0
	for _, j := range jobs {
		j.result = lifecycle.Appended{}
		end += len(j.batch.Events)
		t.ends, t.touched = append(t.ends, end), append(t.touched, map[string]bool{})
	}
	return t
}

// note counts a new event.
func (t told) note(event int, task string) {
	i := 0
	for event >= t.ends[i] {
		i++
	}
	t.jobs[i].result.New++
	if len(t.jobs) > 1 {
		t.touched[i][task] = true
	}
}

// tell gives every job the tasks that changed because of it. A task that lost its message to another one is told to all.
func (t told) tell(rows []lifecycle.TaskRow) {
	for k := range rows {
		s := &rows[k].Summary
		change := lifecycle.TaskChange{TaskID: s.TaskID, State: s.State, Agent: s.Agent, At: s.LastEventAt}
		unclaimed := !slices.ContainsFunc(t.touched, func(tasks map[string]bool) bool { return tasks[s.TaskID] })
		for i, j := range t.jobs {
			if unclaimed || t.touched[i][s.TaskID] {
				j.result.Changed = append(j.result.Changed, change)
			}
		}
	}
}
