package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// AttemptChoice is an attempt that can be compared with another one.
type AttemptChoice struct {
	Value string // What addresses call it.
	Label string
	On    bool
}

// CompareView is two attempts of a task side by side.
type CompareView struct {
	Choices     []AttemptChoice
	Left, Right string // Their names; empty while fewer than two are chosen.
	Rows        []CompareRow
	Note        string // What should be known about the figures; empty for nothing.
}

// CompareRow is one thing that is known of two attempts. It contains untrusted text.
type CompareRow struct {
	Name        string
	Left, Right string // Empty where there is nothing.
	Absent      string // What stands in place of nothing.
	Difference  string // In words: same, differs, or by how much. Empty where nothing can be said.
	Differs     bool
}

// chosen is an attempt with what belongs to it.
type chosen struct {
	index   int
	message lifecycle.MessageTrace
	attempt lifecycle.Attempt
	events  []lifecycle.Event
}

// AttemptAddress is what addresses call an attempt: its message, its number, whether a former incarnation of the consumer made it, and
// whose it is where several consumers take the message.
func AttemptAddress(m lifecycle.MessageTrace, a lifecycle.Attempt) string {
	s := fmt.Sprintf("%s/%d", m.Facts.Key, a.N)
	if a.Former {
		s += "/former"
	}
	if a.Consumer != "" {
		s += "/" + a.Consumer
	}
	return s
}

// Compare puts the two attempts that are named side by side; without two names the last two. Names that fit no attempt are left out.
func Compare(t lifecycle.Trace, story []Placed, names []string) CompareView {
	var all, taken []chosen
	for i, m := range t.Messages {
		for _, c := range choicesOf(i, m, story, &t.Facts) {
			all = append(all, c)
			if slices.Contains(names, AttemptAddress(c.message, c.attempt)) {
				taken = append(taken, c)
			}
		}
	}
	if len(names) == 0 && len(all) > 1 {
		taken = all[len(all)-2:]
	}
	v := CompareView{}
	for _, c := range all {
		on := slices.ContainsFunc(taken[:min(2, len(taken))], func(o chosen) bool {
			return o.index == c.index && o.attempt.N == c.attempt.N && o.attempt.Former == c.attempt.Former && o.attempt.Consumer == c.attempt.Consumer
		})
		v.Choices = append(v.Choices, AttemptChoice{Value: AttemptAddress(c.message, c.attempt), Label: c.name(len(t.Messages) > 1) + ", " + attemptLook(c.attempt, c.message).Word, On: on})
	}
	if len(taken) > 2 {
		v.Note = "More than two attempts were chosen: these are the first two."
	}
	if len(taken) > 1 {
		v.Left, v.Right = taken[0].name(len(t.Messages) > 1), taken[1].name(len(t.Messages) > 1)
		v.Rows = rowsOf(taken[0], taken[1])
	}
	return v
}

// byHolder reports whether an event is no report of an agent that never had the message: what such an agent says tells nothing of an attempt.
func byHolder(f *lifecycle.TaskFacts, e lifecycle.Event) bool {
	return e.Provenance != lifecycle.Reported || f.MayHaveHad(e.Agent, e.Detail.MsgID)
}

// choicesOf are the attempts of all consumers of a message.
func choicesOf(index int, m lifecycle.MessageTrace, story []Placed, f *lifecycle.TaskFacts) (out []chosen) {
	for _, p := range m.Parts() {
		for _, a := range p.Attempts {
			c := chosen{index: index, message: p, attempt: a}
			for _, e := range story {
				if e.turn() == (turn{index, a.N, a.Former, a.Consumer}) && byHolder(f, e.Event) {
					c.events = append(c.events, e.Event)
				}
			}
			out = append(out, c)
		}
	}
	return out
}

func (c chosen) name(several bool) string {
	if several {
		return fmt.Sprintf("Message %d, %s", c.index+1, strings.ToLower(attemptName(c.attempt, c.message.Consumer)))
	}
	return attemptName(c.attempt, c.message.Consumer)
}

// What stands in a comparison where an attempt has nothing.
const (
	notKnown    = "not known"
	notReported = "not reported" // Agents alone could have said it.
	noneSeen    = "none seen"
)

func rowsOf(a, b chosen) []CompareRow {
	said := func(name, absent string, of func(chosen) string) CompareRow {
		return comparedText(name, absent, of(a), of(b))
	}
	use := [2]lifecycle.ModelUse{a.use(), b.use()}
	return []CompareRow{
		said("Message", notKnown, func(c chosen) string { return Printable(c.message.Facts.Key.String()) }),
		said("Input", notKnown, chosen.input),
		said("Agent", notKnown, chosen.agent),
		said("Worker", notKnown, chosen.worker),
		said("End", notKnown, func(c chosen) string { return attemptLook(c.attempt, c.message).Word }),
		said("Failure", noneSeen, func(c chosen) string { return strings.Join(endReasons(c.attempt, c.events), " · ") }),
		said("Result", notReported, chosen.result),
		said("Side effects", notReported, chosen.effects),
		said("Model", notReported, func(c chosen) string { return Cut(c.use().Model, 120) }),
		comparedNumber("Input tokens", notReported, float64(use[0].InputTokens), float64(use[1].InputTokens), countWords),
		comparedNumber("Output tokens", notReported, float64(use[0].OutputTokens), float64(use[1].OutputTokens), countWords),
		comparedNumber("Cost", notReported, use[0].CostUSD, use[1].CostUSD, USD),
		comparedNumber("Waited", notKnown, float64(a.lasted(lifecycle.SpanWaiting)), float64(b.lasted(lifecycle.SpanWaiting)), durationWords),
		comparedNumber("Running", notKnown, float64(a.lasted(lifecycle.SpanRunning)), float64(b.lasted(lifecycle.SpanRunning)), durationWords),
		comparedNumber("Heartbeats", noneSeen, a.beats(), b.beats(), countWords),
	}
}

