package views

import (
	"cmp"
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// kindLook gives an event kind its mark, colour and word.
func kindLook(k lifecycle.Kind) look {
	row := k.Row()
	return look{row.Icon, row.Tone, row.Name}
}

// EventText says what happened in one line, from what the event carries. It contains untrusted text.
func EventText(e lifecycle.Event) string {
	d, row := e.Detail, e.Kind.Row()
	var t eventText
	switch {
	case row.Turn == lifecycle.BeforeAttempts:
		t.published(e, row)
	case row.Turn == lifecycle.OfDelivery:
		t.delivered(e)
	case row.Provenance == lifecycle.Observed && row.About == lifecycle.AboutAttempt:
		t.say("from %s", e.Consumer)
	}
	if d.Basis.Known() {
		t.say("%s after the last sign", lifecycle.Lasting(d.Deadline.Sub(d.Basis)))
	}
	t.say("%s", spaced(d.Category))
	t.say("entry %s", d.Entry)
	t.say("removed %s", d.Removal.Words())
	t.decided(d.Triage)
	t.reported(d)
	if d.Delay > 0 {
		t.say("asked for %s", lifecycle.Lasting(d.Delay))
	}
	if d.AckTime > 0 {
		t.say("after %s", lifecycle.Lasting(d.AckTime))
	}
	rest := strings.Join(t, ", ")
	if d.Reason != "" && rest != "" { // What somebody looks for comes first.
		rest = d.Reason + " · " + rest
	}
	return Printable(cmp.Or(rest, d.Reason))
}

// firstSentence is a text up to its first full stop; all of it where it has only one sentence.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// eventText collects what an event says, a few words each.
type eventText []string

// say adds a value with its words, unless it is empty.
func (t *eventText) say(format, value string) {
	if value != "" {
		*t = append(*t, fmt.Sprintf(format, value))
	}
}

func (t *eventText) published(e lifecycle.Event, row lifecycle.KindRow) {
	d := e.Detail
	t.say("%s", d.Subject)
	if row.About == lifecycle.AboutMessage && d.Generation > 0 {
		t.say("generation %s", fmt.Sprint(d.Generation))
	}
	t.say("retry of %s", d.RetryOf)
	if d.BestEffort {
		t.say("%s", "captured best effort")
	}
}

func (t *eventText) delivered(e lifecycle.Event) {
	t.say("to %s", e.Consumer)
	if !e.Detail.Exact {
		t.say("%s", "no later than this")
	}
}

func (t *eventText) decided(d lifecycle.Triage) {
	t.say("%s", string(d.Outcome))
	if d.Action == "" {
		t.say("by %s", d.Actor)
		return
	}
	t.say("%s", strings.TrimSpace(d.Actor+" asked to "+d.Action))
}

func (t *eventText) reported(d lifecycle.Detail) {
	t.say("reported by %s, which is bound to no agent", d.ReportedBy)
	t.say("%s", d.Tool)
	t.say("class %s", d.StepClass)
	t.say("owner %s", d.LeaseOwner)
	t.say("result %s", d.ResultRef)
	t.say("model %s", d.Model)
}
