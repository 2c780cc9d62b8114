package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// oddNames are names of tasks that a publisher may choose and that an address, a shell or a text may take for something else.
func oddNames() []string {
	return []string{
		".", "..", "counts", "a/b", "/x", "x/", "a//b", "a b", "it's", "%2F", "a?b#c", "<b>", "🦊 fox", "a\x01b", "\xff\xfe", strings.Repeat("long/", 60),
	}
}

// joined is the path of a link as most clients ask for it: joined to the address of the server by RFC 3986, which folds dot segments.
func (r *running) joined(link string) string {
	r.t.Helper()
	base, err := url.Parse("http://" + r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	to, err := base.Parse(link)
	if err != nil {
		r.t.Fatal(err)
	}
	return to.RequestURI()
}

func TestTasksWithOddNamesAreReadByLinksPagesAndTools(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	s := r.agent("")
	for _, name := range oddNames() {
		r.die(name, "dial tcp: no such host")
	}
	for _, name := range oddNames() {
		id := fleet.TaskName(name)
		var entry struct {
			Data []struct {
				ID     string `json:"id"`
				TaskID string `json:"task_id"`
				Links  map[string]string
			}
		}
		testkit.Eventually(t, patience, func() error {
			err := r.get("/api/v1/dlq?id="+url.QueryEscape(id), &entry)
			if err == nil && (len(entry.Data) != 1 || entry.Data[0].TaskID != id) {
				err = fmt.Errorf("dead letters of %q: %+v", id, entry.Data)
			}
			return err
		})
		r.readsByLinks(id, entry.Data[0].Links["task"])
		r.readsByLinks(id, "/api/v1/tasks/"+lifecycle.TaskSegment(name)) // As its publisher calls it.
		r.readsAsPage(id)
		for tool, arguments := range map[string]map[string]any{"get_trace": {"task_id": id}, "get_dlq_entry": {"id": entry.Data[0].ID}} {
			if got := use(t, s, tool, arguments); got.failed || got.structured["task_id"] != id {
				t.Errorf("%s of %q: %.300s", tool, id, got.text)
			}
		}
		if status, text := r.command("task", id, "-o", "json"); status != 0 || !strings.Contains(text, `"answers"`) {
			t.Errorf("the command of %q: %d %.300s", id, status, text)
		}
	}
}

// readsByLinks follows every link of a task, from the one that its dead letter names.
func (r *running) readsByLinks(id, link string) {
	r.t.Helper()
	var task struct {
		TaskID string `json:"task_id"`
		Links  map[string]string
	}
	if err := r.get(r.joined(link), &task); err != nil || task.TaskID != id {
		r.t.Errorf("%q by %s: %v, task %q", id, link, err, task.TaskID)
		return
	}
	for name, link := range task.Links {
		if response := r.request(http.MethodGet, r.joined(link), nil, nil); response.StatusCode != http.StatusOK {
			r.t.Errorf("%s of %q by %s: %s", name, id, link, response.Status)
		}
	}
}

// readsAsPage loads the page of a task, which names it.
func (r *running) readsAsPage(id string) {
	r.t.Helper()
	response := r.request(http.MethodGet, lifecycle.PageOfTask(id), http.Header{"Accept": {"text/html"}}, nil)
	if response.StatusCode != http.StatusOK {
		r.t.Errorf("the page of %q: %s", id, response.Status)
	}
}
