package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// DoctorReport is what the fleet doctor found, the worst first. as_of is when the broker was asked.
type DoctorReport struct {
	List[DoctorFinding]
	Streams   int `json:"streams" doc:"Streams that were looked at." example:"12"`
	Consumers int `json:"consumers" doc:"Consumers that were looked at." example:"13"`
}

// DoctorFinding is one trap in the configuration of the broker.
type DoctorFinding struct {
	Code     string `json:"code" doc:"Which check found it; docs/doctor.md lists them." example:"heartbeat_late"`
	Severity string `json:"severity" enum:"critical,warning,info" example:"warning"`
	Title    string `json:"title" doc:"The trap in a few words." example:"The first wait is shorter than a heartbeat"`
	Resource string `json:"resource" doc:"The stream, consumer or bucket." example:"consumer TASKS cto-task-worker"`
	What     string `json:"what" doc:"What was seen, with its figures."`
	Why      string `json:"why" doc:"What it means for the fleet."`
	Fix      string `json:"fix" doc:"The command that mends it, or what a person must decide."`
}

const doctorDetail = "Reads the configuration of the broker's streams and consumers and names each trap in it: what was seen, what it means for the fleet, " +
	"and the command that mends it. It changes nothing. For 15 seconds the same report is given to everybody who asks."

func (a *API) describeDoctor() {
	register(a, call{
		id: "doctor", needs: access.Read, path: Base + "/doctor", tag: "fleet", summary: "Traps in the broker's configuration",
		detail: doctorDetail, example: exampleDoctor(), failures: []httperr.Code{httperr.InvalidCursor},
	}, a.doctor)
}

func (a *API) doctor(ctx context.Context, in *WholeQuery) (*reply[DoctorReport], error) {
	if a.cfg.Doctor == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server has no doctor.")
	}
	l, err := a.wholeRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	report, err := a.cfg.Doctor(ctx)
	if err != nil {
		return nil, httperr.New(httperr.Unavailable, err).WithDetail("The broker does not answer, so nothing is known about its configuration.")
	}
	body := doctorReportOf(report)
	place := make(map[DoctorFinding]lifecycle.Micros, len(body.Data))
	for i, f := range body.Data {
		place[f] = lifecycle.Micros(i + 1)
	}
	body.Data, body.Page = window(l, body.Data, func(f DoctorFinding) query.Cursor { return query.Cursor{At: place[f]} })
	stable := body
	stable.AsOf, stable.Page = 0, Page{}
	return wholeReply(ctx, l, body.Page, body, stable), nil
}

func doctorReportOf(r doctor.Report) DoctorReport {
	out := DoctorReport{List: List[DoctorFinding]{Data: []DoctorFinding{}, AsOf: Instant(lifecycle.MicrosOf(r.At)), Gaps: []GapRef{}}, Streams: r.Streams, Consumers: r.Consumers}
	for _, f := range r.Findings {
		out.Data = append(out.Data, DoctorFinding{Code: f.Code, Severity: string(f.Severity), Title: f.Title, Resource: f.Resource, What: f.What, Why: f.Why, Fix: f.Fix})
	}
	return out
}

func exampleDoctor() DoctorReport {
	return DoctorReport{Streams: 12, Consumers: 13, List: exampleList(DoctorFinding{
		Code: "heartbeat_late", Severity: "warning", Title: "The first wait is shorter than a heartbeat", Resource: "consumer TASKS cto-task-worker",
		What: "Attempt 1 has 30s, from the backoff. Workers send a heartbeat every 2m.",
		Why:  "The first wait is over before a worker speaks for the first time. The broker gives the task to another worker while the first one is at work.",
		Fix:  "nats consumer edit TASKS cto-task-worker --backoff 5m,5m,5m",
	})}
}
