package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// deadStates are what the page of dead letters shows.
var deadStates = append(lifecycle.StatesThat(lifecycle.State.Dead), lifecycle.StateTriaged)

// abandonedHref leads to the dead of which no dead-letter entry exists.
var abandonedHref = address("/dlq", lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Abandoned)}.Values())

// silentHref leads to the dead of which an attempt never answered.
var silentHref = address("/tasks", lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Dead), Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalySilentAttempt}}.Values())

// groupSample is how many of the newest dead tasks are grouped.
const groupSample = 500

// deadLetters is what died, grouped by reason and agent. It shows what the store knows; decisions are not part of it yet.
func (w *Web) deadLetters(c *gin.Context) error {
	ctx := c.Request.Context()
	r := readerOf(c)
	b, err := w.board.get(ctx)
	if err != nil {
		return err
	}
	q, err := readList("/dlq", c.Request.URL.Query(), r.zone, w.cfg.Now())
	f := frame{title: "DLQ", section: "dlq", search: true, board: b}
	p := views.DeadLettersPage{Head: "Dead tasks, newest first", Chips: q.activeChips()}
	var wrong *lifecycle.FilterError
	if errors.As(err, &wrong) {
		p.Blank = views.Blank{Kind: "nomatch", Say: "The query cannot be read.", Why: wrong.Error() + ".", Links: []views.Chip{{Href: "/dlq", Label: "Clear filters"}}}
		f.status = http.StatusBadRequest
		return w.render(c, f, views.DeadLetters(p))
	}
	if len(q.filter.States) == 0 {
		q.filter.States = deadStates
	}
	p.Links = links(c, q.frozen(), "/api/v1/tasks", q.filter.Values())
	if err := w.fillDead(ctx, &p, q, b, r); err != nil {
		return err
	}
	return w.render(c, f, views.DeadLetters(p))
}

func (w *Web) fillDead(ctx context.Context, p *views.DeadLettersPage, q listQuery, b *board, r reader) error {
	counts, capped, err := w.cfg.Store.CountTasks(ctx, q.filter)
	if err != nil {
		return err
	}
	page, err := w.cfg.Store.ListTasks(ctx, q.filter, q.page)
	if err != nil {
		return err
	}
	sample, err := w.cfg.Store.ListTasks(ctx, lifecycle.Filter{States: lifecycle.StatesThat(lifecycle.State.Dead)}, lifecycle.Page{Limit: groupSample})
	if err != nil {
		return err
	}
	p.States = q.stateTabs(counts, capped, deadStates)
	p.Rows = rows(page.Tasks, b)
	p.Pager = views.Pager{Newer: q.at(page.Prev, true), Older: q.at(page.Next, false), Note: pageNote(page.Tasks, r.zone)}
	p.Groups = deadGroups(sample.Tasks, q)
	p.Note = "by reason and agent"
	if sample.Next != nil {
		p.Note = fmt.Sprintf("the newest %d, by reason and agent", len(sample.Tasks))
	}
	p.Stats = deadStats(b, sample.Tasks)
	if len(p.Rows) == 0 {
		p.Blank = w.blankDead(q, b)
	}
	return nil
}

func (w *Web) blankDead(q listQuery, b *board) views.Blank {
	if q.narrowed() || !q.first {
		return views.Blank{Kind: "nomatch", Say: "No dead task matches.", Links: []views.Chip{{Href: "/dlq", Label: "Clear filters"}}}
	}
	if down := downParts(w.health()); down != "" {
		return views.Blank{Kind: "down", Say: "No dead task is known, but " + down + ".", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	if b.total() == 0 {
		return w.blankNew()
	}
	return views.Blank{Kind: "healthy", Say: "All healthy: no task is dead.", Why: fmt.Sprintf("%s checked just now. This is not silence: %s", counted(b.total(), "task", "tasks"), captureWords(w.health()))}
}

func deadStats(b *board, sample []lifecycle.TaskSummary) []views.Stat {
	var completed, silent int64
	for _, t := range sample {
		if slices.Contains(t.Anomalies, lifecycle.AnomalyCompletedAndDead) {
			completed++
		}
		if slices.Contains(t.Anomalies, lifecycle.AnomalySilentAttempt) {
			silent++
		}
	}
	abandoned, dead := b.count(lifecycle.StatesThat(lifecycle.State.Abandoned)...), b.count(lifecycle.StateDeadLettered)
	return []views.Stat{
		{Href: "/dlq?state=dead_lettered", Icon: "dlq", Tone: "dead", Label: "In the DLQ", Value: views.Count(dead), Detail: "with a dead-letter entry"},
		{Href: abandonedHref, Icon: "exhausted", Tone: "bad", Label: "Dead, not in DLQ", Value: views.Count(abandoned), Loud: abandoned > 0, Detail: "the message operators lose"},
		{Href: "/tasks?state=outcome_unknown", Icon: "unknown", Tone: "wait", Label: "Outcome unknown", Value: views.Count(b.count(lifecycle.StateOutcomeUnknown)), Detail: "gone without proof, or removed in hand"},
		{Href: "/tasks?anomaly=completed_and_dead", Icon: "warn", Tone: "warn", Label: "Completed and dead", Value: views.Count(completed), Detail: "a retry may repeat the effect"},
		{Href: silentHref, Icon: "stale", Tone: "warn", Label: "Died in silence", Value: views.Count(silent), Detail: "an attempt never answered"},
		{Href: "/dlq?state=triaged", Icon: "retried", Tone: "dup", Label: "Triaged", Value: views.Count(b.count(lifecycle.StateTriaged)), Detail: "somebody decided"},
	}
}

// deadGroups counts the sample by reason and agent, largest first.
func deadGroups(sample []lifecycle.TaskSummary, q listQuery) []views.DeadGroup {
	type key struct{ cause, agent string }
	groups := map[key]*views.DeadGroup{}
	for _, t := range sample {
		k := key{causeOf(t), t.Agent}
		g := groups[k]
		if g == nil {
			g = &views.DeadGroup{Name: k.cause, Agent: k.agent, First: t.StateSince, Last: t.StateSince}
			f := lifecycle.Filter{Agents: []string{t.Agent}}
			if t.Category != "" {
				f.Categories = []string{t.Category}
			} else {
				f.States = []lifecycle.State{t.State}
			}
			g.Href = address("/dlq", f.Values())
			g.On = q.has("agent", t.Agent) && (q.has("category", t.Category) || (t.Category == "" && q.has("state", string(t.State))))
			groups[k] = g
		}
		g.Count++
		g.First, g.Last = min(g.First, t.StateSince), max(g.Last, t.StateSince)
	}
	var out []views.DeadGroup
	for _, g := range groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b views.DeadGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Agent, b.Agent))
	})
	return out[:min(len(out), 40)]
}
