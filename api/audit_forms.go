package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"

	"fleetglass/decision"
	"fleetglass/internal/httperr"
)

// linesType is the media type of JSON with one object in each line.
const linesType = "application/x-ndjson"

// maxAuditRows bounds what is written in one answer.
const maxAuditRows = 100_000

// form is how to write the audit where the caller asks for a form other than JSON; nil for JSON.
func (q *AuditQuery) form() (*auditWriter, error) {
	switch q.Format {
	case "":
		return auditForm(q.Accept), nil
	case "csv":
		return &auditWriter{csvType, auditCSV}, nil
	case "lines":
		return &auditWriter{linesType, auditLines}, nil
	}
	return nil, httperr.Parameter("format", "must be csv or lines")
}

// auditForm is the form that the caller prefers to JSON; nil for none.
func auditForm(accept string) *auditWriter {
	switch {
	case prefers(accept, csvType, "application/json"):
		return &auditWriter{csvType, auditCSV}
	case prefers(accept, linesType, "application/json"):
		return &auditWriter{linesType, auditLines}
	}
	return nil
}

type auditWriter struct {
	contentType string
	write       func([]AuditRow) []byte
}

// wholeAudit is everything that the filter selects, in one answer.
func (a *API) wholeAudit(ctx context.Context, f []decision.AuditFilter, form *auditWriter) (*auditReply, error) {
	var rows []AuditRow
	for after := (*decision.AuditCursor)(nil); len(rows) < maxAuditRows; {
		records, next, err := a.auditAny(ctx, f, after, 1000)
		if err != nil {
			return nil, err
		}
		rows = append(rows, a.auditRows(records)...)
		if after = next; next == nil {
			break
		}
	}
	return &auditReply{Status: 200, CacheControl: "no-store", ContentType: form.contentType, Body: form.write(rows)}, nil
}

// auditCSV is the audit as a table (RFC 4180).
func auditCSV(rows []AuditRow) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.Write([]string{"id", "at", "actor", "role", "token_id", "via", "action", "target", "outcome", "reason", "before", "after", "request_id"}) // A buffer takes everything.
	for _, r := range rows {
		at, _ := json.Marshal(r.At)
		line := []string{
			r.ID, string(bytes.Trim(at, `"`)), r.Actor, string(r.Role), string(r.TokenID), r.Via, r.Action, string(r.Target), r.Outcome, string(r.Reason),
			string(r.Before), string(r.After), string(r.RequestID),
		}
		for i := range line {
			line[i] = cell(line[i])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return out.Bytes()
}

// auditLines is the audit with one JSON object in each line.
func auditLines(rows []AuditRow) []byte {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for _, r := range rows {
		_ = lines.Encode(r) // A buffer takes everything, and every row can be written.
	}
	return out.Bytes()
}
