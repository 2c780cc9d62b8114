package dlqtriage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

var planNow = lifecycle.MicrosOf(time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC))

// died is an open case of an agent's work.
func died(category Category, detail string) Case {
	return Case{Class: ClassOf(category, detail), Agent: "marketing", Type: "technical_writing", Status: StatusOpen, Reason: "what went wrong"}
}

func TestAPlanSaysThatNoConsumerTookTheMessage(t *testing.T) {
	t.Parallel()
	c := died(Unclassified, "")
	c.Untaken = true
	p := DefaultPolicy().PlanFor(c, planNow)
	if want := []string{untakenFirst, untakenThen}; !p.Eligible || !p.Untaken || !slices.Equal(p.Reasons, want) {
		t.Errorf("got %+v", p)
	}
	if retry, reassign := p.Against(ActionRetry, AsPlan), p.Against(ActionReassign, AsPlan); retry != untakenStill || reassign != "" {
		t.Errorf("against a retry speaks %q, against another agent %q", retry, reassign)
	}
	c.Taker = "legal-task-worker"
	p = DefaultPolicy().PlanFor(c, planNow)
	if want := []string{"No consumer took its subject when it died. legal-task-worker takes it now.", takenThen}; !p.Eligible || p.Untaken || !slices.Equal(p.Reasons, want) || p.Against(ActionRetry, AsPlan) != "" {
		t.Errorf("once a consumer takes it: got %+v", p)
	}
}

func TestEachRowOfTheStrategyTable(t *testing.T) {
	t.Parallel()
	type want struct {
		delay   time.Duration
		agent   string
		model   string
		retries int
		changes []Modification
	}
	same := func(delay time.Duration, retries int) want {
		return want{delay, "marketing", "gpt-4o", retries, []Modification{}}
	}
	for _, row := range []struct {
		name string
		c    Case
		want want
	}{
		{"transient, first", died(Transient, ""), same(30*time.Second, 3)},
		{"provider timeout", died("", LLMProviderTimeout), same(30*time.Second, 3)},
		{"rate limit", died("", LLMProviderRateLimit), same(30*time.Second, 3)},
		{"github", died("", GitHubAPIRateLimit), same(30*time.Second, 3)},
		{"network", died("", NetworkTransient), same(30*time.Second, 3)},
		{"preemption", died("", NodePreemption), same(30*time.Second, 3)},
		{"transient, second", generation(died(Transient, ""), 1), same(time.Minute, 2)},
		{"transient, third", generation(died(Transient, ""), 2), same(2*time.Minute, 1)},
		{"transient, fourth", generation(died(Transient, ""), 3), same(4*time.Minute, 0)},
		{"transient, fifth", generation(died(Transient, ""), 4), same(5*time.Minute, 0)},
		{"transient, a hundredth", generation(died(Transient, ""), 100), same(5*time.Minute, 0)},
		{"overflow", died("", ContextWindowOverflow), want{10 * time.Second, "marketing", "claude-sonnet-4-5", 1, []Modification{
			{Type: ModifyCompress, MaxTokens: 80_000}, {Type: ModifyFocus, Text: "Focus on the core task."},
		}}},
		{"loop", died("", HallucinationLoop), want{time.Minute, "cto", "gpt-5", 1, []Modification{
			{Type: ModifyPreviousError, Text: "what went wrong"}, {Type: ModifyValidate},
		}}},
		{"budget", died("", TokenBudgetExceeded), want{10 * time.Second, "marketing", "gpt-4o", 1, []Modification{
			{Type: ModifyLimitOutput, Share: 0.6, MaxTokens: 30_000}, {Type: ModifyConcise, Text: "Be concise."},
		}}},
		{"confusion", died("", ModelConfusion), same(2*time.Minute, 1)},
		{"recoverable without a detail", died(ConditionallyRecoverable, ""), same(2*time.Minute, 1)},
		{"authority", died("", AuthorityExceeded), want{0, "ceo", "", 0, []Modification{}}},
		{"impossible", died("", ImpossibleTask), want{0, "ceo", "", 0, []Modification{}}},
		{"dependency", died("", DependencyUnavailable), want{0, "ceo", "", 0, []Modification{}}},
		{"data", died("", DataIntegrity), want{0, "ceo", "", 0, []Modification{}}},
		{"permanent", died(Permanent, ""), want{0, "ceo", "", 0, []Modification{}}},
		{"unclassified", died(Unclassified, ""), same(2*time.Minute, 1)},
		{"unclassified, second", generation(died(Unclassified, ""), 1), same(2*time.Minute, 0)},
	} {
		row.c.Model, row.c.TokenBudget = "gpt-4o", 50_000
		p := DefaultPolicy().PlanFor(row.c, planNow)
		got := want{p.Delay, p.TargetAgent, p.TargetModel, p.MaxAdditionalRetries, p.Modifications}
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
		if p.DueAt != planNow.Add(row.want.delay) || len(p.Reasons) == 0 {
			t.Errorf("%s: due at %v, reasons %v", row.name, p.DueAt.Time(), p.Reasons)
		}
		if p.Eligible != (row.want.retries > 0) || p.Eligible != (len(p.Blocked) == 0) {
			t.Errorf("%s: eligible %v, blocked %v, %d retries", row.name, p.Eligible, p.Blocked, row.want.retries)
		}
	}
}

