package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

func (w *Web) shell(c *gin.Context, f frame, r preferences) views.Shell {
	parts := w.health()
	s := views.Shell{
		Title: f.title, Section: f.section, Environment: w.cfg.Environment, Theme: r.theme, UTC: r.utc, Here: c.Request.URL.RequestURI(),
		Search: f.search, Nav: navigation(f.snapshot, w.cfg.Operations != nil), Freshness: freshness(parts, w.now()), LiveEvery: f.every,
	}
	if who := access.From(c.Request.Context()); who.Session != "" {
		s.Reader = who.Name
	}
	if !r.utc {
		s.ZoneName = r.zone.String()
	}
	if w.cfg.Hub != nil && !f.still {
		s.Live = "/live"
	}
	if f.ended != "" {
		s.LiveSign = views.Sign(f.ended)
	}
	if f.uncounted {
		for i := range s.Nav {
			s.Nav[i].Count, s.Nav[i].Said = "", ""
		}
	}
	if f.snapshot != nil {
		s.Firing = f.snapshot.Alerts.Total(alerts.StateFiring)
	}
	s.Done = w.done(c)
	s.Banners = append(w.banners(f, r.zone), f.banners...)
	return s
}

func (w *Web) health() []health.Part {
	if w.cfg.Health == nil {
		return nil
	}
	return w.cfg.Health.Health()
}

// navigation draws its badges from the snapshot; nil is an empty one.
func navigation(snap *query.FleetSnapshot, operates bool) []views.NavItem {
	if snap == nil {
		snap = &query.FleetSnapshot{}
	}
	agents := int64(len(snap.AgentNames))
	balance := views.NavItem{Section: "reconciliation", Href: "/reconciliation", Icon: "reconciliation", Label: "Reconciliation"}
	if n, known := snap.Discrepancies(); known {
		balance.Count, balance.Said, balance.Loud = short(n), counted(n, "discrepancy", "discrepancies"), n > 0
	}
	items := []views.NavItem{
		{Section: "search", Href: "/search", Icon: "search", Label: "Search"},
		{Section: "overview", Href: "/", Icon: "overview", Label: "Overview"},
		{Section: "tasks", Href: "/tasks", Icon: "tasks", Label: "Tasks"},
		inFlightItem(snap.InFlight),
		{Section: "dlq", Href: openDead, Icon: "dlq", Label: "DLQ", Count: short(snap.DeadOpen), Said: views.Count(snap.DeadOpen) + " open"},
		alertsItem(snap.Alerts),
		{Section: "operations", Href: "/operations", Icon: "operations", Label: "Operations"},
		{Section: "duplicates", Href: "/duplicates", Icon: "duplicates", Label: "Duplicates"},
		balance,
		{Section: "agents", Href: "/agents", Icon: "agents", Label: "Agents", Count: short(agents), Said: counted(agents, "agent", "agents"), Rule: true},
		{Section: "map", Href: "/map", Icon: "map", Label: "Map"},
		{Section: "statistics", Href: statisticsPath, Icon: "statistics", Label: "Statistics"},
		{Section: "capture", Href: "/capture", Icon: "observed", Label: "Capture"},
		{Section: "doctor", Href: "/doctor", Icon: "doctor", Label: "Doctor"},
		{Section: "audit", Href: "/audit", Icon: "audit", Label: "Audit"},
		{Section: "settings", Href: settingsPath, Icon: "settings", Label: "Settings"},
	}
	return slices.DeleteFunc(items, func(i views.NavItem) bool { return i.Section == "operations" && !operates })
}

// inFlightItem says "at least" where not all leases were looked for.
func inFlightItem(f query.InFlight) views.NavItem {
	item := views.NavItem{Section: "in-flight", Href: "/in-flight", Icon: "inflight", Label: "In flight", Said: " in flight"}
	item.Count = atLeast(int64(f.Held()), f.Partial)
	if n := f.Urgent(); n > 0 {
		if f.Held() == 0 { // A red zero says nothing.
			item.Count = atLeast(int64(n), f.Partial)
		}
		item.Loud, item.Said = true, fmt.Sprintf("%s in flight, %s stale", atLeast(int64(f.Held()), f.Partial), atLeast(int64(n), f.Partial))
	}
	return item
}

