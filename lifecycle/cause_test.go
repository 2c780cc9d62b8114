package lifecycle

import "testing"

func TestTheCauseIsWhatSomebodySaid(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T1 msgid=T1\n"
	tests := []struct{ name, events, state, want string }{
		{"a worker gave it up with a reason", "terminated 1s seq=1 n=1 cseq=1 reason=schema+invalid\n", "terminated", "schema invalid"},
		{"a worker gave it up without a word, and the agent reported why",
			"failed 1s task=T1 msgid=T1 n=1 reason=no+budget\nterminated 2s seq=1 n=1 cseq=1\n", "terminated", "no budget"},
		{"the worker's own words come before the report",
			"failed 1s task=T1 msgid=T1 n=1 reason=no+budget\nterminated 2s seq=1 n=1 cseq=1 reason=token_budget_exceeded\n", "terminated", "token_budget_exceeded"},
		{"a failed attempt is explained by its own report", "failed 1s task=T1 msgid=T1 n=1 reason=rate+limited\nnaked 2s seq=1 n=1 cseq=1\n", "failed", "rate limited"},
		{"not by that of the attempt before",
			"failed 1s task=T1 msgid=T1 n=1 reason=rate+limited\nnaked 2s seq=1 n=1 cseq=1\nnaked 4s seq=1 n=2 cseq=2\n", "failed", ""},
		{"a dead-letter entry says why where nobody else did", "max_deliveries 2s seq=1 n=3\ndead_lettered 3s seq=1 task=T1 reason=max+deliveries+exceeded\n", "dead_lettered", "max deliveries exceeded"},
		{"a removed message says by what", "vanished 3s seq=1 removal=limit undelivered\n", "removed", "removed by a limit of the stream"},
		{"the broker told of an answer, and of a deletion later: one of them was",
			"heartbeat 1s seq=1 n=1 cseq=1\nterm_confirmed 2s seq=1 n=1 cseq=1 reason=no+budget\nterm_confirmed 5s seq=1 n=1 cseq=1 reason=Unacknowledged+message+was+deleted\n",
			"outcome_unknown", "answered, or removed by an operator, a purge, a rollup, a limit, its age, its TTL or lost interest"},
		{"so it is where the answer was an acknowledgement",
			"heartbeat 1s seq=1 n=1 cseq=1\nack_confirmed 2s seq=1 n=1 cseq=1\nterm_confirmed 5s seq=1 n=1 cseq=1 reason=Unacknowledged+message+was+deleted\n",
			"outcome_unknown", "answered, or removed by an operator, a purge, a rollup, a limit, its age, its TTL or lost interest"},
		{"what is answered after a deletion did not remove the message",
			"heartbeat 1s seq=1 n=1 cseq=1\nterm_confirmed 2s seq=1 n=1 cseq=1 reason=Unacknowledged+message+was+deleted\nterm_confirmed 5s seq=1 n=1 cseq=1 reason=no+budget\n",
			"outcome_unknown", "removed by an operator, a purge, a rollup, a limit, its age, its TTL or lost interest"},
		{"work that went well has no cause", "acked 1s seq=1 n=1 cseq=1\nvanished 2s seq=1 removal=unknown\n", "completed", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows := foldAll([][]Event{parseScenario(t, stored+tt.events)})
			row := rows.tasks["T1"]
			if got := row.Summary; string(got.State) != tt.state || got.Reason != tt.want {
				t.Errorf("got %s because %q, want %s because %q", got.State, got.Reason, tt.state, tt.want)
			}
		})
	}
}

func TestTheCauseIsSearched(t *testing.T) {
	t.Parallel()
	row := TaskRow{Facts: &TaskFacts{ID: "T1"}, Summary: TaskSummary{TaskID: "T1", Title: "Write", Reason: "Token_budget exceeded"}}
	texts := row.SearchTexts()
	if got := texts[len(texts)-1]; got != "token_budget exceeded" {
		t.Errorf("SearchTexts() = %q, want the reason in lower case at the end", texts)
	}
}
