package demo

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
	"time"

	"fleetglass/fleet"
)

// The CEO agent decides about dead letters that it is told of. It is a program like any other: it knows the message that it got, and the API.
const (
	ceoAgent   = "ceo"
	triageType = "triage"
)

// briefing is the task that tells of a dead letter.
type briefing struct {
	Payload struct {
		Entry    string `json:"entry_id"`
		Category string `json:"category"`
		Path     string `json:"path"`
		Links    struct {
			API string `json:"api"`
		} `json:"links"`
	} `json:"payload"`
}

// desk is where the CEO agent works: the API of Fleetglass.
type desk struct {
	http  *http.Client
	token string
	scale func(time.Duration) time.Duration
}

// triage takes a decision: it lists what is open, reads the entry, previews an action, applies it and follows it to its end. It returns what was
// done.
func (c desk) triage(ctx context.Context, del fleet.Delivery) (string, error) {
	var b briefing
	if err := json.Unmarshal(del.Body, &b); err != nil || b.Payload.Entry == "" || b.Payload.Links.API == "" {
		return "", fleet.Terminate("invalid_payload: the task names no dead letter")
	}
	api, id := b.Payload.Links.API, b.Payload.Entry
	open, err := c.open(ctx, api, id)
	if err != nil || !open {
		return "somebody has decided already", err
	}
	var entry struct {
		Category string `json:"category"`
		Path     string `json:"path"`
		Revision any    `json:"revision"`
		Plan     struct {
			Eligible bool `json:"eligible"`
		} `json:"plan"`
	}
	if err := c.call(ctx, http.MethodGet, api+"/dlq/"+url.PathEscape(id), "", nil, &entry); err != nil {
		return "", err
	}
	action := choose(entry.Category, entry.Path, entry.Plan.Eligible)
	return c.apply(ctx, api, id, action)
}

// choose is the CEO's judgement: what cannot succeed is discarded, what nobody takes waits for a person, and the rest is tried once more.
func choose(category, path string, eligible bool) map[string]any {
	switch {
	case path == "filter_rejected":
		return map[string]any{"action": "defer", "reason": "nobody works for this agent: a person must deploy it", "params": map[string]any{"to": "human"}}
	case category == "permanent":
		return map[string]any{"action": "discard", "reason": "no retry can cure this", "params": map[string]any{"because": "obsolete"}}
	case eligible:
		return map[string]any{"action": "retry", "reason": "worth another try", "params": map[string]any{"as": "plan"}}
	}
	return map[string]any{"action": "defer", "reason": "the plan is blocked: a person must look", "params": map[string]any{"to": "human"}}
}

// open reports whether the entry is among those that wait for a decision.
func (c desk) open(ctx context.Context, api, id string) (bool, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.call(ctx, http.MethodGet, api+"/dlq?status=open&limit=200&q="+url.QueryEscape("id:"+id), "", nil, &list); err != nil {
		return false, err
	}
	for _, e := range list.Data {
		if e.ID == id {
			return true, nil
		}
	}
	return false, nil
}

// apply previews the action, takes it under a key of its own, and follows it.
func (c desk) apply(ctx context.Context, api, id string, action map[string]any) (string, error) {
	path, key := api+"/dlq/"+url.PathEscape(id)+"/actions", fleet.Key(ceoAgent, triageType, id)
	preview := map[string]any{"dry_run": true}
	for name, value := range action {
		preview[name] = value
	}
	var seen struct {
		Preview struct {
			Eligible bool `json:"eligible"`
		} `json:"preview"`
	}
	if err := c.call(ctx, http.MethodPost, path, key+"-preview", preview, &seen); err != nil {
		return "", err
	}
	if !seen.Preview.Eligible {
		return "it is not possible any more", nil
	}
	var operation struct {
		ID string `json:"id"`
	}
	if err := c.call(ctx, http.MethodPost, path, key, action, &operation); err != nil {
		return "", err
	}
	return c.follow(ctx, api, operation.ID, fmt.Sprint(action["action"]))
}

// followed is how long the CEO waits for the end of an action, and followEvery how often it looks. A retry may be due later, and ends without it: while
// the CEO waits, other dead letters wait for the CEO.
const (
	followed    = 2 * time.Second
	followEvery = 500 * time.Millisecond
)

func (c desk) follow(ctx context.Context, api, operation, action string) (string, error) {
	status := ""
	for end := time.Now().Add(c.scale(followed)); time.Now().Before(end); {
		var got struct {
			Status string `json:"status"`
		}
		if err := c.call(ctx, http.MethodGet, api+"/operations/"+url.PathEscape(operation), "", nil, &got); err != nil {
			return "", err
		}
		if status = got.Status; status != "queued" && status != "running" {
			break
		}
		if !sleep(ctx, c.scale(followEvery)) {
			return "", ctx.Err()
		}
	}
	return fmt.Sprintf("decided: %s (%s)", action, status), nil
}

// errBusy says that somebody else decides just now.
var errBusy = errors.New("somebody else decides just now")

// call asks the API. A refusal because somebody else decides is worth another attempt, as is everything that is not the request's fault.
func (c desk) call(ctx context.Context, method, address, key string, body, into any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusConflict:
		return errBusy
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, strings.SplitN(address, "?", 2)[0], response.Status, text)
	}
	return json.Unmarshal(text, into)
}
