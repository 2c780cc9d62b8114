package api

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// AuditReader answers who did what.
type AuditReader interface {
	// Audit is that of [decision.Auditor].
	Audit(ctx context.Context, f decision.AuditFilter, from *decision.AuditCursor, limit int) (records []decision.AuditRecord, next *decision.AuditCursor, err error)
}

// AuditRow is who did, or was refused, what.
type AuditRow struct {
	ID        string          `json:"id"`
	At        Instant         `json:"at"`
	Actor     string          `json:"actor" doc:"The name of the token; local where authentication is off." example:"ceo"`
	Role      Text            `json:"role" doc:"What the token carries: the name of a role, or its scopes." example:"triager"`
	TokenID   Text            `json:"token_id" doc:"The beginning of the token's SHA-256; null for those that need none." example:"5f0c2b1a9d8e"`
	Via       string          `json:"via" doc:"page, api, mcp or auto." example:"api"`
	Action    string          `json:"action" doc:"What: such as retry; of a refusal before the body was read, the name of the call, such as act-on-dead-letter." example:"retry"`
	Target    Text            `json:"target" doc:"What it was done to, such as a dead letter."`
	Outcome   string          `json:"outcome" doc:"allowed or denied." example:"allowed"`
	Reason    Text            `json:"reason" doc:"Why the actor wanted it, or why it was refused."`
	Before    json.RawMessage `json:"before" doc:"What was there before; null where that says nothing."`
	After     json.RawMessage `json:"after" doc:"What is there now; null where that says nothing."`
	RequestID Text            `json:"request_id" doc:"Names the call: the same for each repetition under one Idempotency-Key, refused or not. Null for a call without one."`
}

// AuditQuery selects rows of the audit.
type AuditQuery struct {
	PageQuery
	Actor   []string `query:"actor,explode" doc:"Only rows of one of these actors."`
	Action  []string `query:"action,explode" doc:"Only rows of one of these actions."`
	Outcome []string `query:"outcome,explode" doc:"allowed or denied."`
	From    string   `query:"from" doc:"At or after this time: RFC 3339, a date, or a span back from now such as 15m, 24h, 7d."`
	To      string   `query:"to" doc:"Before this time, in the same forms."`
	Format  string   `query:"format" doc:"A file: csv, or lines with a JSON object each; the same as asking by Accept. Without limit and cursor it has the whole selection."`
	Accept  string   `header:"Accept" hidden:"true"`
}

const auditDetail = "The newest rows come first. As JSON the answer is paged. With Accept: text/csv it is a table, and with application/x-ndjson " +
	"one JSON object in each line, of the whole selection, at most 100,000 rows; with limit, or where there are more, the header Link leads on. Cells that a spreadsheet would take for a formula " +
	"begin with an apostrophe. Rows are never changed or deleted."

func (a *API) describeAudit() {
	register(a, call{
		id: "list-audit", needs: access.Read, path: Base + "/audit", tag: "decisions", summary: "The audit log: who did what, or was refused",
		detail: auditDetail, example: exampleAudit(), failures: []httperr.Code{httperr.InvalidCursor}, shape: shapeAudit,
	}, a.listAudit)
	enumerate(a, "/audit", "outcome", []string{decision.Allowed, decision.Denied})
	enumerate(a, "/audit", "format", []string{"csv", "lines"})
}

func shapeAudit(op *huma.Operation) {
	content := op.Responses["200"].Content
	content[csvType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: string(auditCSV(exampleAudit().Data))}
	content[linesType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: string(auditLines(exampleAudit().Data))}
}

type auditReply struct {
	Status       int
	Link         string `header:"Link" doc:"The following page and the one before (RFC 8288)."`
	CacheControl string `header:"Cache-Control"`
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition" doc:"The name of the file, where the answer is one."`
	Body         any
}

func (a *API) listAudit(ctx context.Context, in *AuditQuery) (*auditReply, error) {
	if a.cfg.Audit == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server keeps no audit.")
	}
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	f, wrongFilter := in.filter(l.base.Time())
	write, wrongForm := in.form()
	if err := together(wrongFilter, wrongForm, wrongPage); err != nil {
		return nil, err
	}
	if write != nil && in.Limit == "" && in.Cursor == "" {
		l.limit = maxAuditRows
	}
	return a.auditPage(ctx, f, l, write)
}

