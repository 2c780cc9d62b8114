//go:build linux

package torture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"
)

// journalOf is what the fleet does with a task that is handed back once and then done, with a heartbeat, published twice.
func journalOf() []line {
	const id = "cto-debugging-1"
	l := func(what string, attempt int) line {
		return line{Task: id, Agent: "cto", Fate: string(demo.FateNak), What: what, Attempt: attempt}
	}
	published, duplicate := l("published", 0), l("duplicate", 0)
	published.Seq, duplicate.Seq = 7, 7
	return []line{
		published, duplicate, l("executed", 1), l("-NAK", 1), l("executed", 2), l("+WPI", 2), l("recorded", 0), l("+ACK", 2),
		{Task: id, Agent: "cto", What: whatReported, Kind: "claimed"},
	}
}

// seenOf is what Fleetglass must say about it.
func seenOf() *seen {
	s := &seen{
		TaskID: "cto-debugging-1", State: "completed", Agent: "cto", Attempts: 2,
		Messages: []seenMessage{{Seq: "7", Attempts: []seenAttempt{{1, "naked"}, {2, "acked"}}}},
	}
	s.Duplicates.CaughtByStream = 1
	for i, e := range []seenEvent{
		{Kind: "published"}, {Kind: "publish_attempted"}, {Kind: "publish_attempted"}, {Kind: "naked", Attempt: 1}, {Kind: "nak_confirmed", Attempt: 1},
		{Kind: "heartbeat", Attempt: 2}, {Kind: "acked", Attempt: 2}, {Kind: "ack_confirmed", Attempt: 2}, {Kind: "completion_recorded"},
		{Kind: "claimed"},
	} {
		e.ID, e.Source, e.SourceSeq = fmt.Sprint(i), "S", fmt.Sprint(i)
		s.Events = append(s.Events, e)
	}
	return s
}

// drop takes the first event of a kind away.
func drop(kind string) func(*seen) {
	return func(s *seen) {
		for i, e := range s.Events {
			if e.Kind == kind {
				s.Events = append(s.Events[:i:i], s.Events[i+1:]...)
				return
			}
		}
		panic("there is no " + kind)
	}
}

// again adds the first event of a kind once more, as another line or as the same.
func again(kind, id, seq string) func(*seen) {
	return func(s *seen) {
		for _, e := range s.Events {
			if e.Kind == kind {
				if e.ID, e.SourceSeq = id, seq; id == "same" {
					e.ID = s.Events[0].ID
				}
				s.Events = append(s.Events, e)
				return
			}
		}
		panic("there is no " + kind)
	}
}