// short writes a count for a narrow place.
func short(n int64) string {
	switch {
	case n < 10_000:
		return views.Count(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// freshness is how old the data is: as old as the collector that is furthest behind.
func freshness(parts []health.Part, now lifecycle.Micros) views.Freshness {
	f := views.Freshness{Tone: "ok", Href: "/capture", Notice: "Every collector is up to date."}
	var oldest lifecycle.Micros
	known := false
	for _, p := range parts {
		if p.State == health.NotConfigured {
			continue
		}
		f.Parts = append(f.Parts, views.FreshPart{Name: p.Name, Text: partText(p, now), Tone: partTone(p.State)})
		if p.Kind != "collector" {
			continue
		}
		known = true
		at := lifecycle.MicrosOf(p.Read())
		if at.Known() && (!oldest.Known() || at < oldest) {
			oldest = at
		}
		switch {
		case p.State == health.Down:
			f.Tone, f.Notice = "bad", "A collector is down: we may be blind."
		case f.Tone != "bad" && (p.State == health.Behind || p.State == health.Starting):
			f.Tone, f.Notice = "warn", "A collector has not caught up yet."
		}
	}
	if a := alarmOf(parts); a.word != "" {
		f.Alarm, f.Tone = a.word, a.tone
	}
	switch {
	case !known:
		f.Tone, f.Text, f.Notice = "warn", "No collector", "No collector reports to these pages."
	case !oldest.Known():
		f.Text = "Starting"
	default:
		f.At = oldest
	}
	return f
}

// alarm is what is wrong with what we see, in a word or two.
type alarm struct{ word, tone string }

// alarmOf names the worst of what is wrong with the parts: a collector or the broker that is down makes us blind.
func alarmOf(parts []health.Part) alarm {
	var worst alarm
	for _, p := range parts {
		switch {
		case p.State == health.Down && p.Kind == "store":
			return alarm{"Store down", "bad"}
		case p.State == health.Down:
			worst = alarm{"Blind", "bad"}
		case worst.word == "" && p.State == health.Behind && p.Kind == "store":
			worst = alarm{"Store slow", "warn"}
		case worst.word == "" && p.State == health.Behind:
			worst = alarm{"Behind", "warn"}
		}
	}
	return worst
}

func partTone(s health.State) string {
	switch s {
	case health.OK:
		return "ok"
	case health.Down:
		return "bad"
	case health.BestEffort, health.Behind, health.Starting:
		return "warn"
	}
	return "wait"
}

// shownLag is the least lag that pages show: the last line took a while to be read.
const shownLag = time.Second

func partText(p health.Part, now lifecycle.Micros) string {
	text := stateWord(p.State)
	switch {
	case p.Lag >= shownLag:
		text += ", " + lifecycle.Lasting(p.Lag) + " behind"
	case !p.LastAt.IsZero():
		text += ", " + views.Age(max(0, now.Sub(lifecycle.MicrosOf(p.LastAt)))) + " ago"
	}
	if p.Pending > 0 {
		text += ", " + views.Count(int64(p.Pending)) + " waiting"
	}
	return text
}

func stateWord(s health.State) string {
	switch s {
	case health.OK:
		return "up to date"
	case health.BestEffort:
		return "best effort"
	case health.Behind:
		return "behind"
	case health.Starting:
		return "starting"
	case health.NotConfigured:
		return "not configured"
	case health.Down:
		return "down"
	}
	return string(s)
}

// banners say on every page what may be missing from it.
func (w *Web) banners(f frame, zone *time.Location) []views.Banner {
	var out []views.Banner
	if f.snapshot != nil {
		lacks := health.Lacking(w.health())
		known := f.ownGaps || (f.snapshot.Counts.Total() == 0 && lackExplains(lacks, query.OpenGaps(f.snapshot.Gaps))) // Where tasks are stored it matters since when they are not seen.
		for _, found := range downTogether(w.cfg.Query.Vision(*f.snapshot), lacks) {
			if found.Rule == alerts.RuleCaptureGap && known {
				continue
			}
			out = append(out, bannerOf(found, zone))
		}
	}
	if w.cfg.Access.ReadOnly {
		out = append(out, views.Banner{Kind: "run", Icon: "lock", Title: "Read-only mode.", Text: "Nothing can be changed until the server is started without --read-only."})
	}
	return out
}

// downTogether makes one finding of the parts that are down: one cause often takes several with it, and what is told twice is read by nobody. A quota
// that is reached is such a cause, and is named first; so are the streams that the broker lacks.
func downTogether(found []alerts.Finding, lacks []string) []alerts.Finding {
	isDown := func(f alerts.Finding) bool { return f.Rule == alerts.RulePartDown && f.Part != nil }
	var down, rest []alerts.Finding
	for _, f := range found {
		if isDown(f) {
			down = append(down, f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(down) < 2 {
		return found
	}
	if i := slices.IndexFunc(down, func(f alerts.Finding) bool { return f.Part.Kind == "store" }); i >= 0 {
		rest = append(slices.DeleteFunc(slices.Clone(down), func(f alerts.Finding) bool { return !isBroker(f.Part) }), rest...)
		return append([]alerts.Finding{storeAway(down[i])}, rest...)
	}
	if i := slices.IndexFunc(down, func(f alerts.Finding) bool { return isBroker(f.Part) }); i >= 0 {
		return append([]alerts.Finding{brokerAway(down[i])}, append(slices.DeleteFunc(down, func(f alerts.Finding) bool { return needsBroker(f.Part) }), rest...)...)
	}
	if lack, others := streamsLacking(down, lacks); lack.Part != nil {
		return append([]alerts.Finding{lack}, downTogether(append(others, rest...), nil)...)
	}
	slices.SortStableFunc(down, func(a, b alerts.Finding) int { return cmp.Compare(downOrder(a.Part), downOrder(b.Part)) })
	one := down[0]
	why := strings.TrimLeft(strings.TrimPrefix(one.Why, one.Part.Detail), ". ")
	var names, details []string
	for _, f := range down {
		names, details = append(names, f.Part.Words()), append(details, f.Part.Name+": "+strings.TrimSuffix(f.Part.Detail, ".")+".")
	}
	switch one.Part.Kind {
	case "quota":
		one.What += ". Down with it: " + strings.Join(names[1:], ", ")
	case "collector":
		one.What = "We may be blind: " + strings.Join(names, ", ") + " are down"
	default:
		one.What = "Down: " + strings.Join(names, ", ")
	}
	one.Why = strings.Join(append(details, why), " ")
	return append([]alerts.Finding{one}, rest...)
}

// streamsLacking is the one finding that names the streams that the broker lacks, and what else is down. It has no part where all streams are there.
func streamsLacking(down []alerts.Finding, lacks []string) (lack alerts.Finding, others []alerts.Finding) {
	for _, f := range down {
		if len(f.Part.Lacks) == 0 {
			others = append(others, f)
		} else if lack.Part == nil {
			lack = f
		}
	}
	if lack.Part != nil {
		known := strings.TrimLeft(strings.TrimPrefix(lack.Why, lack.Part.Detail), ". ")
		lack.What, lack.Page = "We may be blind: "+health.LackWords(lacks), doctorPage
		lack.Why = "Nothing is seen there. Run fleetglass provision to see what is missing, and add --apply to make it. " + known
	}
	return lack, others
}

const doctorPage = "/doctor"

// lackExplains reports whether every gap is open because its capture stream does not exist: the banner about these streams says so already.
func lackExplains(streams []string, gaps []lifecycle.Gap) bool {
	return len(streams) > 0 && !slices.ContainsFunc(gaps, func(g lifecycle.Gap) bool { return g.To.Known() || !slices.Contains(streams, g.Source) })
}

// isBroker reports whether a part is the connection to the broker.
func isBroker(p *health.Part) bool { return p.Kind == "broker" && p.Name == "nats" }

// needsBroker reports whether a part is down where the broker is away: what the parts say of it then tells nothing more.
func needsBroker(p *health.Part) bool {
	switch p.Kind {
	case "broker", "relay", "pipeline":
		return true
	}
	return p.Kind == "collector" && p.Name != "firestore"
}

// brokerAway is the one finding that says that the broker is away.
func brokerAway(f alerts.Finding) alerts.Finding {
	why := strings.TrimLeft(strings.TrimPrefix(f.Why, f.Part.Detail), ". ")
	f.What, f.Why = "We are blind: the broker does not answer", "What waits for it goes on by itself once it is back. "+why
	return f
}

// storeAway is the one finding that says that the store is down, and with it whatever reads or writes.
func storeAway(f alerts.Finding) alerts.Finding {
	f.What = "We are blind: the store is down (" + strings.TrimSuffix(f.Part.Detail, ".") + ")"
	f.Why = "Nothing is taken in, and most pages cannot answer. Fleetglass goes on by itself once the store is back."
	return f
}

// downOrder puts causes before what they take with them, and collectors, without which we are blind, before other parts.
func downOrder(p *health.Part) int {
	switch p.Kind {
	case "quota":
		return 0
	case "collector":
		return 1
	}
	return 2
}

// bannerOf words a finding about what we see.
func bannerOf(found alerts.Finding, zone *time.Location) views.Banner {
	if found.Gap != nil {
		return gapBanner(*found.Gap, found.Count, zone)
	}
	b := views.Banner{Kind: "bad", Icon: "warn", Title: found.What + ".", Text: found.Why, Href: found.Page, Link: "Capture"}
	if found.Page == doctorPage {
		b.Link = "Doctor"
	}
	if found.Severity != alerts.Critical {
		b.Kind, b.Icon = "warn", "clock"
	}
	return b
}

// incidentBanner names the worst of the incidents, if there are any: what died of one cause, how much, since when, and where exactly these are listed.
func incidentBanner(found query.Findings, zone *time.Location) []views.Banner {
	incidents := slices.DeleteFunc(found.Fleet(), func(f alerts.Finding) bool { return f.Rule != alerts.RuleIncident })
	if len(incidents) == 0 {
		return nil
	}
	worst, layout := incidents[0], "15:04"
	if found.AsOf.Sub(worst.Since) > 12*time.Hour {
		layout = "2 Jan 15:04"
	}
	b := views.Banner{Kind: "warn", Icon: "warn", Title: worst.What + ", since " + worst.Since.Time().In(zone).Format(layout) + ".", Text: worst.Why + " " + worst.Next, Href: worst.Page, Link: "Show the " + views.Count(worst.Count)}
	if n := int64(len(incidents) - 1); n > 0 {
		b.Text += " " + counted(n, "more cause is an incident too", "more causes are incidents too") + ": see the alerts."
	}
	return []views.Banner{b}
}

// gapBanner names the latest open gap, and how many there are.
func gapBanner(g lifecycle.Gap, n int64, zone *time.Location) views.Banner {
	from, to := g.From.Time().In(zone), g.To.Time().In(zone)
	title := fmt.Sprintf("Not observed from %s to %s (%s).", from.Format("15:04:05"), to.Format("15:04:05"), lifecycle.Lasting(g.To.Sub(g.From)))
	if !g.To.Known() {
		title = "Not observed since " + from.Format("15:04:05") + "."
	}
	text := g.Source + ": " + g.Reason + ". Counts in this span are lower bounds."
	if n > 1 {
		text += " " + counted(n-1, "more gap", "more gaps") + " in the last hour."
	}
	return views.Banner{Kind: "gap", Icon: "gap", Title: title, Text: text, Href: "/capture#gaps", Link: "Gaps"}
}
