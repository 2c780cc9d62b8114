package lifecycle

import "strings"

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

// MatchesAny reports whether a subject is matched by one of a consumer's filters. No filter matches everything.
func MatchesAny(filters []string, subject string) bool {
	for _, f := range filters {
		if matches(f, subject) {
			return true
		}
	}
	return len(filters) == 0
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
