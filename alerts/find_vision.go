package alerts

import (
	"fmt"
	"math"
	"strings"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

func findDiscrepancy(f *Facts, _ Rule) []Finding {
	if f.Reconciled == nil || f.Reconciled.Report == nil {
		return nil
	}
	report := f.Reconciled.Report
	n := report.Discrepancies()
	if n == 0 {
		return nil
	}
	why := listed(report)
	if u := report.Total.Unexplained; u != 0 {
		why = number(u, "message is", "messages are") + " unexplained. " + why
	}
	return []Finding{{
		Count: n, Since: report.AsOf, What: number(n, "discrepancy", "discrepancies") + " between published and completed work", Why: why, Page: "/reconciliation",
	}}
}

// namedLists is how many lists of a reconciliation an alert names.
const namedLists = 3

// listed names the lists of a reconciliation that have something.
func listed(r *reconcile.Report) string {
	var out []string
	for _, l := range r.Lists {
		if l.Total > 0 {
			out = append(out, l.Kind.Title()+": "+lifecycle.Grouped(l.Total)+".")
		}
	}
	if len(out) > namedLists {
		out = append(out[:namedLists], "More on the page.")
	}
	return strings.Join(out, " ")
}

const capturePage = "/capture"

func findPartDown(f *Facts, r Rule) []Finding {
	return parts(f, func(p health.Part) bool { return p.State == health.Down }, func(p health.Part) Finding {
		what := cut(p.DownWords(), 100)
		if p.Kind == "collector" {
			what = "We may be blind: " + what
		} else {
			what = strings.ToUpper(what[:1]) + what[1:]
		}
		if p.Kind == "quota" {
			what = "The storage quota is reached"
		}
		return Finding{What: what, Why: strings.TrimSpace(sentence(p.Detail) + " " + r.Why)}
	})
}

// sentence ends a text with a full stop, where it is not empty and has no end of its own.
func sentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

func findCollectorLag(f *Facts, r Rule) []Finding {
	return parts(f, func(p health.Part) bool { return p.State == health.Behind && p.Kind == "collector" }, func(p health.Part) Finding {
		why := r.Why
		if p.Lag > 0 {
			why = fmt.Sprintf("It is %s behind its source. %s", lifecycle.Lasting(p.Lag), why)
		}
		if speed := CatchUp(p); speed != "" {
			why = speed + " " + why
		}
		return Finding{What: "Collector " + cut(p.Name, 40) + " is behind", Why: why}
	})
}

// CatchUp says how fast a part that is behind catches up; empty where that was not measured.
func CatchUp(p health.Part) string {
	if !p.DrainsKnown {
		return ""
	}
	switch perSecond := int64(math.Round(p.Drains)); {
	case perSecond > 0:
		left := time.Duration(float64(p.Pending) / p.Drains * float64(time.Second))
		return "Catches up by " + number(perSecond, "line", "lines") + " a second: about " + lifecycle.Lasting(left.Round(time.Second)) + " left at that speed."
	case perSecond < 0:
		return "Falls further behind, by " + number(-perSecond, "line", "lines") + " a second."
	}
	return "Does not catch up: as many lines come as are read."
}

func parts(f *Facts, holds func(health.Part) bool, say func(health.Part) Finding) []Finding {
	var out []Finding
	for _, p := range f.Parts {
		if !holds(p) {
			continue
		}
		found := say(p)
		found.Key, found.Page, found.Part = p.Name, capturePage, &p
		out = append(out, found)
	}
	return out
}

// findFeedSilent finds that no collector took anything in, or could verify that nothing waits, for longer than the threshold. Collectors
// verify that every few seconds, however quiet the fleet is.
func findFeedSilent(f *Facts, r Rule) []Finding {
	var last lifecycle.Micros
	some := false
	for _, p := range f.Parts {
		if p.Kind != "collector" || p.State == health.NotConfigured {
			continue
		}
		some = true
		if !p.LastAt.IsZero() {
			last = max(last, lifecycle.MicrosOf(p.LastAt))
		}
	}
	if !some || !last.Known() || f.AsOf.Sub(last) <= r.Threshold {
		return nil
	}
	return []Finding{{What: "Our own feed is silent: no collector was heard of for " + lifecycle.Lasting(f.AsOf.Sub(last)), Since: last, Page: capturePage}}
}

// findUnjudged finds tasks whose stream keeps messages after an answer, and that nobody takes who is named as a worker.
func findUnjudged(f *Facts, r Rule) []Finding {
	return parts(f, func(p health.Part) bool { return p.Unjudged != "" }, func(p health.Part) Finding {
		return Finding{What: "Some tasks cannot be judged", Why: sentence(p.Unjudged) + " " + r.Next}
	})
}

func findCaptureGap(f *Facts, r Rule) []Finding {
	var recent []lifecycle.Gap
	for _, g := range f.Gaps {
		if !g.Repaired && (!g.To.Known() || g.To >= f.AsOf.Add(-r.Threshold)) {
			recent = append(recent, g)
		}
	}
	if len(recent) == 0 {
		return nil
	}
	latest := recent[0]
	return []Finding{{
		Count: int64(len(recent)), Since: latest.From, What: "Not everything was observed: " + number(int64(len(recent)), "gap", "gaps") + ", the latest of " + cut(latest.Source, 40),
		Why: latest.Reason + ". " + r.Why, Page: "/capture#gaps", Gap: &latest,
	}}
}
