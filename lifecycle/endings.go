package lifecycle

// Endings says when each way in which a message may end is proved, whichever of them its verdict follows. Zero where it is not proved.
type Endings struct {
	CompletedAt Micros // Completion by record or report.
	AckedAt     Micros // First acknowledgement that was not refuted.
}

// JudgeEndings is [Judge] together with the endings that it weighs.
func JudgeEndings(m MessageFacts, t TaskFacts) (Verdict, Endings) {
	ev := evidenceOf(&m, &t)
	return ev.judge(), Endings{CompletedAt: ev.completedAt, AckedAt: ev.ackedAt}
}
