package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fleetglass/alerts"
)

// Alertmanager is a Prometheus Alertmanager, told by its API v2.
type Alertmanager struct {
	base   *url.URL
	links  func() string
	client *http.Client

	mu    sync.Mutex
	ended map[string]alerts.Alert // What was resolved a short time ago, by id.
}

// The pace of an Alertmanager: what it does not hear of again ends by itself.
const (
	resend  = 30 * time.Second
	expires = 4 * resend
)

// Heartbeat is the name of the alert that is sent for as long as our own feed is not silent. A dead-man switch fires when it ends.
const Heartbeat = "FleetglassHeartbeat"

// NewAlertmanager checks the address and connects to nothing. links says where pages are reached.
func NewAlertmanager(address string, links func() string) (*Alertmanager, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("delivery: not the address of an Alertmanager, such as http://alertmanager:9093")
	}
	return &Alertmanager{base: u.JoinPath("api/v2/alerts"), links: links, client: &http.Client{Timeout: 10 * time.Second}, ended: map[string]alerts.Alert{}}, nil
}

// Name implements [Receiver].
func (a *Alertmanager) Name() string { return "alertmanager " + a.base.Host }

// Batch implements [Receiver].
func (a *Alertmanager) Batch() int { return 500 }

// Again implements [Receiver].
func (a *Alertmanager) Again() time.Duration { return resend }

// postable is an alert as the API v2 takes it.
type postable struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

// Tell implements [Receiver]: it sends what fires and is not silenced, and what was resolved.
func (a *Alertmanager) Tell(ctx context.Context, news []alerts.Notice, standing []alerts.Standing, now time.Time) (string, error) {
	var out []postable
	silent := false
	for _, s := range standing {
		silent = silent || (s.Rule == alerts.RuleFeedSilent && s.Active())
		if s.State == alerts.StateFiring || s.State == alerts.StateAcknowledged {
			out = append(out, a.postable(s.Alert, now.Add(expires)))
		}
	}
	for _, x := range a.resolved(news, now) {
		if !stands(standing, x.ID) {
			out = append(out, a.postable(x, x.ResolvedAt.Time()))
		}
	}
	if !silent {
		out = append(out, postable{
			Labels: map[string]string{"alertname": Heartbeat, "severity": "none"}, StartsAt: now, EndsAt: now.Add(expires), GeneratorURL: a.address(""),
			Annotations: map[string]string{"summary": "Fleetglass watches the fleet. When this alert ends, it does not."},
		})
	}
	return a.post(ctx, out)
}

// resolved is what was resolved a short time ago, in the order of ids. It is sent again and again, as what fires is: an Alertmanager whose clock
// is behind takes an end in its future for no end.
func (a *Alertmanager) resolved(news []alerts.Notice, now time.Time) (out []alerts.Alert) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range news {
		if n.State == alerts.StateResolved {
			a.ended[n.Alert.ID] = n.Alert
		}
	}
	for id, x := range a.ended {
		if now.Sub(x.ResolvedAt.Time()) > expires {
			delete(a.ended, id)
			continue
		}
		out = append(out, x)
	}
	alerts.SortByID(out)
	return out
}

// stands reports whether the alert fires again.
func stands(standing []alerts.Standing, id string) bool {
	for _, s := range standing {
		if s.ID == id && s.Active() {
			return true
		}
	}
	return false
}

func (a *Alertmanager) postable(x alerts.Alert, ends time.Time) postable {
	labels := map[string]string{"alertname": string(x.Rule), "alert_id": x.ID, "severity": string(x.Severity), "source": "fleetglass"}
	for name, value := range map[string]string{"agent": x.Labels.Agent, "stream": x.Labels.Stream, "consumer": x.Labels.Consumer, "category": x.Labels.Category, "task_id": x.TaskID} {
		if value != "" {
			labels[name] = value
		}
	}
	return postable{
		Labels: labels, StartsAt: x.StartedAt.Time(), EndsAt: ends, GeneratorURL: a.address("/alerts#" + x.ID),
		Annotations: map[string]string{"summary": x.Title, "description": x.What + ". " + x.Why, "next": x.Next, "runbook_url": a.address(x.Rule.Runbook())},
	}
}

func (a *Alertmanager) address(path string) string { return strings.TrimSuffix(a.links(), "/") + path }

func (a *Alertmanager) post(ctx context.Context, all []postable) (string, error) {
	body, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base.String(), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) { // Its address may hold a password.
			err = of.Err
		}
		return "", fmt.Errorf("post to the Alertmanager: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode/100 != 2 {
		return "", fmt.Errorf("the Alertmanager answers %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return response.Status, nil
}
