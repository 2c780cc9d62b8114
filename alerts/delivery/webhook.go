package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
)

// Webhook is a receiver that hears each notice as a signed POST.
type Webhook struct {
	Sender *webhook.Sender // Required.
	Label  string          // Required. Names it among others.
	Base   func() string   // Required. Where pages and API are reached, for links.
}

// Name implements [Receiver].
func (h *Webhook) Name() string { return h.Label }

// Batch implements [Receiver]: one message tells one notice.
func (h *Webhook) Batch() int { return 1 }

// Again implements [Receiver].
func (h *Webhook) Again() time.Duration { return 0 }

// Tell implements [Receiver].
func (h *Webhook) Tell(ctx context.Context, news []alerts.Notice, _ []alerts.Standing, _ time.Time) (string, error) {
	answer := ""
	for _, n := range news {
		body, err := json.Marshal(messageOf(n, h.Base()))
		if err != nil {
			return "", err
		}
		id := webhook.MessageID(fmt.Sprint(n.Alert.ID, " ", n.Alert.StartedAt, " ", n.State, " ", n.Seq))
		if answer, err = h.Sender.Post(ctx, id, body); err != nil {
			return "", err
		}
	}
	return answer, nil
}

// message is what a webhook hears. Its data has the names of the API. Texts of agents in it are untrusted.
type message struct {
	Type      string    `json:"type"` // alert.firing or alert.resolved.
	Timestamp string    `json:"timestamp"`
	Data      alertData `json:"data"`
}

type alertData struct {
	ID         string            `json:"id"`
	Rule       string            `json:"rule"`
	Severity   string            `json:"severity"`
	State      string            `json:"state"`
	Title      string            `json:"title"`
	What       string            `json:"what"`
	Why        string            `json:"why"`
	Next       string            `json:"next"`
	Runbook    string            `json:"runbook"`
	Labels     alerts.Labels     `json:"labels"`
	TaskID     *string           `json:"task_id"`
	StartedAt  *string           `json:"started_at"`
	ResolvedAt *string           `json:"resolved_at"`
	Recurrence int               `json:"recurrence"`
	Links      map[string]string `json:"links"`
}

func messageOf(n alerts.Notice, base string) message {
	a, base := n.Alert, strings.TrimSuffix(base, "/")
	data := alertData{
		ID: a.ID, Rule: string(a.Rule), Severity: string(a.Severity), State: string(n.State), Title: a.Title, What: a.What, Why: a.Why, Next: a.Next,
		Runbook: base + a.Rule.Runbook(), Labels: a.Labels, StartedAt: instant(a.StartedAt), ResolvedAt: instant(a.ResolvedAt), Recurrence: a.Recurrence,
		Links: map[string]string{"self": base + "/api/v1/alerts/" + a.ID, "page": base + "/alerts#" + a.ID},
	}
	if a.TaskID != "" {
		data.TaskID = &a.TaskID
	}
	return message{Type: "alert." + string(n.State), Timestamp: n.At.Time().Format(time.RFC3339Nano), Data: data}
}

func instant(at lifecycle.Micros) *string {
	if !at.Known() {
		return nil
	}
	text := at.Time().Format(time.RFC3339Nano)
	return &text
}
