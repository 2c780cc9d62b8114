package lifecycle

// VanishedByAge is the reason of [Vanished] that says that a message was older than the stream's max_age when it was missed.
const VanishedByAge = "older than max_age"

// Endings says when each way in which a message may end is proved, whichever of them its verdict follows. Zero where it is not proved.
type Endings struct {
	CompletedAt Micros // Completion by record or report.
	AckedAt     Micros // First acknowledgement that was not refuted.
	TermAt      Micros // First termination that was not refuted.
	TermReason  string // What was said with the termination.
}

// JudgeEndings is [Judge] together with the endings that it weighs.
func JudgeEndings(m MessageFacts, t TaskFacts) (Verdict, Endings) {
	ev := evidenceOf(&m, &t)
	return ev.judge(), Endings{CompletedAt: ev.completedAt, AckedAt: ev.ackedAt, TermAt: ev.termAt, TermReason: m.termReason(ev.termAt)}
}

// termReason is the reason of the termination at the given time.
func (m *MessageFacts) termReason(at Micros) string {
	for _, a := range m.Attempts {
		if at.Known() && a.TermAt == at {
			return a.TermReason
		}
	}
	return ""
}
