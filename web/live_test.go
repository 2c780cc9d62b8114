package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/views"
	"fleetglass/web/webtest"
)

// stream reads server-sent events until the test ends. It asks for the tasks with these signs, or for all.
func stream(t *testing.T, s *site, lastID string, only ...string) <-chan map[string]string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/live?only="+url.QueryEscape(strings.Join(only, " ")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type: got %q", got)
	}
	out, ended := make(chan map[string]string, 16), make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
	})
	go func() {
		defer close(ended)
		defer func() { _ = answer.Body.Close() }()
		event := map[string]string{}
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if lines.Text() == "" {
				if event["id"] != "" {
					select {
					case out <- event:
					case <-ctx.Done():
						return
					}
				}
				event = map[string]string{}
				continue
			}
			name, value, _ := strings.Cut(lines.Text(), ": ")
			event[name] = value
		}
	}()
	return out
}

func next(t *testing.T, events <-chan map[string]string) map[string]string {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event within ten seconds")
		return nil
	}
}

func TestTheStreamMergesChangesAndResumes(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	events := stream(t, s, "")
	s.append(t, newTask(s, "tsk-1"))
	first := next(t, events)
	if first["event"] != "change" || !strings.Contains(first["data"], views.Sign("tsk-1")) {
		t.Errorf("first change: got %v", first)
	}
	began := time.Now()
	for range 200 { // More than one in the pace, unless the machine is very busy: they come as a few.
		s.append(t, acked(t, s, "tsk-77d0ab"))
		s.append(t, lifecycle.Batch{Events: []lifecycle.Event{beat(s)}})
	}
	s.append(t, newTask(s, "tsk-last"))
	n, took := changesUntil(t, events, views.Sign("tsk-last")), time.Since(began)
	if most := 4 + int(took/(50*time.Millisecond)); n > most { // The pace; what is there at once comes together.
		t.Errorf("%d events for 400 commits in %v, want at most %d", n, took, most)
	}
	changesUntil(t, stream(t, s, first["id"]), views.Sign("tsk-d3380f"))
	if got := next(t, stream(t, s, "another-process-7")); got["event"] != "reset" {
		t.Errorf("a position that is not known: got %v, want a reset", got)
	}
}

func TestTheStreamOfSomeTasksOnlyCountsTheOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	events := stream(t, s, "", views.Sign("tsk-1"), views.Sign("tsk-2"))
	s.append(t, newTask(s, "tsk-other"))
	s.append(t, newTask(s, "tsk-2"))
	counted := map[string]bool{}
	for range 2 { // A beat may come between the two.
		counted[next(t, events)["data"]] = true
	}
	if want := fmt.Sprintf(`{"tasks":1,"signs":"%s"}`, views.Sign("tsk-2")); !counted[want] || !counted[`{"tasks":1,"signs":""}`] {
		t.Errorf("got %v", counted)
	}
}

// changesUntil counts the events up to the first one that names a row. None may name a row twice.
func changesUntil(t *testing.T, events <-chan map[string]string, row string) (n int) {
	t.Helper()
	for {
		n++
		e := next(t, events)
		switch named := strings.Count(e["data"], row); {
		case e["event"] != "change" || named > 1:
			t.Fatalf("merged change: got %v", e)
		case named == 1:
			return n
		}
	}
}

var beats int

func beat(s *site) lifecycle.Event {
	beats++
	s.clock.Advance(time.Millisecond)
	return lifecycle.Event{ID: lifecycle.NewEventID("beat", s.clock.Now().String()), At: lifecycle.MicrosOf(s.clock.Now()), Kind: lifecycle.Heartbeat, Provenance: lifecycle.Observed,
		Source: "OBS_ACK", SourceSeq: uint64(2_000_000 + beats), TaskID: "tsk-d3380f", Message: lifecycle.MessageKey{Stream: webtest.Tasks, Seq: 48_607}, Agent: "marketing",
		Consumer: "marketing-task-worker", ConsumerSeq: 486_071, Attempt: 1}
}