func comparedText(name, absent, a, b string) CompareRow {
	r := CompareRow{Name: name, Left: a, Right: b, Absent: absent}
	switch {
	case a == "" && b == "":
	case a == b:
		r.Difference = "same"
	case a == "":
		r.Difference, r.Differs = "second only", true
	case b == "":
		r.Difference, r.Differs = "first only", true
	default:
		r.Difference, r.Differs = "differs", true
	}
	return r
}

// comparedNumber compares figures, of which zero is one that nobody gave.
func comparedNumber(name, absent string, a, b float64, words func(float64) string) CompareRow {
	text := func(f float64) string {
		if f <= 0 {
			return ""
		}
		return words(f)
	}
	r := comparedText(name, absent, text(a), text(b))
	if r.Difference == "differs" {
		sign := "+"
		if b < a {
			sign = "−"
		}
		r.Difference = sign + words(max(a, b)-min(a, b))
	}
	return r
}

func countWords(f float64) string    { return Count(int64(f)) }
func durationWords(f float64) string { return lifecycle.Lasting(time.Duration(f)) }

func (c chosen) input() string {
	s := c.message.Facts.Stored
	if s == nil || s.PayloadHash == "" {
		return ""
	}
	return fmt.Sprintf("%s, fingerprint %s", Bytes(s.Size), Cut(s.PayloadHash, 13))
}

// last is what the last event says that says something.
func (c chosen) last(of func(lifecycle.Event) string) string {
	for _, e := range slices.Backward(c.events) {
		if s := of(e); s != "" {
			return Cut(s, 400)
		}
	}
	return ""
}

func (c chosen) agent() string {
	return c.last(func(e lifecycle.Event) string { return e.Agent })
}

// worker is who holds the lease, as reported, with the fencing token.
func (c chosen) worker() string {
	return c.last(func(e lifecycle.Event) string {
		if e.Detail.LeaseOwner == "" || e.Detail.LeaseVersion == 0 {
			return e.Detail.LeaseOwner
		}
		return fmt.Sprintf("%s, fencing token %d", e.Detail.LeaseOwner, e.Detail.LeaseVersion)
	})
}

func (c chosen) result() string {
	return c.last(func(e lifecycle.Event) string {
		if e.Kind == lifecycle.ReportCompleted || e.Kind == lifecycle.CompletionRecorded {
			return e.Detail.ResultRef
		}
		return ""
	})
}

// effects are the effects of the attempt on the outside, each with who says so: its agent, or the side-effect log, whose entries name no attempt and stand with the one in
// whose time they lie. What was announced and never confirmed may have happened or not.
func (c chosen) effects() string {
	var out []string
	for i, e := range c.events {
		name := strings.TrimSuffix(cmp.Or(e.Detail.Tool, e.Detail.StepID)+" → "+e.Detail.ResultRef, " → ")
		switch e.Kind {
		case lifecycle.ReportStepReceipt:
			out = append(out, name+" (reported)")
		case lifecycle.ReportOutboundSent:
			out = append(out, strings.TrimSpace("sent "+name)+" (reported)")
		case lifecycle.EffectLogged:
			if lifecycle.EffectTookPlace(e.Detail.Status) {
				out = append(out, name+" (recorded)")
			} else {
				out = append(out, name+" (recorded as "+e.Detail.Status+")")
			}
		case lifecycle.ReportStepIntent, lifecycle.ReportOutboundIntent:
			if !confirmed(e, c.events[i+1:]) {
				out = append(out, cmp.Or(e.Detail.Tool, e.Detail.StepID, "an effect")+" (announced, not confirmed in this attempt)")
			}
		}
	}
	return Cut(strings.Join(out, ", "), 400)
}

// confirmed reports whether one of the events after an announcement says that its effect took place.
func confirmed(announced lifecycle.Event, later []lifecycle.Event) bool {
	receipt := lifecycle.ReportStepReceipt
	if announced.Kind == lifecycle.ReportOutboundIntent {
		receipt = lifecycle.ReportOutboundSent
	}
	d := announced.Detail
	return slices.ContainsFunc(later, func(e lifecycle.Event) bool {
		switch e.Kind {
		case receipt:
			return e.Detail.StepID == d.StepID && (d.StepID != "" || e.Detail.IdempotencyKey == d.IdempotencyKey && e.Detail.Tool == d.Tool)
		case lifecycle.EffectLogged:
			return d.IdempotencyKey != "" && e.Detail.IdempotencyKey == d.IdempotencyKey && lifecycle.EffectTookPlace(e.Detail.Status)
		}
		return false
	})
}

func (c chosen) use() lifecycle.ModelUse { return usedModel(c.events) }

// usedModel is what was reported of the model that an attempt used: of several reports the most.
func usedModel(events []lifecycle.Event) (use lifecycle.ModelUse) {
	for _, e := range events {
		if e.Provenance == lifecycle.Reported {
			use = use.Most(e.Detail.ModelUse)
		}
	}
	return use
}

func (c chosen) lasted(kind lifecycle.SpanKind) time.Duration {
	var sum time.Duration
	for _, s := range c.message.Spans {
		if s.Kind == kind && s.Attempt == c.attempt.N && s.Former == c.attempt.Former {
			sum += s.To.Sub(s.From)
		}
	}
	return sum
}

func (c chosen) beats() float64 {
	n := 0.0
	for _, e := range c.events {
		if e.Kind.IsBeat() {
			n++
		}
	}
	return n
}