func TestTheComparisonFindsEveryKindOfDifference(t *testing.T) {
	t.Parallel()
	truth := tell(journalOf())["cto-debugging-1"]
	if found := compare(truth, seenOf()); len(found) > 0 {
		t.Fatalf("differences where there are none: %v", found)
	}
	changes := map[string]struct {
		change func(*seen)
		want   string
	}{
		"wrong state":            {func(s *seen) { s.State = "exhausted" }, "state"},
		"still open":             {func(s *seen) { s.State = "completing" }, "state"},
		"unknown outcome":        {func(s *seen) { s.State = "outcome_unknown" }, "state"},
		"wrong agent":            {func(s *seen) { s.Agent = "ceo" }, "agent"},
		"attempt missing":        {func(s *seen) { s.Attempts = 1 }, "attempts"},
		"attempt invented":       {func(s *seen) { s.Messages[0].Attempts = append(s.Messages[0].Attempts, seenAttempt{3, "open"}) }, "end of attempt 3"},
		"wrong end":              {func(s *seen) { s.Messages[0].Attempts[0].End = "timed_out" }, "end of attempt 1"},
		"wrong message":          {func(s *seen) { s.Messages[0].Seq = "8" }, "sequence"},
		"message missing":        {func(s *seen) { s.Messages = nil }, "messages"},
		"anomaly invented":       {func(s *seen) { s.Anomalies = []seenAnomaly{{"vanished"}} }, "anomalies"},
		"gap invented":           {func(s *seen) { s.Gaps = []seenGap{{}} }, "gaps"},
		"heartbeat lost":         {drop("heartbeat"), "heartbeat events"},
		"heartbeat elsewhere":    {func(s *seen) { s.Events[5].Attempt = 1 }, "heartbeats of attempt 2"},
		"heartbeat doubled":      {again("heartbeat", "x", "99"), "heartbeat events"},
		"nak lost":               {drop("naked"), "naked events"},
		"ack lost":               {drop("acked"), "acked events"},
		"metric lost":            {drop("ack_confirmed"), "ack_confirmed events"},
		"record lost":            {drop("completion_recorded"), "completion_recorded events"},
		"report lost":            {drop("claimed"), "claimed events"},
		"publish lost":           {drop("publish_attempted"), "publish_attempted events"},
		"outcome invented":       {func(s *seen) { s.Events = append(s.Events, seenEvent{ID: "v", Kind: "vanished"}) }, "vanished events"},
		"expiry invented":        {func(s *seen) { s.Events = append(s.Events, seenEvent{ID: "v", Kind: "lease_expired"}) }, "lease_expired events"},
		"death invented":         {func(s *seen) { s.Events = append(s.Events, seenEvent{ID: "v", Kind: "presumed_dead"}) }, "presumed_dead events"},
		"event twice":            {again("claimed", "same", "99"), "once"},
		"line twice":             {again("claimed", "x", "3"), "once"},
		"duplicate not counted":  {func(s *seen) { s.Duplicates.CaughtByStream = 0 }, "caught by the stream"},
		"duplicate invented":     {func(s *seen) { s.Duplicates.CaughtByIdempotency = 1 }, "caught by idempotency"},
		"leak invented":          {func(s *seen) { s.Duplicates.ReachedExecution = 1 }, "reached execution"},
		"doubt without a reason": {func(s *seen) { s.Duplicates.Unknown = 1 }, "unknown duplicates"},
	}
	for name, c := range changes {
		s := seenOf()
		c.change(s)
		if found := fmt.Sprint(compare(truth, s)); !strings.Contains(found, c.want) {
			t.Errorf("%s: found %s, want something about %q", name, found, c.want)
		}
	}
}

func TestAfterLossesOnlyHonestAnswersPass(t *testing.T) {
	t.Parallel()
	truth := tell(journalOf())["cto-debugging-1"]
	captured := func() wire {
		w := wire{}
		for _, e := range seenOf().Events {
			w[wireCount{lifecycle.Kind(e.Kind), e.Attempt}]++
		}
		return w
	}
	without := func(kind string, attempt int) wire {
		w := captured()
		delete(w, wireCount{lifecycle.Kind(kind), attempt})
		return w
	}
	tests := []struct {
		name  string
		wire  wire
		left  bool // In the stream.
		gaps  []seenGap
		see   func(*seen)
		found string // Empty: nothing.
	}{
		{"nothing was lost", captured(), false, nil, func(*seen) {}, ""},
		{"what was captured is not there", captured(), false, nil, drop("heartbeat"), "heartbeat events"},
		{"what was not captured is there", without("heartbeat", 2), false, nil, func(*seen) {}, "heartbeat events"},
		{"an open state after nothing was lost", captured(), false, nil, func(s *seen) { s.State = "completing" }, "state"},
		{"an open state after the ack was lost", without("acked", 2), false, nil, func(s *seen) { drop("acked")(s); s.State = "completing" }, ""},
		{"unknown after the ack was lost", without("acked", 2), false, nil, func(s *seen) { drop("acked")(s); s.State = "outcome_unknown" }, ""},
		{"death after the ack was lost", without("acked", 2), false, nil, func(s *seen) { drop("acked")(s); s.State = "exhausted" }, "state"},
		{"completed although it is in the stream", captured(), true, nil, func(*seen) {}, "state"},
		{"vanished although it is in the stream", captured(), true, nil, func(s *seen) {
			s.State = "completing"
			s.Events = append(s.Events, seenEvent{ID: "v", Kind: "vanished"})
		}, "vanished"},
		{"a lost publish without a gap", without("published", 0), false, nil, drop("published"), "its publish line was lost"},
		{"a lost publish with a gap", without("published", 0), false, []seenGap{{Source: "OBS_PUB", FromSeq: "6", ToSeq: "9"}}, func(s *seen) {
			drop("published")(s)
			s.Duplicates.CaughtByStream = 0 // Without a stored message nobody can tell.
		}, ""},
		{"a lost publish that was repaired", without("published", 0), false, nil, func(s *seen) {
			drop("published")(s)
			s.Events = append(s.Events, seenEvent{ID: "r", Kind: "repaired"})
		}, ""},
		{"not stored although it was", captured(), false, nil, func(s *seen) { s.Events = append(s.Events, seenEvent{ID: "n", Kind: "not_stored"}) }, "not_stored"},
		{"more attempts than there can be", captured(), false, nil, func(s *seen) { s.Attempts = 4 }, "attempts"},
		{"a duplicate that nobody published", captured(), false, nil, func(s *seen) { s.Duplicates.CaughtByStream = 2 }, "caught by the stream"},
		{"a duplicate that was forgotten", captured(), false, nil, func(s *seen) { s.Duplicates.CaughtByStream = 0 }, "caught by the stream"},
		{"fewer attempts than were captured", captured(), false, nil, func(s *seen) { s.Attempts = 1 }, "attempts"},
	}
	for _, tt := range tests {
		a := &aftermath{made: func(uint64) *seen { return nil }, wires: &wires{byTask: map[string]wire{truth.ID: tt.wire}}, left: map[uint64]bool{7: tt.left}, gaps: tt.gaps,
			again: func() []seenGap { return tt.gaps }}
		s := seenOf()
		tt.see(s)
		found := a.compare(truth, s)
		if tt.found == "" && len(found) > 0 || tt.found != "" && !strings.Contains(fmt.Sprint(found), tt.found) {
			t.Errorf("%s: found %v, want something about %q", tt.name, found, tt.found)
		}
	}
}

