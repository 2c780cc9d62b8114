package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// Bounds of the overview.
const (
	agentCards    = 14
	attentionRows = 8
	causeSample   = 200 // Dead tasks looked at for their causes.
	causeRows     = 8
)

// overview is the fleet at a glance.
func (w *Web) overview(c *gin.Context) error {
	ctx := c.Request.Context()
	r := readerOf(c)
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	p := views.OverviewPage{Links: links(c, "/", "/api/v1/stats/fleet", nil)}
	if b.total() == 0 {
		p.Blank = w.blank(listQuery{path: "/tasks", first: true}, b, nil)
		return w.render(c, frame{title: "Overview", section: "overview", search: true, board: b}, views.Overview(p))
	}
	day, err := w.rollups(ctx, b.Now.Add(-24*time.Hour), b.Now, true,
		lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricFailedAttempts, lifecycle.MetricDuplicates, lifecycle.MetricState)
	if err != nil {
		return err
	}
	dead, err := w.cfg.Store.ListTasks(ctx, lifecycle.Filter{States: []lifecycle.State{lifecycle.StateDeadLettered, lifecycle.StateExhausted}}, lifecycle.Page{Limit: causeSample})
	if err != nil {
		return err
	}
	window := windowOf(c.Query("range"))
	p.Stats = overviewStats(b, day)
	p.Attention = attentionItems(b, dead.Tasks)
	p.Checked = fmt.Sprintf("%s and %s checked just now; %s", counted(int64(len(b.Leases)), "lease", "leases"), counted(b.total(), "task", "tasks"), captureWords(w.health()))
	p.RangeName = window.name + ", " + zoneWord(r)
	p.Ranges = window.tabs(func(name string) string { return address("/", url.Values{"range": {name}}) })
	if p.Chart, err = w.throughput(ctx, window, b.Now, r, ""); err != nil {
		return err
	}
	p.Agents, p.MoreAgents = cards(b, day)
	p.Causes, p.CauseNote = causes(dead, b)
	p.Unfinished = stateCounts(b.Counts, url.Values{})
	return w.render(c, frame{title: "Overview", section: "overview", search: true, board: b}, views.Overview(p))
}

func zoneWord(r reader) string {
	if r.utc {
		return "UTC"
	}
	return r.zone.String()
}

func counted(n int64, one, many string) string {
	return views.Count(n) + " " + views.Plural(n, one, many)
}

// rollups reads metrics by the hour, bounds rounded so that a whole hour is never cut.
func (w *Web) rollups(ctx context.Context, from, to lifecycle.Micros, byAgent bool, metrics ...lifecycle.Metric) (lifecycle.Tally, error) {
	return w.cfg.Store.Rollups(ctx, metrics, from.Truncate(time.Hour), to.Add(time.Microsecond), byAgent)
}

// sum adds the cells of a metric, of one agent, or of all when agent is "*".
func sum(t lifecycle.Tally, m lifecycle.Metric, agent string) int64 {
	var n int64
	for c, v := range t {
		if c.Metric == m && (agent == "*" || c.Agent == agent) {
			n += v
		}
	}
	return n
}

// caughtByStream counts the duplicates of the first layer.
func caughtByStream(t lifecycle.Tally) int64 {
	var n int64
	for c, v := range t {
		if c.Metric == lifecycle.MetricDuplicates && c.Label == string(lifecycle.LayerStream) {
			n += v
		}
	}
	return n
}

func overviewStats(b *board, day lifecycle.Tally) []views.Stat {
	held, stale := b.held()
	var presumed int
	for _, l := range b.Leases {
		if l.Stale == lifecycle.StalePresumedDead {
			presumed++
		}
	}
	waiting := b.count(lifecycle.StatePublished)
	exhausted, dead, unknown := b.count(lifecycle.StateExhausted), b.count(lifecycle.StateDeadLettered), b.count(lifecycle.StateOutcomeUnknown)
	caught := caughtByStream(day)
	completed := sum(day, lifecycle.MetricCompleted, "*")
	return []views.Stat{
		{Href: "/in-flight", Icon: "processing", Tone: "run", Label: "In flight", Value: views.Count(int64(held)), Detail: counted(waiting, "task waits", "tasks wait")},
		{Href: "/in-flight", Icon: "stale", Tone: "bad", Label: "Stale", Value: views.Count(int64(stale)), Loud: stale > 0, Detail: staleDetail(stale, presumed)},
		{Href: "/tasks?state=exhausted", Icon: "exhausted", Tone: "bad", Label: "Exhausted, not in DLQ", Value: views.Count(exhausted), Loud: exhausted > 0, Detail: "attempts used up or terminated"},
		{Href: "/dlq", Icon: "dlq", Tone: "dead", Label: "Dead-lettered", Value: views.Count(dead), Detail: unknownDetail(unknown)},
		{Href: "/duplicates", Icon: "duplicates", Tone: "dup", Label: "Duplicates caught", Value: views.Count(caught), Detail: "24 h, by the stream"},
		{Href: "/tasks?state=completed", Icon: "completed", Tone: "ok", Label: "Completed", Value: views.Count(completed), Detail: "24 h, of " + views.Count(sum(day, lifecycle.MetricPublished, "*")) + " published"},
	}
}