func generation(c Case, n int) Case {
	c.Generation = n
	return c
}

func TestRetriesByAnotherStrategyDoNotCount(t *testing.T) {
	t.Parallel()
	c := generation(died("", ContextWindowOverflow), 2)
	c.Past = []PastRetry{{Class: ClassOf("", LLMProviderTimeout)}, {Strategy: StrategyBackOff}}
	if p := DefaultPolicy().PlanFor(c, planNow); !p.Eligible || p.MaxAdditionalRetries != 1 {
		t.Errorf("after two tries for something else: %+v", p)
	}
	c.Past = []PastRetry{{Strategy: StrategyBackOff}, {Strategy: StrategyCompress}}
	if p := DefaultPolicy().PlanFor(c, planNow); p.Eligible || p.Blocked[0].Code != BlockedRetriesUsed {
		t.Errorf("after one of its own: %+v", p)
	}
	c.Past = nil
	if p := DefaultPolicy().PlanFor(c, planNow); p.Eligible {
		t.Errorf("generations of which nothing is known: %+v", p)
	}
}

func TestWhatATaskWithTheSameKeyMeansForARetry(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name    string
		sharer  lifecycle.SharedKey
		blocked ObstacleCode
	}{
		{"it is not done", lifecycle.SharedKey{Task: "twin"}, ""},
		{"it was acknowledged", lifecycle.SharedKey{Task: "twin", DoneAt: planNow}, BlockedEffectsUnknown},
		{"it did the work", lifecycle.SharedKey{Task: "twin", DoneAt: planNow, Proved: true}, BlockedCompleted},
	} {
		c := died(Transient, "")
		c.Sharers = []lifecycle.SharedKey{x.sharer}
		p := DefaultPolicy().PlanFor(c, planNow)
		said := fmt.Sprint(p.Reasons, p.Blocked)
		if p.Eligible != (x.blocked == "") || (x.blocked != "" && p.Blocked[0].Code != x.blocked) || !strings.Contains(said, `"twin"`) {
			t.Errorf("%s: %+v", x.name, p)
		}
		if w := duplicateWarning(c); !strings.Contains(w, `"twin"`) {
			t.Errorf("%s: the warning of a retry is %q", x.name, w)
		}
	}
}