// Seed 803899 of the full disk: two acknowledgements had no effect, the broker said that the attempts are used up, and the line of the third was lost.
func TestTheBrokersWordStandsOnlyWhereTheLineOfAnAnswerWasLost(t *testing.T) {
	t.Parallel()
	truth := &told{ID: "cto-architecture-3", Seq: 4, Publishes: 1, Recorded: 1, Attempts: map[int]*toldAttempt{1: {Executed: 1, Acks: 1}, 2: {Acks: 1}, 3: {Acks: 1}}}
	a := &aftermath{left: map[uint64]bool{}, wires: &wires{}}
	line := wire{{lifecycle.Published, 0}: 1, {lifecycle.Acked, 1}: 1, {lifecycle.Acked, 2}: 1, {lifecycle.ExhaustionSaid, 3}: 1}
	if allowed := a.allowed(truth, line); !slices.Contains(allowed, lifecycle.StateExhausted) || !slices.Contains(allowed, lifecycle.StateCompleted) {
		t.Errorf("with a lost answer: %v", allowed)
	}
	line[wireCount{lifecycle.Acked, 3}] = 1
	if allowed := a.allowed(truth, line); !slices.Equal(allowed, []lifecycle.State{lifecycle.StateCompleted}) {
		t.Errorf("with every answer: %v", allowed)
	}
}

// Seed 436192 of the full disk: the line of a termination was lost. Killed, the broker forgot the termination, of which it had told, and told of a deletion.
func TestATerminationThatTheBrokerForgotIsNotProved(t *testing.T) {
	t.Parallel()
	truth := &told{ID: "cto-debugging-1", Seq: 4, Publishes: 1, Attempts: map[int]*toldAttempt{1: {Executed: 1, Terms: 1}}}
	line := wire{{lifecycle.Published, 0}: 1, {lifecycle.TermConfirmed, 1}: 2}
	terminated := []lifecycle.State{lifecycle.StateTerminated}
	a := &aftermath{left: map[uint64]bool{}, wires: &wires{deleted: map[uint64]bool{4: true}}}
	if allowed := a.allowed(truth, line); !slices.Contains(allowed, lifecycle.StateOutcomeUnknown) || !slices.Contains(allowed, lifecycle.StateTerminated) {
		t.Errorf("the broker told of a deletion too: %v", allowed)
	}
	if allowed := a.allowed(truth, wire{{lifecycle.Published, 0}: 1, {lifecycle.TermConfirmed, 1}: 2, {lifecycle.Terminated, 1}: 1}); !slices.Equal(allowed, terminated) {
		t.Errorf("the worker's own line was captured: %v", allowed)
	}
	a.wires.deleted = nil
	if allowed := a.allowed(truth, line); !slices.Equal(allowed, terminated) {
		t.Errorf("the broker told of no deletion: %v", allowed)
	}
}

