package mcp

import (
	"crypto/rand"
	"net/http"
	"net/url"

	"fleetglass/access"
)

type deadInput struct {
	Q        string `json:"q,omitempty" jsonschema:"words that match ids, titles and reasons"`
	Category string `json:"category,omitempty" jsonschema:"transient, conditionally_recoverable, permanent or unclassified"`
	Agent    string `json:"agent,omitempty" jsonschema:"only dead letters of this agent"`
	Status   string `json:"status,omitempty" jsonschema:"open, acting, deferred, retried, reassigned, discarded or quarantined"`
	listInput
}

type groupsInput struct {
	By string `json:"by,omitempty" jsonschema:"fields separated by commas, such as category,agent or fingerprint"`
}

type entryInput struct {
	ID string `json:"id" jsonschema:"the id of the dead letter"`
}

type actionInput struct {
	ID     string         `json:"id" jsonschema:"the id of the dead letter"`
	Action string         `json:"action" jsonschema:"retry, reassign, defer, discard, quarantine, reclassify or reopen"`
	Reason string         `json:"reason" jsonschema:"why you do it, in 3 to 2,000 characters; the audit keeps it"`
	Params map[string]any `json:"params,omitempty" jsonschema:"retry: as (plan, unchanged or edited), model, delay_ms; reassign: agent; defer: until or to; discard: because; reclassify: category, detail"`
}

type applyInput struct {
	actionInput
	Key string `json:"idempotency_key" jsonschema:"a key of your own for this call: sent again with the same key, it happens once"`
}

type operationInput struct {
	ID string `json:"id" jsonschema:"the id of the operation"`
}

// actionBody is the body of the call that acts on a dead letter.
type actionBody struct {
	Action string         `json:"action"`
	Reason string         `json:"reason"`
	Params map[string]any `json:"params,omitempty"`
	DryRun bool           `json:"dry_run"`
}

func (in actionInput) call(key string, dryRun bool) call {
	return call{
		method: http.MethodPost, path: "/dlq/" + url.PathEscape(in.ID) + "/actions", key: key,
		body: actionBody{in.Action, in.Reason, in.Params, dryRun},
	}
}

func deadLetterTools() []tool {
	return []tool{
		toolFor[deadInput]{
			name: "list_dlq", title: "Dead letters", needs: access.Read,
			about: "Messages that died, the latest first: why each died, and what is recommended.",
			calls: func(in deadInput) call {
				return call{path: "/dlq", query: in.query("q", in.Q, "category", in.Category, "agent", in.Agent, "status", in.Status)}
			},
			text: deadText,
		},
		toolFor[groupsInput]{
			name: "list_dlq_groups", title: "Dead letters in groups", needs: access.Read,
			about: "Dead letters counted by group, such as category and agent, with the trend of each.",
			calls: func(in groupsInput) call {
				return call{path: "/dlq/groups", query: listInput{}.query("by", in.By)}
			},
			text: groupsText,
		},
		toolFor[entryInput]{
			name: "get_dlq_entry", title: "A dead letter", needs: access.Read,
			about: "One dead letter with its evidence, its original message, its plan, its risk and what was done about it.",
			calls: entryCall, text: entryText,
		},
		toolFor[entryInput]{
			name: "recommend", title: "What to do about a dead letter", needs: access.Read,
			about: "The plan for a dead letter: strategy, target, changes, reasons, and what blocks it.",
			calls: entryCall, text: planText,
		},
		toolFor[actionInput]{
			name: "preview_action", title: "Preview an action", needs: access.TriagePropose, harmless: true,
			about: "What an action on a dead letter would do. Changes nothing.",
			calls: func(in actionInput) call { return in.call("preview-"+rand.Text(), true) }, text: previewText,
		},
		toolFor[applyInput]{
			name: "apply_action", title: "Take an action", needs: access.TriageApply,
			about: "Take an action on a dead letter. Preview it first. The same idempotency_key makes a repetition harmless.",
			calls: func(in applyInput) call { return in.call(in.Key, false) },
			text:  func(d document, _ applyInput) string { return operationText(d) },
		},
		toolFor[operationInput]{
			name: "get_operation", title: "How an action is doing", needs: access.Read,
			about: "The state of an action, the message that it published, and what became of it.",
			calls: func(in operationInput) call { return call{path: "/operations/" + url.PathEscape(in.ID)} },
			text:  func(d document, _ operationInput) string { return operationText(d) },
		},
	}
}

func entryCall(in entryInput) call { return call{path: "/dlq/" + url.PathEscape(in.ID)} }
