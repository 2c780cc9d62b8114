package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// deadLetters is what died, grouped by reason and agent. It shows what the store knows.
func (w *Web) deadLetters(c *gin.Context) error {
	ctx := c.Request.Context()
	r := preferencesOf(c)
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	q, err := readList("/dlq", c.Request.URL.Query(), r.zone, w.cfg.Now())
	f := frame{title: "DLQ", section: "dlq", search: true, snapshot: snap}
	p := views.DeadLettersPage{Head: "Dead tasks, newest first", Chips: q.activeChips()}
	var wrong *lifecycle.FilterError
	if errors.As(err, &wrong) {
		p.Empty = views.EmptyState{Kind: "nomatch", Say: "The query cannot be read.", Why: wrong.Error() + ".", Links: []views.Chip{{Href: "/dlq", Label: "Clear filters"}}}
		f.status = http.StatusBadRequest
		return w.render(c, f, views.DeadLetters(p))
	}
	if len(q.filter.States) == 0 {
		q.filter.States = lifecycle.StatesThat(lifecycle.State.Died)
	}
	p.Links = links(c, q.frozen(), "/api/v1/tasks", q.filter.Values())
	if err := w.fillDead(ctx, &p, q, snap, r); err != nil {
		return err
	}
	return w.render(c, f, views.DeadLetters(p))
}

func (w *Web) fillDead(ctx context.Context, p *views.DeadLettersPage, q listQuery, snap *query.FleetSnapshot, r preferences) error {
	counts, err := w.cfg.Query.Counts(ctx, q.filter)
	if err != nil {
		return err
	}
	list, err := w.cfg.Query.Tasks(ctx, q.filter, q.from.Page(rowsPerPage))
	if err != nil {
		return err
	}
	dead, err := w.cfg.Query.Dead(ctx)
	if err != nil {
		return err
	}
	p.States = q.stateTabs(counts, lifecycle.StatesThat(lifecycle.State.Died))
	p.Rows = rows(list.Rows, snap)
	p.Pager = q.pager(list, r.zone)
	p.Groups = deadGroups(dead, q)
	p.Note = "by reason and agent"
	if dead.More {
		p.Note = fmt.Sprintf("the newest %s, by reason and agent", views.Count(int64(len(dead.Newest))))
	}
	p.Stats = deadStats(snap, dead)
	if len(p.Rows) == 0 {
		p.Empty = w.emptyDead(q, snap)
	}
	return nil
}

func (w *Web) emptyDead(q listQuery, snap *query.FleetSnapshot) views.EmptyState {
	if q.narrowed() || !q.first() {
		return views.EmptyState{Kind: "nomatch", Say: "No dead task matches.", Links: []views.Chip{{Href: "/dlq", Label: "Clear filters"}}}
	}
	if down := downParts(w.health()); down != "" {
		return views.EmptyState{Kind: "down", Say: "No dead task is known, but " + down + ".", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	if snap.Counts.Total() == 0 {
		return w.emptyNew()
	}
	return views.EmptyState{Kind: "healthy", Say: "All healthy: no task is dead.", Why: fmt.Sprintf("%s checked just now; %s", counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health()))}
}

func deadStats(snap *query.FleetSnapshot, dead query.Dead) []views.Stat {
	abandoned := lifecycle.StatesThat(lifecycle.State.Abandoned)
	silent := lifecycle.Filter{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalySilentAttempt}, States: lifecycle.StatesThat(lifecycle.State.Dead)}
	lost, c := snap.Counts.Of(abandoned...), snap.Counts
	return []views.Stat{
		{Href: "/dlq?state=dead_lettered", Icon: "dlq", Tone: "dead", Label: "In the DLQ", Value: views.Count(c.Of(lifecycle.StateDeadLettered)), Detail: "with a dead-letter entry"},
		{Href: address("/dlq", lifecycle.Filter{States: abandoned}.Values()), Icon: "exhausted", Tone: "bad", Label: "Dead, not in DLQ", Value: views.Count(lost), Loud: lost > 0, Detail: "no dead-letter entry seen"},
		{Href: "/tasks?state=outcome_unknown", Icon: "unknown", Tone: "wait", Label: "Outcome unknown", Value: views.Count(c.Of(lifecycle.StateOutcomeUnknown)), Detail: "nothing proves how it ended"},
		{Href: "/tasks?anomaly=completed_and_dead", Icon: "warn", Tone: "warn", Label: "Completed and dead", Value: views.Count(dead.With(lifecycle.AnomalyCompletedAndDead)), Detail: "a retry may repeat the effect"},
		{Href: address("/tasks", silent.Values()), Icon: "stale", Tone: "warn", Label: "No response", Value: views.Count(dead.With(lifecycle.AnomalySilentAttempt)), Detail: "an attempt got no answer"},
		{Href: "/dlq?state=triaged", Icon: "retried", Tone: "dup", Label: "Triaged", Value: views.Count(c.Of(lifecycle.StateTriaged)), Detail: "a decision was made"},
	}
}

// maxDeadGroups is how many groups stand above the list.
const maxDeadGroups = 40

// deadGroups are the groups of the newest dead tasks, largest first, each with the address of its list.
func deadGroups(dead query.Dead, q listQuery) []views.DeadGroup {
	var out []views.DeadGroup
	for _, g := range dead.Groups() {
		f := lifecycle.Filter{Agents: []string{g.Agent}}
		on := q.has("agent", g.Agent)
		if g.Category != "" {
			f.Categories, on = []string{g.Category}, on && q.has("category", g.Category)
		} else {
			f.States, on = []lifecycle.State{g.State}, on && q.has("state", string(g.State))
		}
		out = append(out, views.DeadGroup{Name: g.Name, Agent: g.Agent, Count: int(g.Count), First: g.First, Last: g.Last, Href: address("/dlq", f.Values()), On: on})
	}
	return out[:min(len(out), maxDeadGroups)]
}