// Seed 729606 of the full disk: killed, the broker forgot that it had delivered messages, and numbered the deliveries of others from before them.
func TestTheBrokerForgotWhatItNumbersAgain(t *testing.T) {
	t.Parallel()
	first := handed{"a", 17, 70, 1, "executed"}
	for _, tt := range []struct {
		name  string
		later handed
		want  bool
	}{
		{"a heartbeat", handed{"a", 17, 70, 1, "+WPI"}, false},
		{"the next message", handed{"a", 18, 75, 1, "executed"}, false},
		{"the next message, again", handed{"a", 19, 75, 2, "executed"}, false},
		{"its next attempt", handed{"a", 19, 70, 2, "executed"}, false},
		{"an older message again", handed{"a", 18, 23, 3, "executed"}, false},
		{"another's number", handed{"a", 17, 114, 1, "executed"}, true},
		{"a later message came before it", handed{"a", 16, 113, 1, "executed"}, true},
		{"the first attempt at a later message must have", handed{"a", 18, 75, 2, "executed"}, true},
		{"its own attempt under another number", handed{"a", 18, 70, 1, "executed"}, true},
		{"of another consumer", handed{"b", 17, 114, 1, "executed"}, false},
		{"its end", handed{"a", 17, 70, 1, "+ACK"}, false},
		{"it began again", handed{"a", 17, 70, 1, "executed"}, true},
	} {
		hs := handovers{all: []handed{first, tt.later}}
		if got := hs.forgot(70); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if hs.forgot(tt.later.seq) && tt.later.seq != 70 {
			t.Errorf("%s: the later one is called forgotten", tt.name)
		}
	}
	for consumer, want := range map[string]bool{"a": true, "b": false} { // One of which the broker counts fewer deliveries than its workers got.
		hs := handovers{all: []handed{first}, forgetful: map[string]bool{consumer: true}}
		if got := hs.forgot(70); got != want {
			t.Errorf("deliveries of %s are forgotten: got %v, want %v", consumer, got, want)
		}
	}
}

// Seed 194359 of the full disk: of an attempt the broker's word of a nak was left, and the worker's own line was lost.
func TestTheBrokersWordOfANakAloneIsNoAttempt(t *testing.T) {
	t.Parallel()
	w := wire{{lifecycle.Published, 0}: 1, {lifecycle.NakConfirmed, 1}: 1}
	if got := w.last(); got != 0 {
		t.Errorf("without the worker's line: attempt %d", got)
	}
	w[wireCount{lifecycle.Nacked, 1}] = 1
	if got := w.last(); got != 1 {
		t.Errorf("with it: attempt %d", got)
	}
}

// What is denied of a delivery that the broker forgot is honest, and only there.
func TestOnlyWhatTheBrokerForgotMayBeDenied(t *testing.T) {
	t.Parallel()
	truth := &told{ID: "cto-debugging-1", Seq: 70, Publishes: 1, Attempts: map[int]*toldAttempt{1: {Executed: 1}, 2: {Executed: 1}, 3: {Executed: 2, Terms: 1}}}
	line := wire{{lifecycle.Published, 0}: 1, {lifecycle.Terminated, 3}: 1, {lifecycle.TermConfirmed, 3}: 1}
	see := func(state lifecycle.State, attempts int) *seen {
		s := &seen{State: string(state), Attempts: attempts}
		for i, kind := range []lifecycle.Kind{lifecycle.Published, lifecycle.Terminated, lifecycle.TermConfirmed} {
			s.Events = append(s.Events, seenEvent{ID: fmt.Sprint(i), Kind: string(kind)})
		}
		return s
	}
	forgot := []handed{{"cto-task-worker", 17, 70, 3, "+TERM"}, {"cto-task-worker", 17, 114, 1, "executed"}}
	for _, tt := range []struct {
		name   string
		handed []handed
		seen   *seen
		found  string // Empty: nothing.
	}{
		{"as it was", nil, see(lifecycle.StateTerminated, 3), ""},
		{"denied without a reason", nil, see(lifecycle.StateOutcomeUnknown, 0), "state"},
		{"too few attempts without a reason", nil, see(lifecycle.StateTerminated, 0), "attempts"},
		{"more attempts than numbers without a reason", nil, see(lifecycle.StateTerminated, 4), "attempts"},
		{"denied", forgot, see(lifecycle.StateOutcomeUnknown, 0), ""},
		{"called removed", forgot, see(lifecycle.StateRemoved, 0), "state"},
		{"called completed", forgot, see(lifecycle.StateCompleted, 0), "state"},
		{"a number given twice", forgot, see(lifecycle.StateTerminated, 4), ""},
		{"more attempts than deliveries", forgot, see(lifecycle.StateTerminated, 5), "attempts"},
	} {
		a := &aftermath{made: func(uint64) *seen { return nil }, wires: &wires{bySeq: map[uint64]wire{70: line}}, handed: handovers{all: tt.handed}, left: map[uint64]bool{}, again: func() []seenGap { return nil }}
		found := a.compare(truth, tt.seen)
		if tt.found == "" && len(found) > 0 || tt.found != "" && !strings.Contains(fmt.Sprint(found), tt.found) {
			t.Errorf("%s: found %v, want something about %q", tt.name, found, tt.found)
		}
	}
}

