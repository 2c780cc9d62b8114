package alerts

import (
	"fmt"
	"net/url"
	"strings"

	"fleetglass/lifecycle"
)

// leasesThat finds the leases of one stale kind (SPEC 3).
func leasesThat(kind lifecycle.StaleKind) func(*Facts, Rule) []Finding {
	return func(f *Facts, _ Rule) []Finding {
		var out []Finding
		for _, l := range f.Leases {
			if l.Stale == kind {
				out = append(out, leaseFinding(l))
			}
		}
		return out
	}
}

// Unjudged are the keys of what may be found of leases whose deadline has passed, and of which not all was read by then: the alerts about them are not resolved.
func Unjudged(leases []lifecycle.Lease) map[string]bool {
	keys := map[string]bool{}
	for _, l := range leases {
		if l.Unread {
			keys[leaseKey(l)] = true
		}
	}
	return keys
}

// leaseKey names the message, and the consumer where another one decides about the message's state.
func leaseKey(l lifecycle.Lease) string {
	if l.Beside {
		return l.Message.String() + " " + l.Consumer
	}
	return l.Message.String()
}

// leaseFinding is about the message, not about one attempt: where the next attempt goes the same way, its alert comes back.
func leaseFinding(l lifecycle.Lease) Finding {
	f := Finding{
		Key: leaseKey(l), TaskID: l.TaskID, Since: leaseSince(l), Deadline: l.Deadline,
		What:   taskName(l.Title, l.TaskID) + " " + staleWords(l.Stale),
		Labels: Labels{Agent: l.Agent, Stream: streamName(l.Message), Consumer: l.Consumer},
		Why:    fmt.Sprintf("%s, attempt %d", cut(l.Agent, 40), l.Attempt),
	}
	if l.Beside {
		f.Why = fmt.Sprintf("%s by %s, attempt %d", cut(l.Agent, 40), cut(l.Consumer, 60), l.Attempt)
	}
	if l.MaxDeliver > 0 {
		f.Why += fmt.Sprintf(" of %d", l.MaxDeliver)
	}
	f.Why += ". " + l.Stale.Meaning()
	f.Do.Page = "/in-flight/" + url.PathEscape(l.Message.PathID())
	if l.Beside {
		f.Do.Page = lifecycle.PageOfTask(l.TaskID)
	}
	if l.MaxDeliver > 0 && l.Attempt >= l.MaxDeliver && l.Stale == lifecycle.StaleLease {
		f.Harm = HarmDying // No attempt is left after this one.
	}
	return f
}

// staleWords say what is wrong with a task's lease, behind its name.
func staleWords(kind lifecycle.StaleKind) string {
	switch kind {
	case lifecycle.StaleZombie:
		return "has a zombie: an older attempt acts"
	case lifecycle.StaleWeakAccept:
		return "was claimed and never started"
	}
	return "is " + strings.ReplaceAll(string(kind), "_", " ")
}

// leaseSince is when the lease became what it is: at its deadline where that has passed. What is wrong before that has no known beginning.
func leaseSince(l lifecycle.Lease) lifecycle.Micros {
	if l.Stale == lifecycle.StalePresumedDead || l.Stale == lifecycle.StaleLease {
		return l.Deadline
	}
	return 0
}
