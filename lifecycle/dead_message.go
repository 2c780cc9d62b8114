package lifecycle

// DeadMessage is how a message died, whatever was decided about it since.
type DeadMessage struct {
	State      State  // Exhausted or terminated; published where no consumer takes it; dead_lettered where only the entry tells of it.
	At         Micros // When it died, as far as is known.
	Reason     string // In the words of whoever said why: its worker, its agent, the dead-letter entry, the broker. Untrusted.
	Deliveries int    // How often it was delivered, as far as is known.
}

// JudgeDead says how a message died. It is false for one that lives, completed, or left the stream without a sign of why. A message that no
// consumer takes is dead too: nobody will ever have it.
func JudgeDead(m MessageFacts, t TaskFacts) (DeadMessage, bool) {
	ev := evidenceOf(&m, &t)
	v := ev.judge()
	if !v.State.Died() && (v.State != StatePublished || !m.untaken()) {
		return DeadMessage{}, false
	}
	d := DeadMessage{State: StateDeadLettered, Reason: firstText(ev.termReason(), ev.reportedFailure(), ev.entryReason(), ev.expiryReason())}
	d.Deliveries = ev.n
	if entry := ev.entry(); entry != nil {
		d.At, d.Deliveries = firstKnown(entry.FailedAt, entry.At), max(ev.n, entry.Deliveries)
	} else {
		d.At = v.Since
	}
	if state, since := ev.diedBefore(); since.Known() {
		d.State, d.At = state, since
	}
	return d, true
}

// untaken reports whether no consumer takes the message's subject.
func (m *MessageFacts) untaken() bool { return m.OrphanedAt.Known() && m.OrphanedAt > m.AdoptedAt }

// diedBefore is how the message died before anybody wrote a dead-letter entry; zero where only the entry tells.
func (ev *evidence) diedBefore() (State, Micros) {
	for _, r := range rules {
		if since, ok := r.holds(ev); ok && r.State.Abandoned() {
			return r.State, since
		}
	}
	if ev.m.untaken() {
		return StatePublished, ev.m.OrphanedAt
	}
	return "", 0
}

// expiryReason is what is said of the deadline after which no attempt was left.
func (ev *evidence) expiryReason() string {
	if ev.current.Dead == nil {
		return ""
	}
	return ev.current.Dead.Reason
}
