package lifecycle

// cause is why the newest attempt failed or the message died, in the words of whoever said so: the worker that gave it up, the agent
// that reported the failure, the dead-letter entry. For a message that was removed it says by what. It is empty where nobody said why,
// and while nothing went wrong. The text is untrusted.
func (ev *evidence) cause(v Verdict) string {
	state := v.State
	if state == StateTriaged {
		state = v.Death.State
	}
	switch {
	case state.Dead():
		return firstText(ev.termReason(), ev.reportedFailure(), ev.entryReason())
	case state == StateFailed:
		return ev.reportedFailure()
	case ev.m.VanishedAt.Known() && ev.m.Removal.Known() && !ev.completedAt.Known():
		return ev.m.RemovedWords()
	}
	return ""
}

// termReason is the text of the worker's +TERM.
func (ev *evidence) termReason() string {
	for a := range ev.m.everyAttempt() {
		if at := a.termAfter(ev.m); at.Known() && at == ev.termAt {
			return a.TermReason
		}
	}
	return ""
}

// reportedFailure is the reason of the latest failure that an agent reported of the newest attempt, or without naming an attempt.
func (ev *evidence) reportedFailure() string {
	var at Micros
	var why string
	for _, r := range ev.reports {
		if (r.Attempt == ev.n || r.Attempt == 0) && r.FailedAt > at {
			at, why = r.FailedAt, r.FailedWhy
		}
	}
	return why
}

func (ev *evidence) entryReason() string {
	if d := ev.entry(); d != nil {
		return d.Reason
	}
	return ""
}
