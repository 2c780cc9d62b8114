package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// Bounds of the overview.
const (
	agentCards    = 14
	attentionRows = 8
	causeRows     = 8
)

// overview is the fleet at a glance.
func (w *Web) overview(c *gin.Context) error {
	ctx := c.Request.Context()
	r := preferencesOf(c)
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewPage{Links: links(c, "/", "/api/v1/stats/fleet", nil)}
	if snap.Counts.Total() == 0 {
		p.Empty = w.emptyFleet(snap)
		return w.render(c, frame{title: "Overview", section: "overview", search: true, snapshot: snap}, views.Overview(p))
	}
	found, err := w.cfg.Query.Findings(ctx)
	if err != nil {
		return err
	}
	stats, err := w.cfg.Query.Statistics(ctx)
	if err != nil {
		return err
	}
	agents, err := w.cfg.Query.Agents(ctx)
	if err != nil {
		return err
	}
	window := windowOf(c.Query("range"))
	p.Stats = overviewStats(stats, snap.DeadOpen)
	p.Attention, p.MoreAttention = attentionItems(found.Attention(), snap.AsOf)
	p.Checked = fmt.Sprintf("%s and %s checked just now; %s", counted(int64(len(snap.InFlight.Leases)), "lease", "leases"), counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health())) + balanceWords(snap)
	p.Day = dayWords(stats.Day)
	p.ZoneName = zoneWord(r)
	p.Ranges = window.tabs(func(name string) string { return address("/", url.Values{"range": {name}}) })
	if p.Chart, err = w.throughput(ctx, window, r, ""); err != nil {
		return err
	}
	p.Agents, p.MoreAgents = cards(agents, snap)
	if p.Causes, p.CauseNote, err = w.causes(ctx, snap.AsOf); err != nil {
		return err
	}
	p.Unfinished = stateCounts(snap.Counts, url.Values{})
	return w.render(c, frame{title: "Overview", section: "overview", search: true, snapshot: snap}, views.Overview(p))
}

func zoneWord(r preferences) string {
	if r.utc {
		return "UTC"
	}
	return r.zone.String()
}

func counted(n int64, one, many string) string {
	return views.Count(n) + " " + views.Plural(n, one, many)
}

func overviewStats(s query.Statistics, open int64) []views.Stat {
	held, stale := atLeast(int64(s.InFlight.Held()), s.InFlight.Partial), s.InFlight.Stale()
	abandoned := lifecycle.StatesThat(lifecycle.State.Abandoned)
	lost := s.States.Of(abandoned...)
	return []views.Stat{
		{Href: "/in-flight", Icon: "processing", Tone: "run", Label: "In flight", Value: held, Detail: counted(s.States.Of(lifecycle.StatePublished), "task waits", "tasks wait")},
		{Href: "/in-flight", Icon: "stale", Tone: "bad", Label: "Stale", Value: atLeast(int64(stale), s.InFlight.Partial), Loud: s.InFlight.Urgent() > 0, Detail: staleDetail(s.InFlight)},
		{Href: address("/tasks", lifecycle.Filter{States: abandoned}.Values()), Icon: "exhausted", Tone: "bad", Label: "Dead, not in DLQ", Value: views.Count(lost), Loud: lost > 0, Detail: stateWords(abandoned)},
		{Href: "/dlq?status=open", Icon: "dlq", Tone: "dead", Label: "Dead letters open", Value: views.Count(open), Detail: counted(s.States.That(lifecycle.State.Dead), "task is dead", "tasks are dead")},
		{Href: "/duplicates", Icon: "duplicates", Tone: "dup", Label: "Duplicates caught", Value: views.Count(s.Found[lifecycle.LayerStream]), Detail: "24 h, by the stream"},
		executedStat(s),
	}
}

// executedStat is how many duplicates ran again. None is only said where something is read that would prove it.
func executedStat(s query.Statistics) views.Stat {
	n, known := s.Executed()
	out := views.Stat{Href: "/duplicates?layer=" + string(lifecycle.LayerExecution), Icon: "completed", Tone: "ok", Label: "Reached execution", Value: views.Count(n), Detail: "24 h, duplicates that ran again"}
	switch unknown := s.Found[lifecycle.LayerUnknown]; {
	case !known:
		out.Icon, out.Tone, out.Value, out.Detail = "unknown", "wait", "unknown", s.NotExecuted()
	case n > 0:
		out.Icon, out.Tone, out.Loud = "duplicates", "bad", true
	case unknown > 0:
		out.Icon, out.Tone, out.Value, out.Detail = "unknown", "wait", "0 seen", "24 h; "+views.Count(unknown)+" not known"
	case len(s.OpenGaps) > 0:
		out.Icon, out.Tone, out.Value, out.Detail = "gap", "wait", "0 seen", "24 h, as far as was observed"
	}
	return out
}

// dayWords are what came, ended well and failed in the last 24 hours.
func dayWords(t query.Throughput) string {
	return fmt.Sprintf("24 h: %s published, %s completed, %s failed.", views.Count(t.Published), views.Count(t.Completed), counted(t.Failed, "attempt", "attempts"))
}

// staleDetail counts the leases with something wrong by what is wrong.
func staleDetail(f query.InFlight) string {
	of := map[lifecycle.StaleKind]int64{}
	for _, l := range f.Leases {
		of[l.Stale]++
	}
	var out []string
	for _, kind := range lifecycle.StaleKinds() {
		if of[kind] > 0 {
			out = append(out, views.Count(of[kind])+" "+views.StaleWord(kind))
		}
	}
	switch unread := int64(len(f.Unread())); {
	case len(out) > 0:
	case unread > 0:
		return counted(unread, "deadline", "deadlines") + " passed, answers not seen"
	default:
		return "no lease is past its deadline"
	}
	return strings.Join(out, ", ")
}
