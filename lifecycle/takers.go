package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// takers are the consumers that take the subject of a message.
type takers struct {
	present []ConsumerState
	watch   bool   // One that only watches takes it.
	gone    string // One that took it and is deleted; empty when none is known.
}

// takersOf finds the consumers of the message's stream whose filters match its subject.
func (in TraceInput) takersOf(m MessageFacts) takers {
	var out takers
	if m.Stored == nil {
		return out
	}
	for _, c := range in.Consumers {
		switch {
		case c.Stream != m.Key.Stream || !MatchesAny(c.Filters, m.Stored.Subject):
		case c.Watches:
			out.watch = out.watch || !c.Gone
		case c.Gone:
			out.gone = c.Name
		default:
			out.present = append(out.present, c)
		}
	}
	return out
}

// besideSilent adds to the answers about a message that is completed, or died, that another consumer takes it too, of which no sign is known: its worker may have it.
func (in TraceInput) besideSilent(out Answers, m MessageTrace) Answers {
	silent, completed := in.silentTaker(m), m.Verdict.State == StateCompleted
	if silent == "" || !completed && !m.Verdict.State.Died() {
		return out
	}
	if completed {
		out.Recovery.Headline = "Another consumer may not have done it"
	}
	if completed && m.lastOwner().End == EndAcked {
		out.Ownership.Headline = "One of its workers acknowledged it"
	}
	out.Recovery = out.Recovery.and(takesToo(silent))
	return out
}

// takesToo is the clause that tells of such a consumer.
func takesToo(consumer string) string {
	return consumer + " takes it too, and no answer of its worker is known"
}

// besideEnded adds to the answers about a message that one consumer is still to deliver how another is done with it.
func besideEnded(out Answers, m MessageTrace) Answers {
	if m.Verdict.State != StatePublished {
		return out
	}
	for _, p := range m.Others {
		end, ended := map[State]string{
			StateCompleted: "A worker of %s acknowledged it", StateTerminated: "A worker of %s gave it up", StateExhausted: "%s has used up its attempts",
		}[p.Verdict.State]
		if !ended {
			continue
		}
		out.Ownership.Headline = "The stream has it for another consumer"
		out.Ownership.Text = fmt.Sprintf(end+"; %s takes it too, and no delivery to its worker is known.", p.Facts.Consumer, m.Facts.Consumer)
		out.Ownership.At, out.Ownership.Provenance = p.Verdict.Since, Observed
		switch {
		case p.Verdict.Rule == rulePresumedDead:
			out.Ownership.Provenance = Inferred
		case p.Verdict.State == StateExhausted:
			out.Ownership.Provenance = Broker
		}
		return out
	}
	return out
}

// silentTaker is a consumer that takes a message of which others have parts, is not past it, and gave no sign of it; empty where there is none.
func (in TraceInput) silentTaker(m MessageTrace) string {
	if len(in.messageFacts(m.Facts.Key).Consumers) == 0 {
		return ""
	}
	return in.anotherTaker(m)
}

// anotherTaker is a consumer that takes a message which another one delivered, is not past it, and gave no sign of it; empty where there is none.
func (in TraceInput) anotherTaker(m MessageTrace) string {
	facts := in.messageFacts(m.Facts.Key)
	if facts.VanishedAt.Known() {
		return ""
	}
	for _, c := range in.takersOf(facts).present {
		if part := m.Part(c.Name); part.Facts.Consumer != c.Name && c.FloorSeq < facts.Key.Seq {
			return c.Name
		}
	}
	return ""
}

// MayStray reports whether a workers' consumer may have a message in hand whose subject it does not take: it took it before, or nobody looked at it until after the message was
// stored. Of one that was made after a look at the broker its name must allow that.
func (c ConsumerState) MayStray(m MessageFacts) bool {
	delivered := c.AckPending > 0 && c.FloorSeq < m.Key.Seq && m.Key.Seq <= c.DeliveredSeq
	if c.Stream != m.Key.Stream || c.Gone || c.Watches || !delivered || m.Stored == nil {
		return false
	}
	return c.Unseen(m.Stored.At) || c.Seen > m.Stored.At && c.MayBeFor(m.Stored) || c.Refiltered.Strays && c.Refiltered.Took(m.Stored)
}

// MayBeFor reports whether a consumer is not named as the worker of another agent than a message is for.
func (c ConsumerState) MayBeFor(s *StoredFacts) bool {
	agent := AgentOfConsumer(c.Name)
	return agent == "" || s.Agent == "" || agent == s.Agent
}

// stray is a consumer that may have the message in hand, and does not take it; empty where there is none.
func (in TraceInput) stray(m MessageFacts) string {
	for _, c := range in.Consumers {
		if c.MayStray(m) {
			return c.Name
		}
	}
	return ""
}

// messageFacts is what is known of one of the task's messages, of all its consumers.
func (in TraceInput) messageFacts(k MessageKey) MessageFacts {
	for _, m := range in.Record.Messages {
		if m.Key == k {
			return m
		}
	}
	return MessageFacts{}
}

// only are the takers without other consumers than one.
func (t takers) only(consumer string) takers {
	t.present = slices.DeleteFunc(t.present, func(c ConsumerState) bool { return c.Name != consumer })
	return t
}

