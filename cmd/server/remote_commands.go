package main

import (
	"context"
	"fmt"
	"time"

	"fleetglass/client"
	"fleetglass/lifecycle"
)

type tasksCmd struct {
	remote
	Query []string `arg:"" optional:"" help:"What to look for, as in the search box of the pages: agent:marketing state:failed, a task id, words. Write -- before a query that begins with a minus: fleetglass tasks -- -state:completed."`
	State []string `placeholder:"STATE" help:"Only tasks in these states."`
	Agent []string `placeholder:"NAME" help:"Only tasks of these agents."`
	Limit int      `default:"50" help:"How many at most, up to 200."`
}

// Run lists tasks.
func (c tasksCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	filter := filterOf(c.Query, c.Limit, map[string][]string{"state": c.State, "agent": c.Agent})
	return show(ctx, c.remote, l, t, "/tasks", filter, func(p client.Page[client.Task]) [][]string {
		rows := [][]string{{"TASK", "STATE", "AGENT", "TYPE", "ATTEMPT", "LAST EVENT", "REASON OR TITLE"}}
		for _, task := range p.Data {
			text := task.Reason
			if text == nil {
				text = task.Title
			}
			rows = append(rows, []string{
				task.TaskID, task.State, known(task.Agent), known(task.Type), attempts(task.Attempt, task.MaxDeliver), ago(task.LastEventAt, p.AsOf), known(text),
			})
		}
		return rows
	})
}

// attempts is "2 of 5".
func attempts(n, most *int) string {
	if n == nil || most == nil {
		return known(n)
	}
	return fmt.Sprintf("%d of %d", *n, *most)
}

type taskCmd struct {
	remote
	ID string `arg:"" help:"Id of the task."`
}

// Run prints what became of one task, with the three answers.
func (c taskCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	return show(ctx, c.remote, l, t, "/tasks/"+lifecycle.TaskSegment(c.ID), nil, func(task client.Trace) [][]string {
		rows := [][]string{
			{"task", task.TaskID}, {"state", task.State}, {"agent", known(task.Agent)}, {"type", known(task.Type)}, {"title", known(task.Title)},
			{"reason", known(task.Reason)}, {"attempts", attempts(&task.Attempts, task.MaxDeliver)},
			{"waited", milliseconds(task.WaitingMS)}, {"ran", milliseconds(task.RunningMS)},
		}
		for _, a := range []struct {
			name   string
			answer client.Answer
		}{{"who owns it", task.Answers.Ownership}, {"last receipt", task.Answers.LastReceipt}, {"recovery", task.Answers.Recovery}} {
			rows = append(rows, []string{a.name, a.answer.Headline}, []string{"", a.answer.Text})
		}
		for _, a := range task.Anomalies {
			rows = append(rows, []string{"anomaly", a.Meaning})
		}
		return rows
	})
}

type eventsCmd struct {
	remote
	ID    string `arg:"" help:"Id of the task."`
	Limit int    `default:"200" help:"How many at most, up to 200."`
}

// Run lists what happened to one task.
func (c eventsCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	path := "/tasks/" + lifecycle.TaskSegment(c.ID) + "/events"
	return show(ctx, c.remote, l, t, path, filterOf(nil, c.Limit, nil), func(p client.Page[client.Event]) [][]string {
		rows := [][]string{{"TIME", "MESSAGE", "ATTEMPT", "EVENT", "KNOWN AS", "WHAT HAPPENED"}}
		for _, e := range p.Data {
			message := "–"
			if e.Stream != nil && e.Seq != nil {
				message = *e.Stream + ":" + *e.Seq
			}
			rows = append(rows, []string{e.At.UTC().Format("2006-01-02 15:04:05.000 UTC"), message, known(e.Attempt), e.Kind, e.Provenance, e.Summary})
		}
		return rows
	}, moreEvents)
}

// moreEvents says that the task has more events than are shown.
func moreEvents(p client.Page[client.Event]) string {
	if p.Page.Next == nil {
		return ""
	}
	return fmt.Sprintf("These are the first %d: the page of the task has all.", len(p.Data))
}