// auditPage is one page, as JSON where write is nil.
func (a *API) auditPage(ctx context.Context, f []decision.AuditFilter, l listRequest, write *auditWriter) (*auditReply, error) {
	var from *decision.AuditCursor
	if l.from != nil {
		from = &decision.AuditCursor{At: l.from.At, ID: l.from.Key, Newer: l.from.Backward}
	}
	records, next, err := a.auditUpTo(ctx, f, from, l.limit)
	if err != nil {
		return nil, err
	}
	var page Page
	if n := len(records); n > 0 {
		page = l.sides(query.Cursor{At: records[0].At, Key: records[0].ID}, query.Cursor{At: records[n-1].At, Key: records[n-1].ID}, next != nil)
	}
	if write != nil {
		return &auditReply{
			Status: 200, Link: l.link(page), CacheControl: "no-store", ContentType: write.contentType, Disposition: write.attachment(l.now), Body: write.write(a.auditRows(records)),
		}, nil
	}
	body := List[AuditRow]{Data: a.auditRows(records), Page: page, AsOf: Instant(l.now), Gaps: []GapRef{}}
	return &auditReply{Status: 200, Link: l.link(page), CacheControl: "no-store", ContentType: "application/json", Body: body}, nil
}

func (q *AuditQuery) filter(now time.Time) ([]decision.AuditFilter, error) {
	var wrongOutcome error
	for _, outcome := range q.Outcome {
		if !slices.Contains([]string{"", decision.Allowed, decision.Denied}, outcome) {
			wrongOutcome = httperr.Parameter("outcome", "must be allowed or denied")
		}
	}
	from, wrongFrom := queryInstant("from", q.From, now)
	to, wrongTo := queryInstant("to", q.To, now)
	all, tooMany := alternatives(decision.AuditFilter{From: from, To: to}, q.Actor, q.Action, q.Outcome)
	return all, together(wrongOutcome, wrongFrom, wrongTo, lifecycle.CheckSpan(from, to), tooMany)
}

func (a *API) auditRows(records []decision.AuditRecord) []AuditRow {
	rows := make([]AuditRow, len(records))
	for i, r := range records {
		rows[i] = AuditRow{
			ID: r.ID, At: Instant(r.At), Actor: r.Actor, Role: Text(r.Role), TokenID: Text(r.TokenID), Via: r.Via, Action: r.Action, Target: Text(r.Target),
			Outcome: r.Outcome, Reason: Text(a.cfg.Mask.Text(r.Reason)), Before: asJSON(withTimes(a.cfg.Mask.Body(r.Before))), After: asJSON(withTimes(a.cfg.Mask.Body(r.After))), RequestID: Text(r.RequestID),
		}
	}
	return rows
}

// storedTime is a time as records keep it: a field that is named as times are, with microseconds as its value. A quotation mark within a text is escaped, so
// no text looks like one.
var storedTime = regexp.MustCompile(`"(?:[a-z]+_at|at|until)":\s*[0-9]+`)

// withTimes writes the times of what a record kept as the API writes times.
func withTimes(kept []byte) []byte {
	return storedTime.ReplaceAllFunc(kept, func(field []byte) []byte {
		name, value, _ := bytes.Cut(field, []byte(":"))
		micros, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return field
		}
		at, _ := Instant(micros).MarshalJSON() // Every number is a time.
		return slices.Concat(name, []byte(":"), at)
	})
}

// asJSON gives what was kept; nothing is null.
func asJSON(b []byte) json.RawMessage {
	if !json.Valid(b) {
		return json.RawMessage("null")
	}
	return b
}

// queryInstant reads a time of the query in the forms of the search; empty is not known.
func queryInstant(name, text string, now time.Time) (lifecycle.Micros, error) {
	if text == "" {
		return 0, nil
	}
	at, err := lifecycle.ParseInstant(text, now)
	if err != nil {
		return 0, httperr.Parameter(name, err.Error())
	}
	return at, nil
}
