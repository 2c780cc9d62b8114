package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// inventedTypes are tasks of one agent with more types and publishers than are counted apart.
func inventedTypes(n int) lifecycle.Batch {
	var b lifecycle.Batch
	at := lifecycle.MicrosOf(noon.Add(-30 * time.Minute))
	for i := range n {
		task, k := fmt.Sprintf("invented-%04d", i), lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: uint64(i + 1)}
		d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task, Type: fmt.Sprintf("type-%04d", i)}}
		d.Publisher = fmt.Sprintf("publisher-%04d", i)
		for _, e := range []lifecycle.Event{
			{Kind: lifecycle.Published, TaskID: task, Message: k, Agent: "cto", Detail: d, At: at},
			{Kind: lifecycle.Delivered, Message: k, Attempt: 1, Consumer: "cto-task-worker", At: at.Add(time.Second), Detail: lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}}},
			{Kind: lifecycle.Acked, Message: k, Attempt: 1, Consumer: "cto-task-worker", At: at.Add(3 * time.Second)},
		} {
			e.ID, e.Provenance = lifecycle.NewEventID(task, string(e.Kind)), lifecycle.Observed
			b.Events = append(b.Events, e)
		}
	}
	return b
}

// Types and publishers that are not counted apart have one name together, and nothing leads to a list that could not be theirs.
func TestTypesBeyondTheBoundAreOtherTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t, inventedTypes(lifecycle.MaxNames+50))
	row := s.get(t, "/agents/cto", 200).Find("section[aria-labelledby=types-h] tr:contains('other types')")
	if row.Length() != 1 || row.Find("td").First().Text() != "50" || row.Find("a").Length() != 0 {
		t.Errorf("the agent's other types: %q, want 50 of them, without a link", row.Text())
	}
	fleet := s.get(t, "/map", 200)
	places := fleet.Find("#map .place")
	if got := places.Filter("[title='other types']"); got.Length() != 1 || got.AttrOr("href", "") != "/agents/cto" {
		t.Errorf("the map's other types: %d, leading to %q", got.Length(), got.AttrOr("href", ""))
	}
	if got := places.Filter("[title='other publishers']"); got.Length() != 1 || !strings.Contains(got.Text(), "245 in 24 h") {
		t.Errorf("the map's other publishers: %q, want 245 in 24 h", got.Text())
	}
	for _, path := range []string{"/agents/cto", "/map", "/statistics", "/tasks"} {
		page := s.get(t, path, 200)
		html, err := page.Html()
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"type=+other", "type=%20other", `value=" other"`} {
			if strings.Contains(html, raw) {
				t.Errorf("%s has %s: no task has that type", path, raw)
			}
		}
	}
	if text := s.get(t, "/statistics", 200).Text(); !strings.Contains(text, "other types") {
		t.Error("the statistics do not name the other types")
	}
}
