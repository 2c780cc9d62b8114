package api

import (
	"cmp"
	"net/url"

	"fleetglass/alerts"
	"fleetglass/internal/live"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Alert is an alert on the board.
type Alert struct {
	ID           string                 `json:"id" example:"stale-5f0c2b1a9d8e"`
	Rule         string                 `json:"rule" example:"stale"`
	Severity     string                 `json:"severity" example:"warning"`
	State        string                 `json:"state" example:"firing"`
	Title        string                 `json:"title" doc:"What the rule is about." example:"Lease past its deadline"`
	What         string                 `json:"what" doc:"What is so. It may hold text of the fleet, which is untrusted."`
	Why          string                 `json:"why" doc:"What it means."`
	Next         string                 `json:"next" doc:"What to do about it."`
	Harm         string                 `json:"harm" doc:"What harm it does. Alerts stand in order of harm, the worst first; within one harm by their number times how long they last." example:"waiting"`
	Do           AlertAction            `json:"do" doc:"The one thing to do next."`
	Runbook      string                 `json:"runbook" doc:"Address of the runbook on this server." example:"/runbooks/stale"`
	Labels       AlertLabels            `json:"labels"`
	TaskID       Text                   `json:"task_id"`
	StartedAt    Instant                `json:"started_at" doc:"When it began to fire, the last time."`
	LastSeenAt   Instant                `json:"last_seen_at" doc:"When it was last noted that it is still so, to within 15 seconds."`
	ResolvedAt   Instant                `json:"resolved_at"`
	Since        Instant                `json:"since" doc:"Since when it is so; null where that is not known."`
	DeadlineAt   Instant                `json:"deadline_at" doc:"The deadline of the lease that it is about; null for others."`
	Count        int64                  `json:"count" doc:"How many things it is about."`
	Recurrence   int                    `json:"recurrence" doc:"How often it came back within a day after it was resolved."`
	Acknowledged Maybe[Acknowledgement] `json:"acknowledged" doc:"Who looks after it; null for nobody."`
	SilenceID    Text                   `json:"silence_id" doc:"The silence that keeps it from receivers."`
	Delivered    []AlertDelivery        `json:"delivered" nullable:"false" doc:"The latest tries to tell receivers, the newest first."`
	Links        map[string]string      `json:"links"`

	place string // In the order of the board.
}

// AlertAction is the one thing to do next about an alert or a finding.
type AlertAction struct {
	Label string `json:"label" example:"Open the agent"`
	Page  string `json:"page" doc:"Address of a page on this server." example:"/agents/marketing"`
}

// actionOf is an action with the page that it leads to.
func actionOf(do alerts.Action, task string) AlertAction {
	return AlertAction{Label: do.Label, Page: cmp.Or(do.Page, lifecycle.PageOfTask(task))}
}

// AlertLabels say whom an alert concerns.
type AlertLabels struct {
	Agent    Text `json:"agent" example:"marketing"`
	Stream   Text `json:"stream" example:"TASKS"`
	Consumer Text `json:"consumer" example:"marketing-task-worker"`
	Category Text `json:"category"`
}

// Acknowledgement says who looks after an alert.
type Acknowledgement struct {
	By   string  `json:"by" example:"ann"`
	At   Instant `json:"at"`
	Note string  `json:"note"`
}

// AlertDelivery is a try to tell a receiver.
type AlertDelivery struct {
	To     string  `json:"to" doc:"The receiver." example:"webhook hooks.example.org"`
	At     Instant `json:"at"`
	Status string  `json:"status" doc:"delivered, failed (it is tried again) or given_up." example:"delivered"`
	Detail Text    `json:"detail" doc:"What the receiver answered."`
}

// AlertRule is a rule in force.
type AlertRule struct {
	ID        string `json:"id" example:"pending_queue_age"`
	Severity  string `json:"severity" example:"warning"`
	Enabled   bool   `json:"enabled"`
	ForMS     int64  `json:"for_ms" doc:"How long it must be so before the alert fires."`
	Threshold *int64 `json:"threshold_ms" doc:"What the condition compares with; null where it has none."`
	Means     Text   `json:"threshold_means" doc:"What the threshold bounds."`
	Title     string `json:"title"`
	Why       string `json:"why"`
	Next      string `json:"next"`
	Runbook   string `json:"runbook"`
}

func alertOf(s alerts.Standing, delivered []alerts.Delivery) Alert {
	a := Alert{
		ID: s.ID, Rule: string(s.Rule), Severity: string(s.Severity), State: string(s.State), Title: s.Title, What: s.What, Why: s.Why, Next: s.Next, Runbook: s.Rule.Runbook(),
		Labels: AlertLabels{Text(s.Labels.Agent), Text(s.Labels.Stream), Text(s.Labels.Consumer), Text(s.Labels.Category)}, TaskID: Text(s.TaskID),
		StartedAt: Instant(s.StartedAt), LastSeenAt: Instant(s.LastSeenAt), ResolvedAt: Instant(s.ResolvedAt), Since: Instant(s.Since), DeadlineAt: Instant(s.Deadline),
		Count: s.Count, Recurrence: s.Recurrence, Delivered: []AlertDelivery{}, Links: map[string]string{"self": alertPath(s.ID), "runbook": s.Rule.Runbook()},
		Harm: string(s.Harm), Do: actionOf(s.Do, s.TaskID), place: s.Place(),
	}
	if s.Acknowledged != nil {
		a.Acknowledged.Value = &Acknowledgement{By: s.Acknowledged.By, At: Instant(s.Acknowledged.At), Note: s.Acknowledged.Note}
	}
	if s.Silence != nil {
		a.SilenceID = Text(s.Silence.ID)
		a.Links["silence"] = silencePath(s.Silence.ID)
	}
	if s.TaskID != "" {
		a.Links["task"] = taskPath(s.TaskID)
	}
	if s.Page != "" {
		a.Links["page"] = s.Page
	}
	for _, d := range delivered {
		a.Delivered = append(a.Delivered, AlertDelivery{To: d.To, At: Instant(d.At), Status: string(d.Status), Detail: Text(d.Detail)})
	}
	return a
}

func alertPath(id string) string   { return Base + "/alerts/" + url.PathEscape(id) }
func silencePath(id string) string { return Base + "/silences/" + url.PathEscape(id) }

func alertRuleOf(r alerts.Rule) AlertRule {
	out := AlertRule{
		ID: string(r.ID), Severity: string(r.Severity), Enabled: !r.Off, ForMS: r.For.Milliseconds(), Means: Text(r.Means), Title: r.Title, Why: r.Why, Next: r.Next,
		Runbook: r.ID.Runbook(),
	}
	if r.Means != "" {
		ms := r.Threshold.Milliseconds()
		out.Threshold = &ms
	}
	return out
}

// severitiesOf counts the alerts that fire, by severity.
func severitiesOf(c alerts.Counts) map[string]int {
	out := map[string]int{}
	for severity, n := range c[alerts.StateFiring] {
		out[string(severity)] = n
	}
	return out
}

// AlertChanged is the data of an alert event.
type AlertChanged struct {
	ID       string  `json:"id"`
	Rule     string  `json:"rule"`
	Severity string  `json:"severity"`
	State    string  `json:"state"`
	Title    string  `json:"title"`
	What     string  `json:"what"`
	Agent    Text    `json:"agent"`
	At       Instant `json:"at"`
	Self     string  `json:"self"`
}

func alertChangedOf(c live.AlertChange) AlertChanged {
	return AlertChanged{
		ID: c.ID, Rule: c.Rule, Severity: c.Severity, State: c.State, Title: c.Title, What: c.What, Agent: Text(c.Agent), At: Instant(c.At), Self: alertPath(c.ID),
	}
}

func rowsOf(board query.Alerts) []Alert {
	out := make([]Alert, len(board.All))
	for i, s := range board.All {
		out[i] = alertOf(s, board.Delivered(s.ID))
	}
	return out
}
