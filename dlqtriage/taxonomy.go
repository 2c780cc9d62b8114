package dlqtriage

import "slices"

// The details: what the cause is, within its category (SPEC 5).
const (
	LLMProviderTimeout    = "llm_provider_timeout"
	LLMProviderRateLimit  = "llm_provider_rate_limit"
	GitHubAPIRateLimit    = "github_api_rate_limit"
	NetworkTransient      = "network_transient"
	NodePreemption        = "node_preemption"
	ContextWindowOverflow = "context_window_overflow"
	HallucinationLoop     = "hallucination_loop"
	TokenBudgetExceeded   = "token_budget_exceeded" //nolint:gosec // No credential: tokens of a model.
	ModelConfusion        = "model_confusion"
	AuthorityExceeded     = "authority_exceeded"
	ImpossibleTask        = "impossible_task"
	DependencyUnavailable = "dependency_unavailable"
	DataIntegrity         = "data_integrity"
)

// DetailRow is the row of a detail in the taxonomy.
type DetailRow struct {
	Class
	Meaning string // One sentence for people.
}

// Details is the taxonomy of SPEC 5, in its order.
func Details() []DetailRow { return taxonomy[:] }

var taxonomy = [...]DetailRow{
	{Class{Transient, LLMProviderTimeout, KindTransient}, "The model's provider did not answer in time, or was overloaded."},
	{Class{Transient, LLMProviderRateLimit, KindTransient}, "The model's provider refused because of too many requests or tokens."},
	{Class{Transient, GitHubAPIRateLimit, KindTransient}, "GitHub refused because of too many requests."},
	{Class{Transient, NetworkTransient, KindTransient}, "A connection, a name or a certificate failed on the way."},
	{Class{Transient, NodePreemption, KindTransient}, "The machine or the process of the worker was taken away."},
	{Class{ConditionallyRecoverable, ContextWindowOverflow, KindResource}, "The prompt does not fit into the model's context window."},
	{Class{ConditionallyRecoverable, HallucinationLoop, KindLogic}, "The model repeated itself, or called what does not exist."},
	{Class{ConditionallyRecoverable, TokenBudgetExceeded, KindResource}, "The task's tokens or money were spent without a result."},
	{Class{ConditionallyRecoverable, ModelConfusion, KindLogic}, "The model refused or misunderstood a task that is in order."},
	{Class{Permanent, AuthorityExceeded, KindAuthority}, "The agent may not do this without somebody's approval."},
	{Class{Permanent, ImpossibleTask, KindLogic}, "What the task asks for cannot be done, or its object does not exist."},
	{Class{Permanent, DependencyUnavailable, KindResource}, "Something that the task needs is gone and does not come back by itself."},
	{Class{Permanent, DataIntegrity, KindLogic}, "The task's own data are wrong."},
}

// DetailNamed is the row of a detail in the taxonomy; known is false for another text.
func DetailNamed(detail string) (row DetailRow, known bool) {
	for _, r := range taxonomy {
		if r.Detail == detail {
			return r, true
		}
	}
	return DetailRow{}, false
}

// ClassOf is the class of a category and a detail, either of which may be empty. A detail of the taxonomy has its own category.
func ClassOf(category Category, detail string) Class {
	if row, known := DetailNamed(detail); known {
		return row.Class
	}
	if category == "" {
		category = Unclassified
	}
	c := Class{Category: category, Detail: detail}
	if category == Transient {
		c.Kind = KindTransient
	}
	return c
}

// Known reports whether c is one of [Categories].
func (c Category) Known() bool { return slices.Contains(Categories(), c) }