type inFlightCmd struct {
	remote
	Agent []string `placeholder:"NAME" help:"Only what these agents hold."`
	Limit int      `default:"50" help:"How many at most, up to 200."`
}

// Run lists what workers hold.
func (c inFlightCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	filter := filterOf(nil, c.Limit, map[string][]string{"agent": c.Agent})
	return show(ctx, c.remote, l, t, "/in-flight", filter, func(p client.Leases) [][]string {
		rows := [][]string{{"TASK", "MESSAGE", "AGENT", "ATTEMPT", "HELD", "DEADLINE", "STALE", "RECOMMENDED"}}
		for _, lease := range p.Data {
			held, deadline, advice := "–", "–", "–"
			if lease.HeldMS != nil {
				held = milliseconds(*lease.HeldMS)
			}
			if lease.DeadlineAt != nil {
				deadline = until(*lease.DeadlineAt, p.AsOf)
			}
			if lease.Recommendation != nil {
				advice = lease.Recommendation.Decision
			}
			rows = append(rows, []string{
				lease.TaskID, lease.Stream + ":" + lease.Seq, known(lease.Agent), attempts(lease.Attempt, lease.MaxDeliver), held, deadline, known(lease.StaleKind), advice,
			})
		}
		return rows
	}, unreadAnswers)
}

// readLate is how old the newest answer of a worker that was read may be without a word: the collector looks every few seconds.
const readLate = 10 * time.Second

// unreadAnswers says how far workers' answers were read where that is long ago; else it is empty.
func unreadAnswers(l client.Leases) string {
	switch read := l.AnswersReadAt; {
	case read == nil:
		return "No answer of a worker was read yet: what is in flight is not known."
	case l.AsOf.Sub(*read) <= readLate:
		return ""
	default:
		return fmt.Sprintf("Workers' answers were read up to %s only (%s): what is in flight since is not known.", ago(read, l.AsOf), read.UTC().Format("15:04:05 UTC"))
	}
}

type dlqCmd struct {
	remote
	Query  []string `arg:"" optional:"" help:"What to look for, as in the search box of the pages: category:permanent, a task id, words."`
	Status []string `placeholder:"STATUS" default:"open" help:"Only entries with these statuses: open, acting, deferred, retried, reassigned, discarded, quarantined."`
	Agent  []string `placeholder:"NAME" help:"Only entries of these agents."`
	Limit  int      `default:"50" help:"How many at most, up to 200."`
}

// Run lists dead letters.
func (c dlqCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	filter := filterOf(c.Query, c.Limit, map[string][]string{"status": c.Status, "agent": c.Agent})
	return show(ctx, c.remote, l, t, "/dlq", filter, func(p client.Page[client.DeadLetter]) [][]string {
		rows := [][]string{{"ENTRY", "TASK", "AGENT", "CLASS", "STATUS", "DIED", "PLAN", "REASON"}}
		for _, d := range p.Data {
			class := d.Category
			if d.Detail != nil {
				class = *d.Detail
			}
			why := d.Path // Nobody gave a reason.
			if d.Reason != nil {
				why = *d.Reason
			}
			rows = append(rows, []string{d.ID, d.TaskID, known(d.Agent), class, d.Status, ago(&d.FailedAt, p.AsOf), d.Plan.Strategy, why})
		}
		return rows
	})
}

type alertsCmd struct {
	remote
	State []string `placeholder:"STATE" default:"firing" help:"Only alerts in these states: firing, acknowledged, silenced, resolved."`
	Limit int      `default:"50" help:"How many at most, up to 200."`
}

// Run lists alerts.
func (c alertsCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	return show(ctx, c.remote, l, t, "/alerts", filterOf(nil, c.Limit, map[string][]string{"state": c.State}), func(p client.Page[client.Alert]) [][]string {
		rows := [][]string{{"SEVERITY", "RULE", "STATE", "BEGAN", "WHAT", "NEXT"}}
		for _, a := range p.Data {
			rows = append(rows, []string{a.Severity, a.Rule, a.State, ago(&a.StartedAt, p.AsOf), a.What, a.Next})
		}
		return rows
	})
}
