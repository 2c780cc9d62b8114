package oneanswer

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/api"
	"fleetglass/internal/telemetry"
	"fleetglass/views"
)

func TestPageAndAPIListTheSameReconciliations(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	var page, want []string
	b.page("/reconciliation").Find("#earlier tbody tr").Each(func(_ int, row *goquery.Selection) {
		page = append(page, fmt.Sprintln(text(row.Find("[data-label=published]")), text(row.Find("[data-label=unexplained]")), text(row.Find("[data-label=discrepancies]"))))
	})
	for _, r := range answer[api.List[api.Reconciliation]](b, "/reconciliations").Data {
		line := fmt.Sprintln("", "", "")
		if r.Balance.Value != nil {
			line = fmt.Sprintln(views.Count(r.Balance.Value.Published), views.Count(*r.Unexplained), views.Count(*r.Discrepancies))
		}
		want = append(want, line)
	}
	equal(t, "reconciliations", page, want)
	if len(want) != 4 {
		t.Errorf("%d reconciliations, want 4", len(want))
	}
}

func TestPageAndAPIShowTheSameReport(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	for _, id := range []string{"a", "c"} {
		report, doc := answer[api.ReconciliationDetail](b, "/reconciliations/"+id), b.page("/reconciliation?id="+id)
		terms := map[string]string{}
		doc.Find(".equation .term").Each(func(_ int, s *goquery.Selection) { terms[text(s.Find(".k"))] = text(s.Find(".v")) })
		equal(t, "terms of "+id, terms, termsOf(*report.Balance.Value))
		var page, want []string
		doc.Find(".balance tbody tr").Each(func(_ int, row *goquery.Selection) {
			cells := []string{text(row.Find("th a")), text(row.Find("th small"))}
			row.Find("td").Each(func(_ int, c *goquery.Selection) { cells = append(cells, text(c)) })
			page = append(page, strings.Join(cells, " "))
		})
		for _, l := range report.Lines {
			want = append(want, strings.Join(append([]string{string(l.Agent), l.Stream}, cellsOf(l.Balance)...), " "))
		}
		equal(t, "balance of "+id, page, want)
		for _, l := range report.Lists {
			page, want := discrepanciesOn(doc, l.Kind), discrepanciesIn(l)
			if rest := text(doc.Find("section#" + l.Kind + " footer")); len(page) < len(want) && strings.Contains(rest, views.Count(int64(len(want)-len(page)))+" more") {
				want = want[:len(page)] // The page says how many it leaves out.
			}
			equal(t, id+": "+l.Kind, page, want)
		}
	}
}

func termsOf(b api.Balance) map[string]string {
	return map[string]string{
		"Published": views.Count(b.Published), "Completed": views.Count(b.Completed), "In flight": views.Count(b.InFlight), "In DLQ": views.Count(b.InDLQ),
		"Terminated": views.Count(b.Terminated), "Expired": views.Count(b.Expired), "Exhausted": views.Count(b.Exhausted), "Unexplained": views.Count(b.Unexplained),
	}
}

// cellsOf are the cells of a row of the balance, in the order of the page.
func cellsOf(b api.Balance) []string {
	var out []string
	for _, n := range []int64{b.Published, b.Completed, b.InFlight, b.InDLQ, b.Terminated, b.Expired, b.Exhausted, b.Unexplained} {
		out = append(out, views.Count(n))
	}
	return out
}

// discrepanciesOn are the badge of a list on the page, and of each row the message and the evidence.
func discrepanciesOn(doc *goquery.Document, kind string) []string {
	panel := doc.Find("section#" + kind)
	if panel.Length() == 0 {
		return []string{"0"}
	}
	out := []string{text(panel.Find("h2 .badge"))}
	panel.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
		out = append(out, text(row.Find("td").Eq(2))+" "+text(row.Find("small.wrap")))
	})
	return out
}

func discrepanciesIn(l api.DiscrepancyList) []string {
	out := []string{views.Count(l.Total)}
	for _, d := range l.Rows {
		message := ""
		if d.Stream != "" {
			message = fmt.Sprintf("%s:%d", d.Stream, d.Seq)
		}
		if d.Count > 1 {
			message += fmt.Sprintf("–%d", d.ToSeq)
		}
		out = append(out, message+" "+strings.Join(strings.Fields(d.Why), " "))
	}
	return out
}

