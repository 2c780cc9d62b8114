package reports

import (
	"fmt"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// New returns the collector of OBS_REPORT.
func New(cfg collectors.Config) (*collectors.Collector, error) {
	return collectors.New(cfg, collectors.Source{Name: "reports", Stream: fleet.CaptureReport, Decode: Decode, AfterPublishes: true, Optional: true})
}

// Decode turns a report into events: one, or several where the body is an array. The subject says the agent, the report's own type says
// the kind. It errors as [fleet.DecodeReports] does, and on a subject that is not a report's.
func Decode(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	agent, _, ok := streams.Contract.ParseReportSubject(line.Subject)
	if !ok {
		return fmt.Errorf("subject %q is not that of a report", line.Subject)
	}
	var err error
	into.Events, err = fleet.DecodeReports(into.Events, line.Body, fleet.ReportOrigin{
		Source: line.SourceName(), Seq: line.Seq, At: line.At, Agent: agent, Raw: line.Raw(),
	})
	return err
}
