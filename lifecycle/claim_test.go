package lifecycle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the worker of one agent says of a message for another counts in no order, and what the message's own worker says does in each.
func TestAnAnswerForAnotherAgentsMessageShowsNothing(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, `
published 0s seq=1 task=T
naked 1s seq=1 n=1 cseq=1
heartbeat 2s seq=1 n=1 cseq=1
heartbeat 3s seq=1 n=1 cseq=7`)
	for i, agent := range []string{"marketing", "mallory", "mallory", "marketing"} {
		events[i].Agent, events[i].Detail.Own = agent, i > 0
	}
	var want MessageFacts
	for i := range 24 {
		var m MessageFacts
		order := slices.Clone(events)
		for k, n := 0, i; k < 4; k++ { // The i-th order.
			at := n % (4 - k)
			n /= 4 - k
			m.Join(order[at])
			order = slices.Delete(order, at, at+1)
		}
		if m.Claims = append([]Claim{}, m.Claims...); i == 0 {
			want = m
		}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Errorf("order %d matters (-first +this):\n%s", i, diff)
		}
		v := Judge(m, TaskFacts{ID: "T"})
		if n := m.CurrentAttempt(); n != 1 || v.State != StateProcessing || len(m.Attempts) != 1 || m.Attempts[0].SeenAt != base.Add(3e9) {
			t.Errorf("order %d: %s, attempt %d: %+v", i, v.State, n, m.Attempts)
		}
	}
	unread := MessageFacts{}
	for _, e := range events[1:] {
		unread.Join(e)
	}
	if n := unread.CurrentAttempt(); n != 1 {
		t.Errorf("while the publish line is not known attempt %d is told, want 1", n)
	}
}
