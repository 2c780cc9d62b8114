//go:build linux

package torture

import (
	"fleetglass/fleet"
	"fleetglass/fleet/demo"
)

// told is the truth about one task: what the agents did.
type told struct {
	ID, Agent  string
	Fate       demo.Fate
	Seq        uint64 // In TASKS; zero while no publish was answered.
	Publishes  int    // Answered ones, duplicates included.
	Duplicates int    // Of them, those that the stream caught.
	Unanswered int    // Publishes of which nobody knows whether they were stored.
	Recorded   int
	RanAgain   int // Attempts that began to work after the completion was recorded: a cluster may answer their question from a replica that is behind.
	Attempts   map[int]*toldAttempt
	Reports    map[string]int // By kind.
	Costs      map[int]int64  // By attempt: the most that was reported, in millionths of a USD.
	Doubtful   int            // Reports of which nobody knows whether they were stored.
}

// toldAttempt is what a worker did in one attempt.
type toldAttempt struct{ Executed, Beats, Acks, Naks, Terms, Silent int }

// tell puts the journal in order, by task.
func tell(lines []line) map[string]*told {
	all := map[string]*told{}
	for _, l := range lines {
		if l.Task == "" {
			continue
		}
		t := all[l.Task]
		if t == nil {
			t = &told{ID: l.Task, Attempts: map[int]*toldAttempt{}, Reports: map[string]int{}, Costs: map[int]int64{}}
			all[l.Task] = t
		}
		t.add(l)
	}
	return all
}

func (t *told) add(l line) {
	if l.Fate != "" {
		t.Agent, t.Fate = l.Agent, demo.Fate(l.Fate)
	}
	switch l.What {
	case string(demo.NotePublished):
		t.Publishes++
		t.Seq = l.Seq
	case string(demo.NoteDuplicate):
		t.Publishes++
		t.Duplicates++
		t.Seq = l.Seq
	case string(demo.NoteRecorded):
		t.Recorded++
	case whatReported:
		t.Reports[l.Kind]++
		t.Costs[l.Attempt] = max(t.Costs[l.Attempt], l.Cost)
	case whatFailed:
		if l.Kind != "" {
			t.Doubtful++
		} else {
			t.Unanswered++
		}
	default:
		if l.What == string(demo.NoteExecuted) && t.Recorded > 0 {
			t.RanAgain++
		}
		t.attempt(l.Attempt).add(l.What)
	}
}

func (t *told) attempt(n int) *toldAttempt {
	if t.Attempts[n] == nil {
		t.Attempts[n] = &toldAttempt{}
	}
	return t.Attempts[n]
}

func (a *toldAttempt) add(what string) {
	switch what {
	case string(demo.NoteExecuted):
		a.Executed++
	case string(demo.NoteSilent):
		a.Silent++
	case string(fleet.AnswerHeartbeat):
		a.Beats++
	case string(fleet.AnswerAck):
		a.Acks++
	case string(fleet.AnswerNak):
		a.Naks++
	case string(fleet.AnswerTerm):
		a.Terms++
	}
}

// sum adds one number up over all attempts.
func (t *told) sum(of func(*toldAttempt) int) int {
	n := 0
	for _, a := range t.Attempts {
		n += of(a)
	}
	return n
}

func (t *told) last() int {
	n := 0
	for i := range t.Attempts {
		n = max(n, i)
	}
	return n
}

func (t *told) beats() int  { return t.sum(func(a *toldAttempt) int { return a.Beats }) }
func (t *told) acks() int   { return t.sum(func(a *toldAttempt) int { return a.Acks }) }
func (t *told) naks() int   { return t.sum(func(a *toldAttempt) int { return a.Naks }) }
func (t *told) terms() int  { return t.sum(func(a *toldAttempt) int { return a.Terms }) }
func (t *told) silent() int { return t.sum(func(a *toldAttempt) int { return a.Silent }) }

// deliveries is how many deliveries reached the worker: a broker that has forgotten one may give its number again.
func (t *told) deliveries() int {
	return t.sum(func(a *toldAttempt) int { return max(1, a.Executed) })
}

// skipped reports whether the task was acknowledged by an attempt that did not run it, because its completion was recorded.
func (t *told) skipped() bool {
	for _, a := range t.Attempts {
		if a.Acks > 0 && a.Executed == 0 {
			return true
		}
	}
	return false
}

// unheard reports whether an attempt left no line at all: no answer, no heartbeat, no report.
func (t *told) unheard() bool {
	for _, a := range t.Attempts {
		if a.Silent > 0 && a.Beats == 0 && len(t.Reports) == 0 {
			return true
		}
	}
	return false
}

// overruns is how many attempts were handed out again although their worker was alive and had not handed them back: on a machine that is too
// slow for the waits of the demonstration, the lease runs out before the answer.
func (t *told) overruns() int {
	n := 0
	for i, a := range t.Attempts {
		if i < t.last() && a.Naks+a.Silent == 0 {
			n++
		}
	}
	return n
}
