package api

import (
	"net/url"

	"fleetglass/reconcile"
)

// Reconciliation is one comparison of what was published with what became of it.
type Reconciliation struct {
	ID            string           `json:"id" doc:"Later ones have later ids." example:"01K9ZJ3F6Q"`
	Status        string           `json:"status" enum:"queued,running,done,failed" example:"done"`
	Failure       Text             `json:"failure" doc:"Why it failed; null otherwise."`
	Cause         string           `json:"cause" enum:"on_demand,scheduled,restart" doc:"Somebody asked, its time had come, or the program started." example:"on_demand"`
	Actor         Text             `json:"actor" doc:"Who asked."`
	Period        Period           `json:"period" doc:"Messages stored in this span are compared: from <= time < to."`
	CreatedAt     Instant          `json:"created_at"`
	StartedAt     Instant          `json:"started_at" doc:"Null while it is queued."`
	EndedAt       Instant          `json:"ended_at" doc:"Null until it is done or failed."`
	Progress      Maybe[Progress]  `json:"progress" doc:"How far it is; null unless it is running."`
	AsOf          Instant          `json:"as_of" doc:"The time of the comparison; null until it is done."`
	Balance       Maybe[Balance]   `json:"balance" doc:"Over all streams and agents; null until it is done."`
	Unexplained   *int64           `json:"unexplained" doc:"The term of the balance that must be zero; null until it is done." example:"0"`
	Discrepancies *int64           `json:"discrepancies" doc:"Discrepancies in all lists; null until it is done." example:"2"`
	Counts        map[string]int64 `json:"counts" doc:"Discrepancies by kind; empty until it is done."`
	Links         ReportLinks      `json:"links"`
}

// Period is a span of time, from <= time < to.
type Period struct {
	From Instant `json:"from"`
	To   Instant `json:"to"`
}

// Progress is how far a running reconciliation is.
type Progress struct {
	Phase Text   `json:"phase" doc:"What it is doing, in words."`
	Read  int64  `json:"read" doc:"Messages judged." example:"1200"`
	Total *int64 `json:"total" doc:"Messages to judge, about; null while it is not known." example:"4800"`
}

// Balance is the equation published = completed + in_flight + in_dlq + terminated + expired + exhausted + unexplained.
type Balance struct {
	Published   int64 `json:"published" doc:"Messages stored by the stream, counted by sequence numbers." example:"2847"`
	Completed   int64 `json:"completed" doc:"Acknowledged, or gone after completion was recorded." example:"2830"`
	InFlight    int64 `json:"in_flight" doc:"Waiting, held by a worker, or due to be delivered again." example:"4"`
	InDLQ       int64 `json:"in_dlq" doc:"A dead-letter entry exists, decided about or not." example:"10"`
	Terminated  int64 `json:"terminated" doc:"Ended by a worker or an operator, without a dead-letter entry." example:"1"`
	Expired     int64 `json:"expired" doc:"Left the stream by its max_age." example:"1"`
	Exhausted   int64 `json:"exhausted" doc:"Attempts used up, without a dead-letter entry." example:"0"`
	Unexplained int64 `json:"unexplained" doc:"What became of them is not known." example:"1"`
	NeverSeen   int64 `json:"never_seen" doc:"How many of the unexplained are known by their sequence number only." example:"0"`
	Balanced    bool  `json:"balanced" doc:"Both sides are equal, which they must be." example:"true"`
}

// ReportLinks are the addresses of a reconciliation.
type ReportLinks struct {
	Self string `json:"self" example:"/api/v1/reconciliations/01K9ZJ3F6Q"`
	JSON string `json:"json" doc:"The report as a file." example:"/api/v1/reconciliations/01K9ZJ3F6Q?format=json"`
	CSV  string `json:"csv" doc:"The same as a table." example:"/api/v1/reconciliations/01K9ZJ3F6Q?format=csv"`
	Page string `json:"page" doc:"Address of the page that shows the same." example:"/reconciliation?id=01K9ZJ3F6Q"`
}

func reconciliationOf(r reconcile.Run) Reconciliation {
	self := Base + "/reconciliations/" + url.PathEscape(r.ID)
	out := Reconciliation{
		ID: r.ID, Status: string(r.Status), Failure: Text(r.Failure), Cause: string(r.Cause), Actor: Text(r.Actor),
		Period: periodOf(r.Period), CreatedAt: Instant(r.CreatedAt), StartedAt: Instant(r.StartedAt), EndedAt: Instant(r.EndedAt),
		Counts: map[string]int64{},
		Links:  ReportLinks{Self: self, JSON: self + "?format=json", CSV: self + "?format=csv", Page: "/reconciliation?id=" + url.QueryEscape(r.ID)},
	}
	if r.Status == reconcile.StatusRunning {
		out.Progress = just(progressOf(r.Progress))
	}
	if report := r.Report; report != nil {
		n := report.Discrepancies()
		out.Period, out.AsOf = periodOf(report.Period), Instant(report.AsOf)
		out.Balance, out.Unexplained, out.Discrepancies = just(balanceOf(report.Total)), &report.Total.Unexplained, &n
		for _, l := range report.Lists {
			out.Counts[string(l.Kind)] = l.Total
		}
	}
	return out
}

func periodOf(p reconcile.Period) Period {
	return Period{From: Instant(p.From), To: Instant(p.To)}
}

func progressOf(p reconcile.Progress) Progress {
	out := Progress{Phase: Text(p.Phase), Read: p.Read}
	if p.Total > 0 {
		out.Total = &p.Total
	}
	return out
}

func balanceOf(b reconcile.Balance) Balance {
	return Balance{
		Published: b.Published, Completed: b.Completed, InFlight: b.InFlight, InDLQ: b.InDLQ, Terminated: b.Terminated, Expired: b.Expired,
		Exhausted: b.Exhausted, Unexplained: b.Unexplained, NeverSeen: b.NeverSeen, Balanced: b.Balanced(),
	}
}