func unknownDetail(n int64) string {
	if n == 0 {
		return "an entry exists"
	}
	return views.Count(n) + " more with unknown outcome"
}

func staleDetail(stale, presumed int) string {
	switch {
	case stale == 0:
		return "every lease is inside its wait"
	case presumed > 0:
		return views.Count(int64(presumed)) + " presumed dead"
	}
	return "past their deadline, or odd"
}

// attentionItems are what somebody should look at, worst first.
func attentionItems(b *board, dead []lifecycle.TaskSummary) []views.AttentionItem {
	var out []views.AttentionItem
	for _, l := range b.Leases {
		if l.Stale == "" || len(out) >= attentionRows-3 {
			continue
		}
		out = append(out, staleItem(l, b.Now))
	}
	if n := b.count(lifecycle.StateExhausted); n > 0 {
		out = append(out, views.AttentionItem{Tone: "bad", Icon: "exhausted", Href: "/tasks?state=exhausted",
			What: counted(n, "message is", "messages are") + " exhausted and not in the DLQ", Why: "Nobody will touch them until somebody decides.", When: oldestWords(dead, lifecycle.StateExhausted, b.Now)})
	}
	if n := b.count(lifecycle.StateDeadLettered); n > 0 {
		out = append(out, views.AttentionItem{Tone: "warn", Icon: "dlq", Href: "/dlq", What: counted(n, "entry waits", "entries wait") + " in the DLQ",
			Why: topCause(dead), When: oldestWords(dead, lifecycle.StateDeadLettered, b.Now)})
	}
	if n := b.count(lifecycle.StateOutcomeUnknown); n > 0 {
		out = append(out, views.AttentionItem{Tone: "warn", Icon: "unknown", Href: "/tasks?state=outcome_unknown", What: counted(n, "task has", "tasks have") + " an unknown outcome",
			Why: "Gone from the stream without proof: look the effect up before anything is run again."})
	}
	for _, c := range b.Consumers {
		if c.Gone && c.Pending > 0 {
			out = append(out, views.AttentionItem{Tone: "warn", Icon: "warn", Href: "/capture#consumers", What: "Consumer " + views.Cut(c.Name, 40) + " is gone",
				Why: counted(int64(c.Pending), "message waits", "messages wait") + " for it.", When: views.Age(b.Now.Sub(c.ObservedAt)) + " ago"})
		}
	}
	return out[:min(len(out), attentionRows)]
}

func staleItem(l lifecycle.Lease, now lifecycle.Micros) views.AttentionItem {
	tone, icon := views.StaleLook(l.Stale)
	item := views.AttentionItem{Tone: tone, Icon: icon, Href: taskAddress(l.TaskID), What: leaseTitle(l) + " is " + views.StaleWord(l.Stale)}
	item.Why = fmt.Sprintf("%s, attempt %d", views.Cut(l.Agent, 40), l.Attempt)
	if l.MaxDeliver > 0 {
		item.Why += fmt.Sprintf(" of %d", l.MaxDeliver)
	}
	item.Why += ". " + l.Stale.Meaning()
	if left := l.Left(now); left < 0 {
		item.When = views.Duration(-left) + " over"
	} else if l.Deadline.Known() {
		item.When = views.Duration(left) + " left"
	}
	return item
}

func leaseTitle(l lifecycle.Lease) string {
	if l.Title != "" {
		return views.Cut(l.Title, 80)
	}
	return views.Cut(l.TaskID, 80)
}

func oldestWords(dead []lifecycle.TaskSummary, s lifecycle.State, now lifecycle.Micros) string {
	var oldest lifecycle.Micros
	for _, t := range dead {
		if t.State == s && t.StateSince.Known() && (!oldest.Known() || t.StateSince < oldest) {
			oldest = t.StateSince
		}
	}
	if !oldest.Known() {
		return ""
	}
	return "since " + views.Age(now.Sub(oldest))
}

func causeOf(t lifecycle.TaskSummary) string {
	if t.Category != "" {
		return t.Category
	}
	return t.Rule
}

