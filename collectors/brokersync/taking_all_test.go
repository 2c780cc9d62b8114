package brokersync

import (
	"testing"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Only a stream that took the subject since before the first attempt leaves no room for another one that stored it and is gone.
func TestAStreamTookASubjectAllAlong(t *testing.T) {
	t.Parallel()
	all, plain := []string{"genbrain.agents.*.tasks.>"}, []string{"genbrain.agents.plain.tasks.>"}
	for _, tc := range []struct {
		name string
		seen []Observation // Of TASKS, one after the other.
		want bool
	}{
		{"it was there before", []Observation{{Created: 50, At: 200, Subjects: all}}, true},
		{"it takes other subjects", []Observation{{Created: 50, At: 200, Subjects: plain}}, false},
		{"it came later", []Observation{{Created: 101, At: 200, Subjects: all}}, false},
		{"it was created anew since", []Observation{{Created: 50, At: 90, Subjects: all}, {Created: 150, At: 200, Subjects: all}}, false},
		{"it took other subjects before", []Observation{{Created: 50, At: 90, Subjects: plain}, {Created: 50, At: 110, Subjects: all}}, false},
		{"it took them again before", []Observation{{Created: 50, At: 80, Subjects: plain}, {Created: 50, At: 90, Subjects: all}, {Created: 50, At: 110, Subjects: all}}, true},
		{"it is gone", []Observation{{Created: 50, At: 90, Subjects: all}, {Absent: true}}, false},
	} {
		c := &Collector{cfg: Config{Contract: fleet.NewContract("")}, taking: map[string]taking{}}
		for _, o := range tc.seen {
			c.noteTaking("TASKS", o)
		}
		if got := c.tookAllAlong(lifecycle.TaskFacts{Agent: "vip", Type: "work", FirstAt: 100}); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A stream with Interest retention keeps nothing of a subject that no consumer takes.
func TestAStreamKeepsNothingThatNobodyTakes(t *testing.T) {
	t.Parallel()
	of := func(filters ...string) Consumer {
		return Consumer{ConsumerState: lifecycle.ConsumerState{Filters: filters}}
	}
	for _, tc := range []struct {
		name string
		s    taking
		want bool
	}{
		{"nobody takes anything", taking{interest: true}, true},
		{"somebody takes another subject", taking{interest: true, consumers: []Consumer{of("genbrain.agents.cto.tasks.>")}}, true},
		{"somebody takes it", taking{interest: true, consumers: []Consumer{of("genbrain.agents.cto.tasks.>"), of("genbrain.agents.vip.tasks.>")}}, false},
		{"somebody takes everything", taking{interest: true, consumers: []Consumer{of()}}, false},
		{"it keeps what nobody takes", taking{}, false},
	} {
		tc.s.subjects = []string{"genbrain.agents.*.tasks.>"}
		if got := tc.s.keepsNothing("genbrain.agents.vip.tasks.work"); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		if tc.s.keepsNothing("other.subject") {
			t.Errorf("%s: the stream does not take that subject", tc.name)
		}
	}
}
