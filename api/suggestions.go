package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/dlqtriage"
)

// SuggestedRules are rules that corrections by people speak for.
type SuggestedRules struct {
	Data []SuggestedRule `json:"data" nullable:"false" doc:"The latest first."`
	AsOf Instant         `json:"as_of"`
}

// SuggestedRule is one of them.
type SuggestedRule struct {
	Rule    dlqtriage.Rule `json:"rule"`
	YAML    string         `json:"yaml" doc:"As it stands below rules in a policy file."`
	Reason  string         `json:"reason" doc:"The reason that was classified last. Untrusted."`
	By      []string       `json:"by" nullable:"false" doc:"Who classified, the latest first."`
	Entries []string       `json:"entries" nullable:"false" doc:"Ids of the dead letters that speak for it."`
	Against int            `json:"against" doc:"Corrections of the same reason that say something else." example:"0"`
}

const suggestionsDetail = "When a person reclassifies a dead letter, the correction is kept. If the policy in force would classify its reason " +
	"differently, a rule is suggested that gives the class of the correction. Nothing changes until somebody adds it to the policy " +
	"file."

func (a *API) describeSuggestions() {
	register(a, call{
		id: "list-suggested-rules", needs: access.Read, path: Base + "/triage/suggested-rules", tag: "triage", summary: "Rules from corrections",
		detail: suggestionsDetail, example: exampleSuggestions(),
	}, a.suggestions)
}

func (a *API) suggestions(ctx context.Context, _ *struct{}) (*reply[SuggestedRules], error) {
	corrections, err := a.cfg.Query.Corrections(ctx)
	if err != nil {
		return nil, err
	}
	body := suggestionsOf(a.cfg.Policy().Policy.SuggestRules(corrections))
	stable := body
	body.AsOf = Instant(a.now())
	return tagged(ctx, body, stable), nil
}

func suggestionsOf(all []dlqtriage.SuggestedRule) SuggestedRules {
	out := SuggestedRules{Data: []SuggestedRule{}}
	for _, s := range all {
		row := SuggestedRule{Rule: s.Rule, YAML: s.Text, Reason: s.From[0].Reason, Against: s.Against, By: []string{}, Entries: []string{}}
		for _, c := range s.From {
			row.By, row.Entries = append(row.By, c.By), append(row.Entries, c.Entry)
		}
		out.Data = append(out.Data, row)
	}
	return out
}

func exampleSuggestions() SuggestedRules {
	c := dlqtriage.Correction{
		Entry: "TASKS:1042", Reason: "crm: tenant \"acme\" is frozen (case 4711)", By: "ann", Class: dlqtriage.ClassOf("", dlqtriage.DependencyUnavailable),
		At: exampleTime(0),
	}
	out := suggestionsOf(dlqtriage.DefaultPolicy().SuggestRules([]dlqtriage.Correction{c}))
	out.AsOf = Instant(exampleTime(0))
	return out
}