func TestWhatStandsInTheWayOfARetry(t *testing.T) {
	t.Parallel()
	for code, edit := range map[ObstacleCode]func(*Case){
		BlockedNotRead:        func(c *Case) { c.Unread = true },
		BlockedPermanent:      func(c *Case) { c.Class = ClassOf("", DataIntegrity) },
		BlockedRetriesUsed:    func(c *Case) { c.Generation = 3 },
		BlockedNotOpen:        func(c *Case) { c.Status = StatusActing },
		BlockedNoPayload:      func(c *Case) { c.PayloadMissing = true },
		BlockedCompleted:      func(c *Case) { c.Completed = true },
		BlockedSuperseded:     func(c *Case) { c.Superseded = true },
		BlockedEffectsUnknown: func(c *Case) { c.EffectsUnknown = "A step began and nothing says that it ended." },
	} {
		c := died(Transient, "")
		if p := DefaultPolicy().PlanFor(c, planNow); !p.Eligible {
			t.Fatalf("before: %v", p.Blocked)
		}
		edit(&c)
		p := DefaultPolicy().PlanFor(c, planNow)
		if p.Eligible || len(p.Blocked) != 1 || p.Blocked[0].Code != code || p.Blocked[0].Why == "" {
			t.Errorf("%s: %+v", code, p.Blocked)
		}
	}
}

func TestAnotherAgentIsTheFirstOtherOneThatCan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agent, taskType, want string }{
		{"cto", "code_review", "backend"}, {"backend", "code_review", "cto"}, {"cto", "debugging", "backend"}, {"devops", "debugging", "cto"},
		{"frontend", "implementation", "backend"}, {"marketing", "content_creation", "ceo"}, {"cso", "compliance", "ceo"},
		{"marketing", "technical_writing", "cto"}, {"legal", "contract_review", "ceo"}, {"ceo", "", "ceo"},
	} {
		if got := DefaultPolicy().AlternateAgent(c.agent, c.taskType); got != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.agent, c.taskType, got, c.want)
		}
	}
}

func TestALargerModelIsTheSmallestThatIsLarger(t *testing.T) {
	t.Parallel()
	for current, want := range map[string]string{
		"gpt-4o": "claude-sonnet-4-5", "claude-sonnet-4-5": "gpt-5", "claude-opus-4-1": "gpt-5", "gpt-5": "gemini-2.5-pro", "gemini-2.5-pro": "",
	} {
		got, ok := DefaultPolicy().LargerModel(current)
		if got.Name != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", current, got.Name, want)
		}
	}
	overflow := func(model string) Plan {
		c := died("", ContextWindowOverflow)
		c.Model = model
		return DefaultPolicy().PlanFor(c, planNow)
	}
	if p := overflow("gemini-2.5-pro"); p.TargetModel != "gemini-2.5-pro" || !p.Eligible {
		t.Errorf("the largest: %+v", p)
	}
	if p := overflow("a-model-of-our-own"); p.TargetModel != "gpt-5" {
		t.Errorf("one that the policy does not know: %+v", p)
	}
	if p := overflow(""); p.TargetModel != "gpt-5" {
		t.Errorf("none named, so the default model's next larger one: %+v", p)
	}
}

func TestAnotherModelIsNeverTheSame(t *testing.T) {
	t.Parallel()
	for _, m := range DefaultPolicy().Models {
		c := died("", HallucinationLoop)
		c.Model = m.Name
		if p := DefaultPolicy().PlanFor(c, planNow); p.TargetModel == m.Name || p.TargetModel == "" {
			t.Errorf("%s: got %q", m.Name, p.TargetModel)
		}
	}
}

func ExamplePolicy_PlanFor() {
	c := Case{Class: ClassOf("", LLMProviderTimeout), Agent: "marketing", Type: "content_creation", Generation: 1, Status: StatusOpen}
	p := DefaultPolicy().PlanFor(c, planNow)
	fmt.Println(p.Strategy, p.Delay, p.TargetAgent, p.MaxAdditionalRetries, p.Eligible)
	// Output: back_off 1m0s marketing 2 true
}