// before are the takers without the consumers that are past a message, unless all are: what a consumer is past it does not deliver.
func (t takers) before(m MessageFacts) takers {
	past := func(c ConsumerState) bool { return c.past(m) }
	if !t.all(past) {
		t.present = slices.DeleteFunc(slices.Clone(t.present), past)
	}
	return t
}

// CountedAfter is how long a consumer may take to count a message that was just stored among those that it is still to deliver.
const CountedAfter = 200 * time.Millisecond

// past reports whether a consumer does not deliver a message for the first time any more: it delivered it or a later one, or it had none left to deliver when it was
// looked at, because it looked through the stream while it took other subjects.
func (c ConsumerState) past(m MessageFacts) bool {
	return c.DeliveredSeq >= m.Key.Seq || c.Pending == 0 && m.Stored != nil && c.ObservedAt > m.Stored.At.Add(CountedAfter)
}

// all reports whether there are consumers and something holds of each.
func (t takers) all(holds func(ConsumerState) bool) bool {
	for _, c := range t.present {
		if !holds(c) {
			return false
		}
	}
	return len(t.present) > 0
}

// busy reports whether the broker gives the consumer nothing more until it answers.
func (c ConsumerState) busy() bool { return c.MaxAckPending > 0 && c.AckPending >= c.MaxAckPending }

// unheard reports whether the broker would send to the consumer's workers, and none of them is subscribed.
func (c ConsumerState) unheard() bool { return c.Push && !c.Bound }

// letsGo reports whether a consumer that awaits no answers is past a message, so that it may have delivered it and holds it no more. c may be nil.
func (c *ConsumerState) letsGo(seq uint64) bool {
	return c != nil && !c.Gone && c.Unanswered && c.DeliveredSeq >= seq
}

// pausedAt reports whether the consumer delivers nothing at a time, as far as it was looked at: a pause ends by itself.
func (c ConsumerState) pausedAt(now Micros) bool {
	return c.Paused && (!c.PausedUntil.Known() || now < c.PausedUntil)
}

// awaits is what must happen before the broker can give out anything of a consumer, behind "once"; empty where a free worker is enough. c may be nil.
func (c *ConsumerState) awaits(now Micros) string {
	switch {
	case c == nil || c.Gone:
		return ""
	case c.pausedAt(now):
		return "its consumer resumes"
	case c.unheard():
		return "a worker subscribes"
	}
	return ""
}

// Attended reports whether a worker asked for messages when the consumer was looked at, or was subscribed to what the broker sends.
func (c ConsumerState) Attended() bool { return c.Bound || c.Waiting > 0 }

// Allowed is how many attempts the consumers that take a message allow: those of its stream of whose filters takes says so. It is zero where that is not
// known, without limit, or not the same for all of them.
func Allowed(consumers []ConsumerState, stream StreamID, takes func(filters []string) bool) int {
	allowed := 0
	for _, c := range consumers {
		if c.Stream != stream || c.Gone || c.Watches || !takes(c.Filters) {
			continue
		}
		if c.MaxDeliver <= 0 || (allowed > 0 && allowed != c.MaxDeliver) {
			return 0
		}
		allowed = c.MaxDeliver
	}
	return allowed
}

// allowed is how many attempts a message's consumer allows, or those that take it while it is not known to have one.
func (in TraceInput) allowed(m MessageFacts, c *ConsumerState) int {
	switch {
	case c != nil:
		return max(0, c.MaxDeliver)
	case m.Consumer != "" || m.Stored == nil:
		return 0
	}
	return Allowed(in.Consumers, m.Key.Stream, func(filters []string) bool { return MatchesAny(filters, m.Stored.Subject) })
}

// MatchesAny reports whether a subject is matched by one of a consumer's filters. No filter matches everything.
func MatchesAny(filters []string, subject string) bool {
	for _, f := range filters {
		if matches(f, subject) {
			return true
		}
	}
	return len(filters) == 0
}

// TakesOf lists the agents whose tasks the consumer may take, as its filters name them; all says that they may be those of every agent. Subjects of tasks are
// <prefix>.agents.<agent>.tasks.<type>.
func (c ConsumerState) TakesOf() (agents []string, all bool) {
	for _, filter := range c.Filters {
		tokens := strings.Split(filter, ".")
		at := 2
		if i := slices.Index(tokens, "agents"); i > 0 {
			at = i + 1 // Behind a prefix of several tokens.
		}
		switch rest := slices.Index(tokens, ">"); {
		case rest >= 0 && rest <= at, at < len(tokens) && tokens[at] == "*":
			return nil, true
		case at < len(tokens) && !slices.Contains(agents, tokens[at]):
			agents = append(agents, tokens[at])
		}
	}
	return agents, len(c.Filters) == 0
}

// matches is the matching of NATS: * is one token, a final > is one or more.
func matches(filter, subject string) bool {
	for {
		want, moreWanted, wantsOn := strings.Cut(filter, ".")
		got, moreGot, goesOn := strings.Cut(subject, ".")
		if want == ">" && !wantsOn {
			return got != ""
		}
		if want != got && (want != "*" || got == "") {
			return false
		}
		if !wantsOn || !goesOn {
			return wantsOn == goesOn
		}
		filter, subject = moreWanted, moreGot
	}
}
