package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
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
		return auditTable(), nil
	case "lines":
		return auditObjects(), nil
	}
	return nil, httperr.Parameter("format", "must be csv or lines")
}

// auditForm is the form that the caller prefers to JSON; nil for none.
func auditForm(accept string) *auditWriter {
	switch {
	case prefers(accept, csvType, "application/json"):
		return auditTable()
	case prefers(accept, linesType, "application/json"):
		return auditObjects()
	}
	return nil
}

// auditWriter writes rows as a file.
type auditWriter struct {
	contentType, extension string
	write                  func([]AuditRow) []byte
}

func auditTable() *auditWriter { return &auditWriter{csvWithHeader, "csv", auditCSV} }

func auditObjects() *auditWriter { return &auditWriter{linesType, "ndjson", auditLines} }

// attachment names the file after the time of asking.
func (w *auditWriter) attachment(now lifecycle.Micros) string {
	return `attachment; filename="fleetglass-audit-` + now.Time().Format("20060102T150405Z") + "." + w.extension + `"`
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
