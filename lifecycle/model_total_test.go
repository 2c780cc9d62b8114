package lifecycle

import (
	"math"
	"testing"
)

// used is a report of an attempt.
func used(msgID string, n int, agent, by string, tokens int64, usd float64) Event {
	return Event{Kind: ReportCompleted, Provenance: Reported, TaskID: "T", Agent: agent, Attempt: n, At: 1,
		Detail: Detail{Naming: Naming{MsgID: msgID}, OutcomeReport: OutcomeReport{ReportedBy: by}, ModelUse: ModelUse{InputTokens: tokens, CostUSD: usd}}}
}

func TestTheUseOfAnAttemptCountsOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reports []Event
		want    ModelTotal
	}{
		"none":              {nil, ModelTotal{}},
		"a running total":   {[]Event{used("m", 1, "a", "", 100, 0.25), used("m", 1, "a", "", 300, 0.5)}, ModelTotal{1, 300, 0, 500_000}},
		"two attempts":      {[]Event{used("m", 1, "a", "", 100, 0.25), used("m", 2, "a", "", 300, 0.5)}, ModelTotal{2, 400, 0, 750_000}},
		"a relay as well":   {[]Event{used("m", 1, "a", "", 100, 0.25), used("m", 1, "a", "relay", 100, 0.25)}, ModelTotal{1, 100, 0, 250_000}},
		"once not numbered": {[]Event{used("m", 0, "a", "", 100, 0.25), used("m", 1, "a", "", 100, 0.25)}, ModelTotal{1, 100, 0, 250_000}},
		"never numbered":    {[]Event{used("m", 0, "a", "", 100, 0.25)}, ModelTotal{1, 100, 0, 250_000}},
		"once not named":    {[]Event{used("", 1, "a", "", 100, 0.25), used("m", 1, "a", "", 100, 0.25)}, ModelTotal{1, 100, 0, 250_000}},
		"neither":           {[]Event{used("", 0, "a", "", 100, 0.25), used("m", 1, "a", "", 100, 0.25)}, ModelTotal{1, 100, 0, 250_000}},
		"each in part":      {[]Event{used("", 1, "a", "", 100, 0.25), used("m", 0, "a", "", 300, 0.25)}, ModelTotal{1, 300, 0, 250_000}},
		"a total to come":   {[]Event{used("m", 1, "a", "", 100, 0.25), used("", 1, "a", "", 300, 0.5)}, ModelTotal{1, 300, 0, 500_000}},
		"one of two":        {[]Event{used("m", 1, "a", "", 1, 0.25), used("m:r1", 1, "a", "", 1, 0.5), used("", 1, "a", "", 9, 9)}, ModelTotal{2, 2, 0, 750_000}},
		"another attempt":   {[]Event{used("", 2, "a", "", 100, 0.25), used("m", 1, "a", "", 100, 0.25)}, ModelTotal{2, 200, 0, 500_000}},
		"a retry":           {[]Event{used("m", 1, "a", "", 0, 0.25), used("m:r1", 1, "a", "", 0, 0.5)}, ModelTotal{2, 0, 0, 750_000}},
		"tokens only":       {[]Event{used("m", 1, "a", "", 100, 0)}, ModelTotal{1, 100, 0, 0}},
		"next to nothing":   {[]Event{used("m", 1, "a", "", 0, 1e-9)}, ModelTotal{1, 0, 0, 1}},
		"beyond belief":     {[]Event{used("m", 1, "a", "", 1<<53, 1e300)}, ModelTotal{1, maxModelUse, 0, maxModelUse}},
		"no number":         {[]Event{used("m", 1, "a", "", 0, math.NaN())}, ModelTotal{}},
	} {
		for _, order := range []string{"as reported", "the other way round"} {
			facts := TaskFacts{ID: "T"}
			for i := range tc.reports {
				if order != "as reported" {
					i = len(tc.reports) - 1 - i
				}
				facts.Join(tc.reports[i])
			}
			if got := facts.ModelTotal(); got != tc.want {
				t.Errorf("%s, %s: %+v, want %+v", name, order, got, tc.want)
			}
		}
	}
}

func TestEachOfSeveralConsumersHasAnAttemptOfItsOwn(t *testing.T) {
	t.Parallel()
	facts := TaskFacts{ID: "T", Copies: []DeliveryCopy{{MsgID: "m", Agent: "a", Workers: []string{"a", "b"}}}}
	for _, e := range []Event{used("m", 1, "a", "", 100, 0.25), used("m", 1, "b", "", 100, 0.5), used("", 1, "b", "", 100, 0.5), used("m", 1, "b", "relay", 100, 0.5)} {
		facts.Join(e)
	}
	if got, want := facts.ModelTotal(), (ModelTotal{2, 200, 0, 750_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
