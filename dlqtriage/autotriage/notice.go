package autotriage

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage"
	"fleetglass/fleet"
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
		Category: string(e.Category), Detail: e.Detail, Reason: e.Reason, Why: why, FailedAt: e.FailedAt.Time().Format(time.RFC3339Nano),
		Plan: plan{
			Strategy: string(p.Strategy), DelayMS: p.Delay.Milliseconds(), TargetAgent: p.TargetAgent, TargetModel: p.TargetModel, Reasons: p.Reasons,
			Eligible: p.Eligible, Blocked: []string{},
		},
	}
	for _, o := range p.Blocked {
		n.Plan.Blocked = append(n.Plan.Blocked, o.Why)
	}
	base := strings.TrimSuffix(d.cfg.BaseURL(), "/")
	api := base + "/api/v1"
	n.Links = map[string]string{
		"api": api, "entry": api + "/dlq/" + url.PathEscape(e.ID), "actions": api + "/dlq/" + url.PathEscape(e.ID) + "/actions",
		"task": api + "/tasks/" + url.PathEscape(e.TaskID), "page": base + "/tasks/" + url.PathEscape(e.TaskID),
	}
	return n
}

// publish sends the notice as a task. The message id makes a repetition harmless, as long as the stream remembers it.
func (d *Desk) publish(ctx context.Context, n notice) error {
	id, now := "triage:"+n.Entry, d.cfg.Now().UTC().Format(time.RFC3339Nano)
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

// post sends the notice to the webhook, signed as Standard Webhooks has it where there is a secret.
func (d *Desk) post(ctx context.Context, effect string, n notice) error {
	body, err := json.Marshal(map[string]any{"type": "dead_letter.escalated", "timestamp": d.cfg.Now().UTC().Format(time.RFC3339Nano), "data": n})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.cfg.Webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(effect))
	id, at := "msg_"+base64.RawURLEncoding.EncodeToString(sum[:16]), strconv.FormatInt(d.cfg.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", at)
	if d.cfg.Secret != "" {
		request.Header.Set("webhook-signature", "v1,"+sign(d.cfg.Secret, id, at, body))
	}
	response, err := d.cfg.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("post to the webhook: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answers %s", response.Status)
	}
	return nil
}

// sign is the signature of Standard Webhooks: HMAC-SHA256 over id, time and body. A secret that begins with whsec_ is base64.
func sign(secret, id, at string, body []byte) string {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if raw, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			key = raw
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
