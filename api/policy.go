package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/dlqtriage"
)

// TriagePolicy is the triage policy in force.
type TriagePolicy struct {
	File     Text              `json:"file" doc:"The file that goes over the built-in policy; null for none."`
	LoadedAt Instant           `json:"loaded_at" doc:"When it came into force."`
	Problem  Text              `json:"problem" doc:"Why the file as it is now cannot be used, with line numbers; the policy here is then the one before."`
	Policy   *dlqtriage.Policy `json:"policy" doc:"The effective policy. Rules are asked in this order."`
}

func (a *API) describePolicy() {
	register(a, call{
		id: "get-triage-policy", needs: access.Read, path: Base + "/triage/policy", tag: "triage", summary: "The triage policy in force",
		detail: "The rules of classification, agents, models and bounds: those of the file, over the built-in ones.", example: examplePolicy(),
	}, a.triagePolicy)
}

func (a *API) triagePolicy(ctx context.Context, _ *struct{}) (*reply[TriagePolicy], error) {
	s := a.cfg.Policy()
	body := TriagePolicy{File: Text(s.File), LoadedAt: Instant(s.LoadedAt), Problem: Text(s.Problem), Policy: s.Policy}
	return tagged(ctx, body, body), nil
}

func examplePolicy() TriagePolicy {
	p := *dlqtriage.DefaultPolicy()
	p.Rules = p.Rules[:1]
	p.Terms = map[string]string{"github": `\bgithub\b`}
	return TriagePolicy{LoadedAt: Instant(exampleTime(0)), Policy: &p}
}
