package views

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// ReconciliationPage is one report, what is being made, and the earlier ones.
type ReconciliationPage struct {
	Links   ViewLinks
	CSV     string // Addresses of the downloads; empty where there is no report.
	JSON    string
	Form    *ReconcileForm // Nil where nobody may ask for one.
	Pending []PendingReconciliation
	Failed  *reconcile.Run // The one that is shown, or the newest, failed.
	Report  *reconcile.Report
	Made    reconcile.Run // Where Report comes from.
	Terms   []BalanceTerm
	Lines   []BalanceRow
	Lists   []DiscrepancyPanel // Those with something in them.
	Clean   []string           // Titles of those without.
	Earlier []EarlierReconciliation
	Newest  string     // Address of the newest report, when an earlier one is shown.
	Older   string     // Address of the next rows of Earlier; empty at the end.
	Newer   string     // Likewise, to the beginning.
	Empty   EmptyState // Why there is no report.
}

// ReconcileForm asks for a reconciliation.
type ReconcileForm struct {
	Key  string // Makes a form that is sent twice ask once.
	Zone string // In which its times are read.
}

// PendingReconciliation is one that is queued or being made.
type PendingReconciliation struct {
	reconcile.Run
	Href string
}

// BalanceTerm is a term of the equation.
type BalanceTerm struct {
	Label string
	Icon  string
	Tone  string // Empty for a term that is as it should be.
	Sign  string // Before it: "=" or "+"; empty for the left side.
	N     int64
	Href  string // Optional; where to look further.
	Why   string // What it counts.
}

// BalanceRow is a line of the balance.
type BalanceRow struct {
	Stream, Agent, Href string // Href is the page of the agent; empty where it is not known.
	reconcile.Balance
}

// terms are the numbers of the row in the order of its columns, but for the first and the last.
func (r BalanceRow) terms() []BalanceCell { return CellsOf(r.Balance) }

// BalanceCell is a number of the balance with the name of its term.
type BalanceCell struct {
	Label string
	N     int64
}

// CellsOf are the terms of the right side, in the order of the equation.
func CellsOf(b reconcile.Balance) []BalanceCell {
	return []BalanceCell{
		{"Completed", b.Completed}, {"In flight", b.InFlight}, {"In DLQ", b.InDLQ}, {"Terminated", b.Terminated}, {"Expired", b.Expired},
		{"Exhausted", b.Exhausted}, {"Unexplained", b.Unexplained},
	}
}

// DiscrepancyPanel is a list of what is wrong in one way.
type DiscrepancyPanel struct {
	reconcile.DiscrepancyList
	Rows []DiscrepancyRow
	Rest int64 // What is wrong and not among the rows.
}

// DiscrepancyRow is one thing that is wrong.
type DiscrepancyRow struct {
	reconcile.Discrepancy
	Href        string // The page of its task; empty where none is known.
	MessageHref string // The body of its message; empty where no task is known, and for a run of messages.
}

// messages names the message, or the run of messages.
func (r DiscrepancyRow) messages() string {
	switch {
	case r.Message.IsZero():
		return ""
	case r.N() > 1:
		return fmt.Sprintf("%s–%d", Cut(r.Message.String(), 60), r.ToSeq)
	}
	return Cut(r.Message.String(), 60)
}

func (r DiscrepancyRow) name() string {
	switch {
	case r.TaskID != "":
		return Cut(r.TaskID, 80)
	case r.N() > 1:
		return numbered(r.N(), "message", "messages")
	}
	return "Task not known"
}

// periodStart writes when a period begins; a word where it has no beginning, as that of a first scheduled report, which is asked from one microsecond on.
func periodStart(e Env, from lifecycle.Micros) string {
	if from <= 1 {
		return "The beginning"
	}
	return e.local(from).Format("2 Jan 2006 15:04")
}

// EarlierReconciliation is a row of the list of reconciliations.
type EarlierReconciliation struct {
	reconcile.Run
	Href    string
	Current bool
}

func (r EarlierReconciliation) period() reconcile.Period {
	if r.Report != nil {
		return r.Report.Period
	}
	return r.Period
}

func discrepancyLook(k reconcile.DiscrepancyKind) look {
	l := look{Icon: "warn", Tone: "warn", Word: k.Title()}
	switch k {
	case reconcile.AckedNotRecorded, reconcile.RecordMissing:
		l.Icon, l.Tone = "recorded", "bad"
	case reconcile.OutcomeUnexplained:
		l.Icon, l.Tone = "unknown", "bad"
	case reconcile.NeverSeen:
		l.Icon, l.Tone = "gap", "bad"
	case reconcile.ExhaustedOutsideDLQ:
		l.Icon, l.Tone = "exhausted", "bad"
	case reconcile.ExpiredInStream:
		l.Icon = "clock"
	case reconcile.CompletedNotAcked:
		l.Icon = "completing"
	case reconcile.RecordedUnpublished:
		l.Icon = "recorded"
	case reconcile.HeldThoughSettled, reconcile.HeldUnknown:
		l.Icon = "tasks"
	}
	return l
}

// Verdict says in words what a report comes to.
type Verdict struct {
	Tone, Icon, Say, Why string
}

// VerdictOf judges a report: unexplained messages are worst, then other discrepancies.
func VerdictOf(r *reconcile.Report) Verdict {
	wrong := r.Discrepancies()
	switch {
	case !r.Total.Balanced():
		return Verdict{"bad", "warn", "The two sides differ by " + Count(r.Total.Published-r.Total.Accounted()) + ".", "This is a mistake of Fleetglass itself: please report it."}
	case r.Total.Unexplained > 0:
		return Verdict{"bad", "unknown", numbered(r.Total.Unexplained, "message is", "messages are") + " unexplained.",
			"How they ended is not known. Check whether the work was done before you run it again."}
	case wrong > 0:
		return Verdict{"warn", "warn", "It adds up, but check " + numbered(wrong, "thing", "things") + ".", "Every message is accounted for. The report lists what is wrong with some."}
	case r.Total.Published == 0:
		return Verdict{"ok", "completed", "Nothing was published in this time, and nothing is wrong.", ""}
	}
	return Verdict{"ok", "completed", "Balanced: every message is accounted for.", "The other checks found nothing wrong either."}
}

func causeWord(r reconcile.Run) string {
	switch r.Cause {
	case reconcile.CauseScheduled:
		return "scheduled"
	case reconcile.CauseRestart:
		return "after a restart"
	}
	if r.Actor != "" && r.Actor != "local" { // Local is everybody where nobody signs in.
		return "requested by " + Cut(r.Actor, 40)
	}
	return "requested"
}

func reconciliationState(s reconcile.Status) look {
	switch s {
	case reconcile.StatusDone:
		return look{"completed", "ok", "done"}
	case reconcile.StatusFailed:
		return look{"exhausted", "bad", "failed"}
	case reconcile.StatusRunning:
		return look{"processing", "run", "running"}
	}
	return look{"published", "wait", "queued"}
}

func progressWords(r reconcile.Run) string {
	p := r.Progress
	switch {
	case r.Status == reconcile.StatusQueued:
		return "It waits for the one before it."
	case p.Phase == "":
		return "It has just started."
	}
	phase := strings.ToUpper(p.Phase[:1]) + p.Phase[1:]
	switch {
	case p.Total > 0:
		return fmt.Sprintf("%s: %s of about %s messages.", phase, Count(p.Read), Count(p.Total))
	case p.Read > 0:
		return fmt.Sprintf("%s: %s so far.", phase, numbered(p.Read, "message", "messages"))
	}
	return phase + "."
}

// lower begins a label with a small letter, for the middle of a line.
func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