func countCauses(dead []lifecycle.TaskSummary) map[string]int64 {
	counts := map[string]int64{}
	for _, t := range dead {
		counts[causeOf(t)]++
	}
	return counts
}

func topCause(dead []lifecycle.TaskSummary) string {
	counts := countCauses(dead)
	text := ""
	for _, name := range topKeys(counts, 3) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", views.Cut(name, 40), counts[name])
	}
	return text + "."
}

func causes(page lifecycle.TaskPage, b *board) ([]views.Cause, string) {
	counts := countCauses(page.Tasks)
	var out []views.Cause
	var most int64
	for _, name := range topKeys(counts, causeRows) {
		most = max(most, counts[name])
		out = append(out, views.Cause{Name: name, Href: causeAddress(name, page.Tasks), Count: counts[name], Share: float64(counts[name]) / float64(most)})
	}
	note := "dead tasks, now"
	if page.Next != nil {
		note = fmt.Sprintf("the newest %d of %s dead tasks", len(page.Tasks), views.Count(b.count(lifecycle.StateDeadLettered, lifecycle.StateExhausted)))
	}
	return out, note
}

// causeAddress leads to the entries of a cause. Only categories can be filtered by; a rule leads to the state that it gives.
func causeAddress(name string, dead []lifecycle.TaskSummary) string {
	for _, t := range dead {
		if t.Category == name {
			return "/dlq?category=" + url.QueryEscape(name)
		}
	}
	return "/dlq?state=exhausted"
}

func stateCounts(counts map[lifecycle.State]int64, base url.Values) []views.StateCount {
	var out []views.StateCount
	for _, s := range lifecycle.States() {
		if counts[s] == 0 {
			continue
		}
		v := url.Values{"state": {string(s)}}
		for name, values := range base {
			v[name] = values
		}
		out = append(out, views.StateCount{State: s, Href: address("/tasks", v), Count: counts[s]})
	}
	return out
}

// cards are the agents that hold something, worst first, then the busiest ones.
func cards(b *board, day lifecycle.Tally) ([]views.AgentCard, int) {
	names := topKeys(b.Facets.Agents, len(b.Facets.Agents))
	slices.Sort(names)
	byAgent := agentTallies(day)
	holds := map[string]*lifecycle.Lease{}
	rank := map[string]int{}
	for i := range b.Leases {
		l := &b.Leases[i]
		if holds[l.Agent] == nil {
			holds[l.Agent] = l
			rank[l.Agent] = len(b.Leases) - i
		}
	}
	more := 0
	if len(names) > agentCards {
		slices.SortStableFunc(names, func(x, y string) int {
			return cmp.Or(cmp.Compare(rank[y], rank[x]), cmp.Compare(byAgent[y].completed, byAgent[x].completed))
		})
		more = len(names) - agentCards
		names = names[:agentCards]
		slices.Sort(names)
	}
	var out []views.AgentCard
	for _, name := range names {
		t := byAgent[name]
		card := views.AgentCard{Name: name, Href: agentAddress(name), Waiting: views.Count(t.waiting) + " waiting", Lease: holds[name],
			Foot: fmt.Sprintf("%s done, %s failed", views.Count(t.completed), views.Count(t.failed)), Idle: "holds nothing"}
		if at := lastDelivery(b, name); at.Known() {
			card.Idle = "last delivery " + views.Age(max(0, b.Now.Sub(at))) + " ago"
		}
		if card.Lease != nil {
			card.TaskHref = taskAddress(card.Lease.TaskID)
		}
		out = append(out, card)
	}
	return out, more
}

// agentTally is an agent's share of the rollups.
type agentTally struct{ published, completed, failed, died, waiting, tasks int64 }

func agentTallies(t lifecycle.Tally) map[string]agentTally {
	out := map[string]agentTally{}
	for c, n := range t {
		a := out[c.Agent]
		switch c.Metric {
		case lifecycle.MetricPublished:
			a.published += n
		case lifecycle.MetricCompleted:
			a.completed += n
		case lifecycle.MetricFailedAttempts:
			a.failed += n
		case lifecycle.MetricDied:
			a.died += n
		case lifecycle.MetricState:
			a.tasks += n
			if c.Label == string(lifecycle.StatePublished) {
				a.waiting += n
			}
		}
		out[c.Agent] = a
	}
	return out
}

func lastDelivery(b *board, agent string) lifecycle.Micros {
	var at lifecycle.Micros
	for _, c := range b.Consumers {
		if c.Name == agent+workerSuffix {
			at = max(at, c.DeliveredAt)
		}
	}
	return at
}

// workerSuffix makes the name of an agent's consumer (SPEC 1).
const workerSuffix = "-task-worker"
