package api

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"fleetglass/reconcile"
)

// reconciliationColumns are the columns of the table. The first tells its kinds of rows apart: total and balance have the terms of the
// equation, discrepancy has one thing that is wrong, more counts what is wrong and not listed, note is a sentence.
func reconciliationColumns() []string {
	return []string{
		"row", "kind", "stream", "seq", "to_seq", "count", "task_id", "agent", "state", "at", "why",
		"published", "completed", "in_flight", "in_dlq", "terminated", "expired", "exhausted", "unexplained",
	}
}

// reconciliationCSV writes a report that is done as one table (RFC 4180).
func reconciliationCSV(r reconcile.Run) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	write := func(row ...string) {
		for len(row) < len(reconciliationColumns()) {
			row = append(row, "")
		}
		for i := range row {
			row[i] = cell(row[i])
		}
		_ = w.Write(row) // A buffer takes everything.
	}
	write(reconciliationColumns()...)
	report := r.Report
	write(balanceRow("total", "", "", report.Total)...)
	for _, l := range report.Lines {
		write(balanceRow("balance", l.Stream.String(), l.Agent, l.Balance)...)
	}
	for _, l := range report.Lists {
		rest := l.Total
		for _, d := range l.Rows {
			rest -= d.N()
			write(discrepancyRow(l.Kind, d)...)
		}
		if rest > 0 {
			write("more", string(l.Kind), "", "", "", strconv.FormatInt(rest, 10))
		}
	}
	for _, note := range report.Notes {
		write("note", "", "", "", "", "", "", "", "", "", note)
	}
	w.Flush()
	return out.Bytes()
}

func balanceRow(row, stream, agent string, b reconcile.Balance) []string {
	out := []string{row, "", stream, "", "", "", "", agent, "", "", ""}
	for _, n := range []int64{b.Published, b.Completed, b.InFlight, b.InDLQ, b.Terminated, b.Expired, b.Exhausted, b.Unexplained} {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return out
}

func discrepancyRow(kind reconcile.DiscrepancyKind, d reconcile.Discrepancy) []string {
	out := []string{"discrepancy", string(kind), "", "", "", strconv.FormatInt(d.N(), 10), d.TaskID, d.Agent, string(d.State), "", d.Why}
	if !d.Message.IsZero() {
		out[2], out[3] = d.Message.Stream.String(), strconv.FormatUint(d.Message.Seq, 10)
	}
	if d.ToSeq > 0 {
		out[4] = strconv.FormatUint(d.ToSeq, 10)
	}
	if d.At.Known() {
		out[9] = d.At.Time().Format(instantLayout)
	}
	return out
}

// cell makes text of the fleet harmless in a spreadsheet, which would run what begins like a formula. Leading white space does not
// keep it from that.
func cell(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if begin := strings.TrimLeft(s, " \t\r\n\u00a0"); begin != "" && strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", []rune(begin)[0]) {
		return "'" + s
	}
	if s != "" && (s[0] == '\t' || s[0] == '\r' || s[0] == '\n') {
		return "'" + s
	}
	return s
}
