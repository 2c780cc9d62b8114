package lifecycle

import (
	"testing"
	"time"
)

func TestAWaitThatAJumpFallsIntoHasItsRestToPass(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) Micros { return base.Add(d) }
	ahead := ClockStep{From: at(10 * time.Second), To: at(time.Hour + 10*time.Second)}
	back := ClockStep{From: at(10 * time.Second), To: at(10*time.Second - time.Hour)}
	for _, tc := range []struct {
		name        string
		steps       []ClockStep
		basis, want time.Duration
	}{
		{"no jump", nil, 0, 30 * time.Second},
		{"ahead within it", []ClockStep{ahead}, 0, time.Hour + 30*time.Second},
		{"ahead before it", []ClockStep{ahead}, time.Hour + 11*time.Second, time.Hour + 41*time.Second},
		{"ahead after it", []ClockStep{ahead}, -time.Minute, -30 * time.Second},
		{"back within it: the broker compares what its clock reads", []ClockStep{back}, 0, 30 * time.Second},
		{"ahead twice", []ClockStep{ahead, {From: at(time.Hour + 20*time.Second), To: at(2*time.Hour + 20*time.Second)}}, 0, 2*time.Hour + 30*time.Second},
	} {
		c := ConsumerState{Steps: tc.steps}
		if got := c.Until(at(tc.basis), 30*time.Second); got != at(tc.want) {
			t.Errorf("%s: got %s, want %s", tc.name, offset(got), tc.want)
		}
	}
	if got := (ConsumerState{Steps: []ClockStep{ahead}}).Until(0, time.Minute); got.Known() {
		t.Errorf("what has no basis ends at %s", offset(got))
	}
}

func TestWhatWasCreatedInATimeThatComesTwiceBeganNobodyKnowsWhen(t *testing.T) {
	t.Parallel()
	c := ConsumerState{CreatedAt: base}
	for _, tc := range []struct {
		name string
		step ClockStep
		want Micros
	}{
		{"set back to before it", ClockStep{From: base.Add(time.Minute), To: base.Add(-time.Hour)}, 0},
		{"set back to after it", ClockStep{From: base.Add(time.Minute), To: base.Add(time.Second)}, base},
		{"created after the clock had caught up", ClockStep{From: base.Add(-time.Minute), To: base.Add(-time.Hour)}, base},
		{"ahead", ClockStep{From: base.Add(-time.Minute), To: base.Add(time.Hour)}, base},
	} {
		c.Steps = []ClockStep{tc.step}
		if got := c.Began(); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, offset(got), offset(tc.want))
		}
	}
}