func TestPageAndAPIShowTheSameQuarantine(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	list, doc := answer[api.QuarantineList](b, "/quarantine"), b.page("/capture")
	var page, want []string
	doc.Find("#quarantine tbody tr").Each(func(_ int, row *goquery.Selection) {
		page = append(page, text(row.Find("th"))+" "+text(row.Find(".wrap"))+" "+row.Find("pre").Text())
	})
	for _, l := range list.Data {
		want = append(want, fmt.Sprintf("%s:%d %s %s", l.Source, l.SourceSeq, l.Reason, l.Body))
	}
	equal(t, "quarantined lines", page, want)
	equal(t, "number of quarantined lines", strings.Fields(text(doc.Find("#quarantine .sub")))[0], views.Count(list.Total))
	if len(want) == 0 {
		t.Error("nothing is in quarantine")
	}
}

func TestPageAndAPIShowTheSamePayload(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	const id = "tsk-7f3a91"
	trace := answer[api.Trace](b, "/tasks/"+id)
	if len(trace.Messages) < 2 {
		t.Fatalf("%s has %d messages, want at least 2", id, len(trace.Messages))
	}
	for _, m := range trace.Messages {
		p := answer[api.Payload](b, fmt.Sprintf("/tasks/%s/payload?stream=%s&seq=%d", id, m.Stream, m.Seq))
		doc := b.page(fmt.Sprintf("/tasks/%s?tab=payload&message=%s:%d", id, m.Stream, m.Seq))
		pretty, _ := views.PrettyJSON([]byte(p.Body), 64<<10)
		equal(t, "body", doc.Find("pre.payload").Text(), pretty)
		equal(t, "message", text(doc.Find(".panel > header .sub")), fmt.Sprintf("%s:%d", p.Stream, p.Seq))
		headers := map[string][]string{}
		doc.Find("h3 + dl dt").Each(func(_ int, dt *goquery.Selection) { headers[text(dt)] = append(headers[text(dt)], text(dt.Next())) })
		equal(t, "headers", headers, p.Headers)
		equal(t, "raw body", b.get(fmt.Sprintf("/payload?message=%s:%d", m.Stream, m.Seq)).Body.String(), p.Body)
	}
}

func TestMetricsAndAPIShowTheSameFigures(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	stats, metrics := answer[api.FleetStats](b, "/stats/fleet"), scraped(t, b)
	for what, want := range map[string]float64{
		"fleetglass_in_flight": *stats.Figures.InFlight.Value, "fleetglass_stale_in_flight": *stats.Figures.StaleInFlight.Value,
		"fleetglass_quarantined_lines": *stats.Figures.UndecodableLines.Value, "fleetglass_capture_gaps": *stats.Figures.OpenGaps.Value, "fleetglass_in_flight_partial": 0,
	} {
		equal(t, what, metrics.sum(what, ""), want)
	}
	for state, n := range stats.States {
		equal(t, "tasks that are "+state, metrics.sum("fleetglass_tasks", `state="`+state+`"`), float64(n))
	}
	equal(t, "age of the queue", metrics.most("fleetglass_pending_queue_age_seconds"), *stats.Figures.PendingQueueAge.Value)
	newest := answer[api.ReconciliationDetail](b, "/reconciliations/c")
	equal(t, "unexplained", metrics.sum("fleetglass_reconciliation_unexplained", ""), float64(*newest.Unexplained))
	for _, l := range newest.Lists {
		equal(t, l.Kind, metrics.sum("fleetglass_reconciliation_discrepancies", `kind="`+l.Kind+`"`), float64(l.Total))
	}
}

// exposition is the text of /metrics, a line for each sample.
type exposition []string

func scraped(t *testing.T, b both) exposition {
	t.Helper()
	metrics := telemetry.NewRegistry("test", slog.New(slog.DiscardHandler))
	metrics.MustRegister(telemetry.NewFleet(b.ask), telemetry.Reconciliation{Latest: b.ask.Reconciled})
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return strings.Split(w.Body.String(), "\n")
}

// values are those of the samples of a metric with a label.
func (e exposition) values(name, label string) []float64 {
	var out []float64
	for _, line := range e {
		rest, found := strings.CutPrefix(line, name)
		if !found || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") || !strings.Contains(rest, label) {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err == nil {
			out = append(out, n)
		}
	}
	return out
}

func (e exposition) sum(name, label string) (sum float64) {
	for _, n := range e.values(name, label) {
		sum += n
	}
	return sum
}

func (e exposition) most(name string) (most float64) {
	for _, n := range e.values(name, "") {
		most = max(most, n)
	}
	return most
}
