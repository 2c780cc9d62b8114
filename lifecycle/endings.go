package lifecycle

// Answered reports whether a worker's own line shows how each delivery of the message ended, and the last of them ended the message: no other answer to it can
// have been lost. Where several consumers take it, or one was created anew, that cannot be told.
func (m *MessageFacts) Answered() bool {
	n := len(m.Attempts)
	if n == 0 || n != m.CurrentAttempt() || len(m.Consumers)+len(m.Former)+len(m.Claims) > 0 || m.RecreatedAt.Known() || m.RefutedAt.Known() {
		return false
	}
	for _, a := range m.Attempts[:n-1] {
		if !a.NakAt.Known() {
			return false
		}
	}
	return m.Attempts[n-1].AckAt.Known() || m.Attempts[n-1].TermAt.Known()
}

// Endings says when each way in which a message may end is proved, whichever of them its verdict follows. Zero where it is not proved.
type Endings struct {
	CompletedAt Micros // Completion by record or report.
	AckedAt     Micros // First acknowledgement that was not refuted.
	UnboundAt   Micros // Its agent reports a completion that may be of it, and nothing tells of which message.
	ToldAt      Micros // A record of its idempotency key, or a report about it, of any of its consumers' workers, says that the work is done: by this message, by another one, or too late to tell.
}

// JudgeEndings is [Judge] together with the endings that it weighs.
func JudgeEndings(m MessageFacts, t TaskFacts) (Verdict, Endings) {
	ev := evidenceOf(&m, &t)
	told := ev.bound.toldAt()
	if len(m.Consumers) > 0 {
		for _, part := range evidenceOfParts(m.Parts(), &t) {
			told = earliest(told, part.bound.toldAt())
		}
	}
	return ev.judge(), Endings{CompletedAt: ev.completedAt, AckedAt: ev.ackedAt, UnboundAt: ev.bound.unboundAt, ToldAt: told}
}