// A task may be unknown by its name only where no captured line says it; what was captured of its message must be there all the same.
func TestATaskThatNoLineNamesMayBeUnknownByItsName(t *testing.T) {
	t.Parallel()
	truth := &told{ID: "cto-debugging-1", Seq: 7, Publishes: 1, Attempts: map[int]*toldAttempt{1: {Executed: 1, Terms: 1}}}
	line := wire{{lifecycle.TermConfirmed, 1}: 1}
	message := &seen{State: "terminated", Attempts: 1, Events: []seenEvent{{ID: "t", Kind: string(lifecycle.TermConfirmed)}}}
	gap := []seenGap{{Source: "OBS_PUB", FromSeq: "6", ToSeq: "9"}}
	tests := []struct {
		name  string
		wires wires
		made  *seen
		gaps  []seenGap
		found string // Empty: nothing.
	}{
		{"a line names it", wires{byTask: map[string]wire{truth.ID: {{lifecycle.PublishAttempted, 0}: 1}}}, nil, gap, "not known"},
		{"its message is known under the made-up name", wires{bySeq: map[uint64]wire{7: line}}, message, gap, ""},
		{"its message is not known", wires{bySeq: map[uint64]wire{7: line}}, nil, gap, "term_confirmed events"},
		{"nothing tells of the loss", wires{bySeq: map[uint64]wire{7: line}}, message, nil, "its publish line was lost"},
	}
	for _, tt := range tests {
		a := &aftermath{made: func(uint64) *seen { return tt.made }, wires: &tt.wires, gaps: tt.gaps, again: func() []seenGap { return tt.gaps }}
		found := a.compare(truth, nil)
		if tt.found == "" && len(found) > 0 || tt.found != "" && !strings.Contains(fmt.Sprint(found), tt.found) {
			t.Errorf("%s: found %v, want something about %q", tt.name, found, tt.found)
		}
	}
}

// A cluster may answer a worker's question about a record from a replica that is behind: then the work runs again, and Fleetglass is right to say so.
func TestExecutionsAfterTheRecordMayBeTold(t *testing.T) {
	t.Parallel()
	l := func(what demo.What, attempt int) line { return line{Task: "a", What: string(what), Attempt: attempt} }
	ran, recorded := l(demo.NoteExecuted, 1), l(demo.NoteRecorded, 0)
	again := l(demo.NoteExecuted, 2)
	for _, tt := range []struct {
		name      string
		lines     []line
		low, high int
	}{
		{"ran once", []line{ran, recorded}, 0, 0},
		{"ran again before the record", []line{ran, again, recorded}, 0, 0},
		{"ran again after the record", []line{ran, recorded, again}, 0, 1},
		{"was recorded again", []line{ran, recorded, again, recorded}, 1, 1},
	} {
		c := comparison{told: tell(tt.lines)["a"]}
		if low, high := c.leaked(); low != tt.low || high != tt.high {
			t.Errorf("%s: may be told %d to %d times, want %d to %d", tt.name, low, high, tt.low, tt.high)
		}
	}
}
