package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// agent is one of the fleet, with what it is asked to do.
type agent struct {
	name    string
	reports bool // It tells about its work.
	kinds   []kind
}

// kind is a type of task. Each title has at most one %s, filled from subjects.
type kind struct {
	name     string
	titles   []string
	subjects []string
	details  func(r *rand.Rand, subject string) map[string]any
}

// Agents are the names of the agents that have a worker.
func Agents() []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.name
	}
	return names
}

// reporting is an agent that tells about its work.
func reporting(r *rand.Rand) agent {
	var out []agent
	for _, a := range agents {
		if a.reports {
			out = append(out, a)
		}
	}
	return out[r.IntN(len(out))]
}

var (
	models   = []string{"claude-sonnet-4-5", "claude-opus-4-1", "gpt-5", "gemini-2.5-pro"}
	services = []string{"billing-api", "task-router", "auth-gateway", "web-app", "search-index", "webhook-relay", "content-pipeline", "scheduler"}
	themes   = []string{"retry storms", "idempotent consumers", "token budgets", "lease fencing", "prompt caching", "agent handoffs", "trace sampling", "queue depth"}
	changes  = []string{"retry with jitter", "cursor pagination", "rate limits per tenant", "dead-letter replay", "structured logs", "schema validation", "cold-start caching"}
	bugs     = []string{"a leaked connection", "a flaky login test", "a timezone shift in reports", "slow exports", "double-sent invoices", "a memory spike at midnight"}
)

var agents = []agent{
	{name: "ceo", kinds: []kind{
		{"planning", []string{"Plan the next sprint around %s", "Set goals for %s"}, themes, memo},
		{"approval", []string{"Approve the budget for %s", "Decide on the rollout of %s"}, changes, memo},
	}},
	{name: "cto", reports: true, kinds: []kind{
		{"code_review", []string{"Review %s in the message path", "Review the pull request on %s"}, changes, pullRequest},
		{"architecture", []string{"Decide how we handle %s", "Architecture note on %s"}, themes, memo},
		{"technical_writing", []string{"Runbook: what to do about %s"}, themes, article},
		{"debugging", []string{"Find the cause of %s"}, bugs, incident},
	}},
	{name: "backend", kinds: []kind{
		{"implementation", []string{"Implement %s", "Add %s to the public API"}, changes, pullRequest},
		{"api_design", []string{"Design the endpoint for %s"}, changes, memo},
		{"code_review", []string{"Second review of %s"}, changes, pullRequest},
		{"debugging", []string{"Fix %s"}, bugs, incident},
	}},
	{name: "frontend", kinds: []kind{
		{"implementation", []string{"Build the page for %s", "Make room in the sidebar for %s"}, changes, pullRequest},
		{"ui_review", []string{"Check contrast and focus order of the %s page"}, services, pullRequest},
		{"technical_writing", []string{"Write the help text about %s"}, themes, article},
	}},
	{name: "marketing", kinds: []kind{
		{"content_creation", []string{"Blog post: the week we met %s", "Blog post: %s explained with coffee", "Case study on %s"}, themes, article},
		{"social_media", []string{"Thread about %s", "Announce %s on LinkedIn"}, changes, article},
		{"technical_writing", []string{"Newsletter: what we learned about %s"}, themes, article},
	}},
	{name: "devops", reports: true, kinds: []kind{
		{"deployment", []string{"Deploy %s to production", "Roll %s back to the previous release"}, services, rollout},
		{"monitoring", []string{"Alert on error budget of %s"}, services, rollout},
		{"infrastructure", []string{"Upgrade the node pool under %s", "Move %s to spot nodes"}, services, rollout},
		{"debugging", []string{"Trace %s across services"}, bugs, incident},
	}},
	{name: "cso", reports: true, kinds: []kind{
		{"security_review", []string{"Threat model for %s", "Review the secrets of %s"}, services, pullRequest},
		{"vulnerability_scan", []string{"Scan the images of %s"}, services, rollout},
		{"compliance", []string{"Collect SOC 2 evidence for %s"}, services, memo},
	}},
}

// missing is an agent that somebody assigns work to, although nobody ever deployed it.
var missing = agent{name: "legal", kinds: []kind{
	{"contract_review", []string{"Read the data-processing terms of %s", "Check the licence of %s"}, services, memo},
}}

// giverOf says who gives an agent such work. What comes from outside names nobody.
func giverOf(agent, kind string) string {
	switch {
	case kind == "debugging" || kind == "monitoring":
		return "alert-relay"
	case agent == "ceo" || agent == missing.name:
		return ""
	case agent == "cto" || agent == "cso" || agent == "marketing":
		return "ceo"
	}
	return "cto"
}

func (k kind) write(r *rand.Rand) (title string, payload map[string]any) {
	subject := k.subjects[r.IntN(len(k.subjects))]
	title = k.titles[r.IntN(len(k.titles))]
	if strings.Contains(title, "%s") {
		title = fmt.Sprintf(title, subject)
	}
	payload = k.details(r, subject)
	payload["title"] = title
	return title, payload
}

func memo(r *rand.Rand, subject string) map[string]any {
	return map[string]any{
		"brief":    fmt.Sprintf("Two pages at most on %s: options, cost, risk, and one recommendation. Quote numbers from last week.", subject),
		"audience": []string{"board", "leads", "everyone"}[r.IntN(3)],
		"deadline": fmt.Sprintf("in %d h", 2+r.IntN(46)),
	}
}

func article(r *rand.Rand, subject string) map[string]any {
	return map[string]any{
		"outline":  []string{"hook", "what broke", "what we changed", "numbers", "what you can copy"},
		"keywords": []string{subject, "AI agents", "NATS JetStream"},
		"words":    600 + 100*r.IntN(10),
		"tone":     []string{"plain", "warm", "dry"}[r.IntN(3)],
		"slug":     strings.ReplaceAll(subject, " ", "-"),
	}
}

func pullRequest(r *rand.Rand, subject string) map[string]any {
	return map[string]any{
		"repo":   "github.com/example/" + services[r.IntN(len(services))],
		"pr":     100 + r.IntN(900),
		"commit": hexText(r, 10),
		"scope":  subject,
		"diff":   fmt.Sprintf("+%d -%d in %d files", r.IntN(600), r.IntN(300), 1+r.IntN(14)),
		"checks": map[string]string{"unit": "passed", "lint": "passed", "e2e": []string{"passed", "flaky"}[r.IntN(2)]},
	}
}

func incident(r *rand.Rand, subject string) map[string]any {
	return map[string]any{
		"symptom":  subject,
		"service":  services[r.IntN(len(services))],
		"severity": 1 + r.IntN(4),
		"log":      fmt.Sprintf("level=error msg=%q trace=%s <no handler>", subject, hexText(r, 8)),
	}
}

func rollout(r *rand.Rand, subject string) map[string]any {
	return map[string]any{
		"service": subject,
		"image":   fmt.Sprintf("registry.example/%s@sha256:%s", strings.ReplaceAll(subject, " ", "-"), hexText(r, 8)),
		"cluster": []string{"europe-west3", "us-central1", "staging"}[r.IntN(3)],
		"canary":  fmt.Sprintf("%d %%", 5*(1+r.IntN(5))),
	}
}
