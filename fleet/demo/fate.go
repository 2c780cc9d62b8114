package demo

// Fate is what is going to happen to a task.
type Fate string

// The fates.
const (
	FatePlain         Fate = "plain"                  // Done at the first attempt.
	FateSlow          Fate = "slow"                   // Takes longer than the ack wait, with heartbeats all along.
	FateDuplicate     Fate = "duplicate_publish"      // Published two or three times with one id, done once.
	FateNak           Fate = "nak"                    // Handed back with a delay by the first attempt, done by the second.
	FateCrashBefore   Fate = "crash_before_recording" // The first attempt works, heartbeats and falls silent; the second does it.
	FateCrashAfter    Fate = "crash_after_recording"  // The first attempt records its completion and falls silent; the second only acknowledges.
	FateTimeout       Fate = "silent_timeout"         // The first attempt takes it and never answers; the second does it.
	FateExhausted     Fate = "exhausted"              // No attempt ever answers.
	FateNakExhausted  Fate = "nak_exhausted"          // Every attempt hands it back.
	FateTerminated    Fate = "terminated"             // Ended for good by the agent: no attempt can succeed.
	FateOverflow      Fate = "context_overflow"       // Ended by the agent: the prompt exceeds the model's context window.
	FateRecoverable   Fate = "recoverable"            // Ended by the agent for a reason that a changed retry may cure.
	FateOrphan        Fate = "orphan"                 // Addressed to an agent that has no worker.
	fatesOfADeckTotal      = 60
)

// deck is how often each fate comes in every sixty tasks: at the default rate, each of them within the first minute.
var deck = []struct {
	fate  Fate
	times int
}{
	{FatePlain, 31}, {FateSlow, 5}, {FateDuplicate, 4}, {FateNak, 4}, {FateCrashBefore, 2}, {FateCrashAfter, 2}, {FateTimeout, 2},
	{FateExhausted, 1}, {FateNakExhausted, 1}, {FateTerminated, 2}, {FateOverflow, 2}, {FateRecoverable, 2}, {FateOrphan, 2},
}

// fateOf deals the fate of task n: each deck of sixty is shuffled anew, so that nothing repeats and nothing is left out.
func fateOf(seed uint64, n int) Fate {
	cards := make([]Fate, 0, fatesOfADeckTotal)
	for _, d := range deck {
		for range d.times {
			cards = append(cards, d.fate)
		}
	}
	r := dice(seed, n/len(cards), "deck")
	r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards[n%len(cards)]
}

// failure is a reason out of the taxonomy of SPEC 5, with how often it was seen in the field.
type failure struct {
	times int
	text  string
}

var transient = []failure{
	{31, "llm_provider_timeout: no first token after 60 s (request req_%s)"},
	{18, "llm_provider_rate_limit: 429 from the provider, retry-after 2"},
	{9, "github_api_rate_limit: 403 secondary rate limit on /repos"},
	{8, "network_transient: connection reset by peer while reading the reply"},
	{6, "node_preemption: the node gke-agents-%s is being preempted"},
}

var permanent = []failure{
	{7, "authority_exceeded: spending $4,200 needs an approval, the limit of this agent is $500"},
	{4, "impossible_task: the endpoint to be changed was removed in revision %s"},
	{3, "dependency_unavailable: the staging cluster was shut down and is not coming back"},
	{3, "data_integrity: the brief names customer %s, whose record fails its checksum"},
}

var recoverable = []failure{
	{5, "hallucination_loop: the same unknown function was called 5 times in a row"},
	{4, "token_budget_exceeded: 50,000 output tokens spent without a result"},
	{3, "model_confusion: the reply is a refusal although the task is within policy"},
}

var overflow = []failure{
	{9, "context_window_overflow: the prompt is 214,000 tokens, the window is 180,000"},
	{8, "context_window_overflow: the thread of 61 comments and the diff are 167,500 tokens, the window is 150,000"},
}
