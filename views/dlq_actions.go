package views

import (
	"cmp"
	"fmt"
	"strings"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// ActionPanel is what can be done about a message that died.
type ActionPanel struct {
	Off   string // Why the reader can do nothing; empty where something can be done.
	Forms []ActionForm
}

// ActionForm is the form of one action. It leads to a preview; nothing is done before that.
type ActionForm struct {
	Href       string // Where it is sent to.
	Revision   uint64 // Of the entry as it is shown.
	Typed      ActionTyped
	Agents     []string // Who can be chosen.
	Uneditable string   // Why the payload cannot be edited here; empty where it can.
	Off        bool     // The reader may not even preview.
	Wrong      string   // Why it was refused; empty where it was not.
}

// ActionTyped is what the fields of the form hold, as texts.
type ActionTyped struct {
	Kind        dlqtriage.ActionKind
	Reason      string
	As          dlqtriage.RetryAs
	Payload     string
	Agent       string
	Wait        string // Of defer: one of the Wait constants.
	Because     string
	Class       string // Of reclassify: category and detail with a slash between.
	Force       bool
	ForceReason string
}

// How long an entry is deferred.
const (
	WaitHuman = "human" // Until a person decides.
	WaitHour  = "1h"
	WaitDay   = "1d"
)

// ActionPage shows one action on one entry before it is taken, or after it was refused.
type ActionPage struct {
	dlqtriage.Entry
	Href    string // Of the entry.
	Form    ActionForm
	Key     string             // Names the request, so that it acts once.
	Preview *dlqtriage.Preview // Nil where the request itself is wrong.
	May     string             // Why the reader may only preview; empty where the reader may act.
	Until   lifecycle.Micros   // Of defer for a time.
}

// params are the fields that were typed, for the hidden fields of the form that acts.
func (t ActionTyped) params() []Param {
	force := ""
	if t.Force {
		force = "on"
	}
	var out []Param
	for _, p := range []Param{
		{Name: "action", Value: string(t.Kind)}, {Name: "reason", Value: t.Reason}, {Name: "as", Value: string(t.As)}, {Name: "payload", Value: t.Payload},
		{Name: "agent", Value: t.Agent}, {Name: "wait", Value: t.Wait}, {Name: "because", Value: t.Because}, {Name: "class", Value: t.Class},
		{Name: "force", Value: force}, {Name: "force_reason", Value: t.ForceReason},
	} {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}

// actionIcon is the icon of an action.
func actionIcon(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRetry:
		return "retried"
	case dlqtriage.ActionReassign:
		return "reassigned"
	case dlqtriage.ActionDefer:
		return "deferred"
	case dlqtriage.ActionDiscard:
		return "discarded"
	case dlqtriage.ActionQuarantine:
		return "quarantined"
	case dlqtriage.ActionReclassify:
		return "edit"
	}
	return "undo"
}

// actionMeans is what an action does, in one sentence.
func actionMeans(k dlqtriage.ActionKind) string {
	switch k {
	case dlqtriage.ActionRetry:
		return "Publish the message again."
	case dlqtriage.ActionReassign:
		return "Publish the message again for another agent."
	case dlqtriage.ActionDefer:
		return "Let it wait."
	case dlqtriage.ActionDiscard:
		return "Nothing is to be done about it. It can be opened again."
	case dlqtriage.ActionQuarantine:
		return "Keep it apart until somebody opens it again."
	case dlqtriage.ActionReclassify:
		return "Say why it died."
	}
	return "Take back what was decided: it is open again."
}

// actionName is the name of an action as a button shows it.
func actionName(k dlqtriage.ActionKind) string {
	if k == "" {
		return "Action"
	}
	return strings.ToUpper(string(k[:1])) + string(k[1:])
}

// changesWords say what an action changes that publishes nothing.
func changesWords(t ActionTyped) string {
	switch t.Kind {
	case dlqtriage.ActionDefer:
		if t.Wait == WaitHuman {
			return "It waits until a person decides."
		}
		return "It waits, and is open again then."
	case dlqtriage.ActionReclassify:
		category, detail, _ := strings.Cut(t.Class, "/")
		return "It counts as " + strings.ReplaceAll(cmp.Or(detail, category), "_", " ") + "."
	}
	return actionMeans(t.Kind)
}

// preflightWords say how much of the model's budget the message uses.
func preflightWords(f dlqtriage.Preflight) string {
	return fmt.Sprintf("%s: about %s of %s tokens of %s; %s", f.Verdict, Count(int64(f.Tokens)), Count(int64(f.Budget)), Cut(f.Model, 60), f.Advice)
}

// fieldID is the id of a field in the form of an action.
func (f ActionForm) fieldID(name string) string { return "act-" + string(f.Typed.Kind) + "-" + name }
