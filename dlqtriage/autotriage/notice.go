package autotriage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
)

// notice is what somebody is told of an entry. Texts of agents in it are untrusted.
type notice struct {
	Title    string            `json:"title"`
	Entry    string            `json:"entry_id"`
	Task     string            `json:"task_id"`
	Agent    string            `json:"agent"`
	Type     string            `json:"type"`
	Path     string            `json:"path"`
	Category string            `json:"category"`
	Detail   string            `json:"detail,omitempty"`
	Reason   string            `json:"reason"`
	Why      string            `json:"why"` // Why nobody decided without asking.
	FailedAt string            `json:"failed_at"`
	Plan     plan              `json:"plan"`
	Links    map[string]string `json:"links"`
}

type plan struct {
	Strategy    string   `json:"strategy"`
	DelayMS     int64    `json:"delay_ms"`
	TargetAgent string   `json:"target_agent"`
	TargetModel string   `json:"target_model,omitempty"`
	Reasons     []string `json:"reasons"`
	Eligible    bool     `json:"eligible"`
	Blocked     []string `json:"blocked"`
}

func (d *Desk) notice(k dlqtriage.Known, p dlqtriage.Plan, why string) notice {
	e := k.Entry
	n := notice{
		Title: "Decide about the dead letter " + e.ID, Entry: e.ID, Task: e.TaskID, Agent: e.Agent, Type: e.Type, Path: string(e.Path),
		Category: string(e.Category), Detail: e.Detail, Reason: d.cfg.Mask(e.Reason), Why: d.cfg.Mask(why), FailedAt: e.FailedAt.Time().Format(time.RFC3339Nano),
		Plan: plan{
			Strategy: string(p.Strategy), DelayMS: p.Delay.Milliseconds(), TargetAgent: p.TargetAgent, TargetModel: p.TargetModel, Reasons: p.Reasons,
			Eligible: p.Eligible, Blocked: []string{},
		},
	}
	for _, o := range p.Blocked {
		n.Plan.Blocked = append(n.Plan.Blocked, d.cfg.Mask(o.Why))
	}
	base := strings.TrimSuffix(d.cfg.BaseURL(), "/")
	api := base + "/api/v1"
	n.Links = map[string]string{
		"api": api, "entry": api + "/dlq/" + url.PathEscape(e.ID), "actions": api + "/dlq/" + url.PathEscape(e.ID) + "/actions",
		"task": api + "/tasks/" + lifecycle.TaskSegment(e.TaskID), "page": base + lifecycle.PageOfTask(e.TaskID),
	}
	return n
}

// task is the id of the task that tells of the entry, and of its message.
func (n notice) task() string { return "triage:" + n.Entry }

// publish sends the notice as a task. The message id makes a repetition harmless, as long as the stream remembers it.
func (d *Desk) publish(ctx context.Context, n notice) error {
	id, now := n.task(), d.cfg.Now().UTC().Format(time.RFC3339Nano)
	agent, taskType, ok := d.cfg.Contract.ParseTaskSubject(d.cfg.Subject)
	if !ok {
		return fmt.Errorf("%q is not the subject of a task", d.cfg.Subject)
	}
	body, err := json.Marshal(map[string]any{"taskId": id, "assignee": agent, "type": taskType, "createdAt": now, "payload": n})
	if err != nil {
		return err
	}
	m := nats.NewMsg(d.cfg.Subject)
	m.Data = body
	m.Header = nats.Header{fleet.HeaderTaskID: {id}, fleet.HeaderTaskType: {taskType}, fleet.HeaderCreatedAt: {now}}
	if _, err := d.cfg.JetStream.PublishMsg(ctx, m, jetstream.WithMsgID(id)); err != nil {
		return fmt.Errorf("publish to %s: %w", d.cfg.Subject, err)
	}
	return nil
}

// post sends the notice to the webhook, signed where there is a secret. It was decided at the time that the body says, also when it is sent again.
func (d *Desk) post(ctx context.Context, effect string, at lifecycle.Micros, n notice) error {
	body, err := json.Marshal(map[string]any{"type": "dead_letter.escalated", "timestamp": at.Time().Format(time.RFC3339Nano), "data": n})
	if err != nil {
		return err
	}
	_, err = d.cfg.Webhook.Post(ctx, webhook.MessageID(effect), body)
	return err
}
