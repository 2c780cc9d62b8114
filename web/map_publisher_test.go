package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/lifecycle"
)

// given are messages of tasks, each with who published it and when.
type given struct {
	task, publisher string
	generation      int
	ago             time.Duration
}

func batchOf(all []given) lifecycle.Batch {
	var b lifecycle.Batch
	for i, g := range all {
		k := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: uint64(i + 1)}
		d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("%s:r%d", g.task, g.generation), Type: "review"}, Publication: lifecycle.Publication{Publisher: g.publisher, Generation: g.generation}}
		b.Events = append(b.Events, lifecycle.Event{
			ID: lifecycle.NewEventID("given", fmt.Sprint(i)), Kind: lifecycle.Published, Provenance: lifecycle.Observed, TaskID: g.task, Message: k,
			Agent: []string{"cto", "backend"}[i%2], Detail: d, At: lifecycle.MicrosOf(noon.Add(-g.ago)),
		})
	}
	return b
}

// The box of a publisher leads to the tasks of the messages that it counts, whoever published other messages of these tasks.
func TestThePublishersOfTheMapLeadToTheirTasks(t *testing.T) {
	t.Parallel()
	all := []given{
		{"asked", "ceo", 0, time.Hour}, {"died", "ceo", 0, 3 * time.Hour}, {"died", "Fleetglass", 1, 2 * time.Hour}, // Retried.
		{"old", "ceo", 0, 30 * time.Hour}, {"old", "Fleetglass", 1, 5 * time.Hour}, {"older", "ceo", 0, 40 * time.Hour},
		{"both", "ceo", 0, 2 * time.Hour}, {"both", "marketing", 1, time.Hour}, {"piped", "a|b", 0, time.Hour}, {"of nobody", "", 0, time.Hour},
	}
	for i := range 5 {
		all = append(all, given{fmt.Sprintf("rare-%d", i), fmt.Sprintf("rare-%d", i), 0, time.Minute})
	}
	s := newSite(t, batchOf(all))
	want := map[string][]string{}
	for _, g := range all {
		if name := lifecycle.PublisherName(g.publisher); name != "" && g.ago < 24*time.Hour {
			want[name] = append(want[name], g.task)
		}
	}
	boxes := 0
	fleet := s.get(t, "/map", 200)
	fleet.Find("#map .place[title]").Each(func(_ int, box *goquery.Selection) {
		title := box.AttrOr("title", "")
		tasks, several := want[title], strings.HasSuffix(title, "other publishers")
		if title == "Their messages do not say who published them." {
			if _, linked := box.Attr("href"); linked || !strings.Contains(box.Text(), "1 in 24 h") {
				t.Errorf("the box of the unknown: %q, linked: %v; want 1 and no link", box.Text(), linked)
			}
			return
		}
		if len(tasks) == 0 && !several {
			return
		}
		boxes++
		page := s.get(t, box.AttrOr("href", "no link"), 200)
		if several {
			for name, of := range want {
				if strings.HasPrefix(name, "rare-") || name == "a/b" {
					if fleet.Find(fmt.Sprintf("#map .place[title=%q]", name)).Length() == 0 {
						tasks = append(tasks, of...)
					}
				}
			}
		}
		if summary := page.Find("#summary").Text(); !strings.HasPrefix(summary, fmt.Sprintf("%d task", len(tasks))) || !strings.Contains(box.Text(), fmt.Sprintf("%d in 24 h", len(tasks))) {
			t.Errorf("%s: the box says %q and leads to %q, want %d: %v", title, box.Text(), summary, len(tasks), tasks)
		}
		for _, task := range tasks {
			if page.Find(fmt.Sprintf("a[href='%s']", lifecycle.PageOfTask(task))).Length() == 0 {
				t.Errorf("%s: task %q is not listed", title, task)
			}
		}
	})
	if boxes != 6 {
		t.Errorf("%d boxes lead to lists, want those of 5 publishers and of the others", boxes)
	}
}
