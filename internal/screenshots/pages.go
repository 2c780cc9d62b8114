package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

type page struct{ name, path string }

// fixed are the pages that every server has.
var fixed = []page{
	{"overview", "/"}, {"tasks", "/tasks"}, {"tasks-none", "/tasks?q=agent%3Amarketing+zzz-nothing"}, {"in-flight", "/in-flight"}, {"restarts", "/restarts"}, {"agents", "/agents"}, {"alerts", "/alerts"},
	{"alert-rules", "/alerts/rules"}, {"runbook", "/runbooks/orphaned_message"}, {"dlq", "/dlq"}, {"operations", "/operations"}, {"search", "/search?q=review"}, {"duplicates", "/duplicates"},
	{"reconciliation", "/reconciliation"}, {"statistics", "/statistics?range=1h"}, {"map", "/map"}, {"capture", "/capture"}, {"doctor", "/doctor"}, {"audit", "/audit"},
	{"settings", "/settings"}, {"not-found", "/tasks/no-such-task"},
}

// pagesOf lists the pages of a server: the fixed ones, and those of a task, a message in flight, an agent and a dead letter where it has any.
func pagesOf(ctx context.Context, base string) ([]page, error) {
	pages := fixed
	task, err := taskWithStory(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("find a task to show: %w", err)
	}
	if task != "" {
		path := "/tasks/" + url.PathEscape(task)
		for _, tab := range []string{"compare", "events", "payload", "idempotency", "related", "json"} {
			pages = append(pages, page{"task-" + tab, path + "?tab=" + tab})
		}
		pages = append(pages, page{"task", path})
	}
	held, err := heldMessage(ctx, base)
	if err != nil {
		return nil, err
	}
	if held != "" {
		pages = append(pages, page{"held", "/in-flight/" + url.PathEscape(held)})
	}
	for _, one := range []struct{ name, list, field, path string }{
		{"agent", "/api/v1/agents", "agent", "/agents/"}, {"dlq-entry", "/api/v1/dlq", "id", "/dlq/"},
		{"task-open", "/api/v1/tasks?state=processing", "task_id", "/tasks/"},
	} {
		id, err := first(ctx, base+one.list, one.field)
		if err != nil {
			return nil, err
		}
		if id != "" {
			pages = append(pages, page{one.name, one.path + url.PathEscape(id)})
		}
	}
	return pages, nil
}

// heldMessage is a message in flight, as its page names it; empty without any.
func heldMessage(ctx context.Context, base string) (string, error) {
	var list struct {
		Data []struct {
			Stream string `json:"stream"`
			Seq    string `json:"seq"`
		} `json:"data"`
	}
	if err := fetch(ctx, base+"/api/v1/in-flight", &list); err != nil || len(list.Data) == 0 {
		return "", err
	}
	return list.Data[0].Stream + ":" + list.Data[0].Seq, nil
}

// first is a field of the first row of a list; empty where the list has none.
func first(ctx context.Context, address, field string) (string, error) {
	var list struct {
		Data []map[string]any `json:"data"`
	}
	if err := fetch(ctx, address, &list); err != nil || len(list.Data) == 0 {
		return "", err
	}
	id, _ := list.Data[0][field].(string)
	return id, nil
}

// taskWithStory is the task that ran longest among those with more than one attempt, or among all when there are none; empty without any.
func taskWithStory(ctx context.Context, base string) (string, error) {
	var list struct {
		Data []struct {
			TaskID    string `json:"task_id"`
			Attempt   int    `json:"attempt"`
			RunningMS int64  `json:"running_ms"`
		} `json:"data"`
	}
	if err := fetch(ctx, base+"/api/v1/tasks?limit=200&state=completed", &list); err != nil || len(list.Data) == 0 {
		return "", err
	}
	best := list.Data[0]
	for _, t := range list.Data {
		again, before := t.Attempt > 1, best.Attempt > 1
		if (again && !before) || (again == before && t.RunningMS > best.RunningMS) {
			best = t
		}
	}
	return best.TaskID, nil
}

func fetch(ctx context.Context, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: status %d", address, response.StatusCode)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
