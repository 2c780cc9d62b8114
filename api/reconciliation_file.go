package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

const (
	csvType       = "text/csv"
	csvWithHeader = csvType + "; charset=utf-8; header=present"
)

type reportFormat string

func reportFormats() []reportFormat { return []reportFormat{"json", "csv"} }

// reconciliationReply writes either form.
type reconciliationReply struct {
	Status       int
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	NoSniff      string `header:"X-Content-Type-Options"`
	ETag         string `header:"ETag" doc:"Changes when the answer does; for If-None-Match."`
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Body         any
}

func (a *API) getReconciliation(ctx context.Context, in *ReconciliationPathInput) (*reconciliationReply, error) {
	service, err := a.reconciler()
	if err != nil {
		return nil, err
	}
	if in.Format != "" && !slices.Contains(reportFormats(), reportFormat(in.Format)) {
		return nil, httperr.Parameter("format", "must be json or csv")
	}
	r, err := service.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &reconciliationReply{Status: http.StatusOK, NoSniff: "nosniff", CacheControl: "no-cache", Vary: "Accept"}
	if in.Format == "csv" || in.Format == "" && prefers(in.Accept, csvType, "application/json") {
		if r.Report == nil {
			return nil, noTableYet(r)
		}
		table := reconciliationCSV(r)
		out.ContentType, out.Body, out.ETag = csvWithHeader, table, entityTag(string(table))
		out.Disposition = attachment(r, "csv")
	} else {
		body := detailOf(r)
		out.ContentType, out.Body, out.ETag = "application/json", body, entityTag(body)
		if in.Format != "" {
			out.Disposition = attachment(r, "json")
		}
	}
	if matches(requestOf(ctx).Header.Values("If-None-Match"), out.ETag) {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, nil
}

// noTableYet says why there is no table.
func noTableYet(r reconcile.Run) error {
	p := httperr.New(httperr.Conflict, nil)
	if r.Status == reconcile.StatusFailed {
		return p.WithDetail("The reconciliation failed: %s", r.Failure)
	}
	return p.WithDetail("The reconciliation is %s; its table exists once it is done.", r.Status)
}

// attachment names the file after the period, so that several can lie side by side.
func attachment(r reconcile.Run, extension string) string {
	p := r.Period
	if r.Report != nil {
		p = r.Report.Period
	}
	day := func(m lifecycle.Micros) string { return m.Time().Format("20060102T150405Z") }
	name := "fleetglass-reconciliation-" + day(p.From) + "-" + day(p.To) + "." + extension
	return `attachment; filename="` + strings.Map(fileRune, name) + `"`
}

// fileRune keeps what every file system takes.
func fileRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
		return r
	}
	return '_'
}
