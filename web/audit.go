package web

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/decision"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// AuditReader answers who did what.
type AuditReader interface {
	// Audit is that of [decision.Auditor].
	Audit(ctx context.Context, f decision.AuditFilter, after *decision.AuditCursor, limit int) (records []decision.AuditRecord, next *decision.AuditCursor, err error)
}

// audit is the list of decisions and refusals. It is read forward only.
func (w *Web) audit(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	asked := auditValues(c)
	after, wrongCursor := auditPlace(c.Query("cursor"), asked)
	f, wrongFilter := auditFilter(asked, w.cfg.Now())
	if err := errors.Join(wrongFilter, wrongCursor); err != nil {
		return err
	}
	var records []decision.AuditRecord
	var next *decision.AuditCursor
	if w.cfg.Audit != nil {
		if records, next, err = w.cfg.Audit.Audit(ctx, f, after, rowsPerPage); err != nil {
			return err
		}
	}
	p := views.AuditPage{
		Links: links(c, address("/audit", fixedSpan(asked, f)), "/api/v1/audit", asked), Actor: f.Actor, Action: f.Action, Outcome: f.Outcome, Outcomes: []string{decision.Allowed, decision.Denied},
		Ranges: rangeOptions(asked.Get("from")), To: asked.Get("to"), CSV: auditFile(asked, "csv"), Lines: auditFile(asked, "lines"),
	}
	var targets []string
	for _, r := range records {
		targets = append(targets, r.Target)
	}
	names, err := w.entryNames(ctx, targets)
	if err != nil {
		return err
	}
	for _, r := range records {
		row := views.AuditRow{
			ID: r.ID, At: r.At, Actor: r.Actor, Role: r.Role, Via: r.Via, Action: r.Action, Target: r.Target, Name: names[r.Target], Reason: w.cfg.Mask.Text(r.Reason),
			Denied: r.Outcome == decision.Denied, Href: auditOperation(r),
		}
		if row.Name != "" {
			row.TargetHref = entryAddress(r.Target)
		}
		p.Rows = append(p.Rows, row)
	}
	if after != nil {
		p.First = address("/audit", asked)
	}
	if next != nil {
		v := auditValues(c)
		v.Set("cursor", query.Cursor{At: next.At, Key: next.ID}.Encode(query.Binding("/audit", asked)))
		p.Older = address("/audit", v)
	}
	if len(records) == 0 {
		p.Empty = noRecords(len(auditValues(c)) > 0)
	}
	return w.render(c, frame{title: "Audit", section: "audit", search: true, still: true, snapshot: snap}, views.Audit(p))
}

// noRecords says whether nothing was recorded yet, or nothing matches what was asked for.
func noRecords(asked bool) views.EmptyState {
	if !asked {
		return views.EmptyState{Kind: "new", Say: "Nothing was decided or refused yet.", Why: "Every decision and every refusal is listed here."}
	}
	return views.EmptyState{Kind: "nomatch", Say: "No record matches.", Why: "Every decision and every refusal is listed here.", Links: []views.Chip{{Href: "/audit", Label: "All records"}}}
}

// auditValues are the parameters of the filter that were given.
func auditValues(c *gin.Context) url.Values {
	v := url.Values{}
	for _, name := range []string{"actor", "action", "outcome", "from", "to"} {
		if value := strings.TrimSpace(c.Query(name)); value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// auditFilter reads what was asked for. The error joins a *lifecycle.FilterError for everything that is wrong.
func auditFilter(asked url.Values, now time.Time) (decision.AuditFilter, error) {
	f := decision.AuditFilter{Actor: asked.Get("actor"), Action: asked.Get("action"), Outcome: asked.Get("outcome")}
	var wrongOutcome error
	if !slices.Contains([]string{"", decision.Allowed, decision.Denied}, f.Outcome) {
		wrongOutcome = &lifecycle.FilterError{Parameter: "outcome", Detail: "must be allowed or denied"}
	}
	span, wrongSpan := lifecycle.ParseFilter(url.Values{"from": asked["from"], "to": asked["to"]}, now)
	f.From, f.To = span.From, span.To
	return f, errors.Join(wrongOutcome, wrongSpan)
}

// fixedSpan is what was asked for with times that do not move, for a link that others open later.
func fixedSpan(asked url.Values, f decision.AuditFilter) url.Values {
	out := maps.Clone(asked)
	for name, at := range map[string]lifecycle.Micros{"from": f.From, "to": f.To} {
		if at.Known() {
			out.Set(name, at.Time().UTC().Format(time.RFC3339Nano))
		}
	}
	return out
}

func auditPlace(cursor string, asked url.Values) (*decision.AuditCursor, error) {
	at, err := readCursor(cursor, query.Binding("/audit", asked))
	if at == nil {
		return nil, err
	}
	return &decision.AuditCursor{At: at.At, ID: at.Key}, nil
}

// auditFile is the address of the whole selection in another form.
func auditFile(asked url.Values, format string) string {
	v := url.Values{"format": {format}}
	for name, values := range asked {
		v[name] = values
	}
	return address("/api/v1/audit", v)
}

// auditOperation is the page of the operation that a record is about; empty where it is about none. The record of an operation's end has its id too.
func auditOperation(r decision.AuditRecord) string {
	if id, _, _ := strings.Cut(r.ID, "/"); strings.HasPrefix(id, "act-") {
		return operationAddress(id)
	}
	return ""
}
