package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/live"
	"fleetglass/internal/testkit"
)

// sent is one event of a stream.
type sent struct{ name, id, data string }

// readUntil reads events until one satisfies the condition, and returns it. A stream that does not send it ends with the test's time.
func readUntil(t *testing.T, r *bufio.Reader, holds func(sent) bool) sent {
	t.Helper()
	for {
		e := readEvent(t, r)
		if holds(e) {
			return e
		}
	}
}

func readEvent(t *testing.T, r *bufio.Reader) sent {
	t.Helper()
	var e sent
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("stream ended: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if value != "" {
				e.name = "comment"
			}
			if e != (sent{}) {
				return e
			}
		}
	}
}

func named(name string) func(sent) bool { return func(e sent) bool { return e.name == name } }

func TestAStreamTellsWhatChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	r := bufio.NewReader(f.open(f.server(), "/api/v1/stream"))
	if e := readUntil(t, r, named("counts")); !strings.Contains(e.data, `"total":0`) {
		t.Errorf("first counts = %+v", e)
	}
	f.published("a/1", "cto", 1)
	f.commit()
	e := readUntil(t, r, named("task"))
	var data TaskChanged
	if err := json.Unmarshal([]byte(e.data), &data); err != nil || data.TaskID != "a/1" || data.State != "published" || data.Self != "/api/v1/tasks/a%2F1" || e.id == "" {
		t.Errorf("task = %+v %v", e, err)
	}
	if e := readUntil(t, r, named("counts")); !strings.Contains(e.data, `"total":1`) {
		t.Errorf("counts after the change = %+v", e)
	}
}

func TestAStreamResumesOrResets(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	server := f.server()
	first := bufio.NewReader(f.open(server, "/api/v1/stream"))
	readUntil(t, first, named("counts"))
	f.published("a", "cto", 1)
	f.commit()
	id := readUntil(t, first, named("task")).id
	f.published("b", "cto", 2)
	f.commit()
	second := bufio.NewReader(f.open(server, "/api/v1/stream", "Last-Event-ID", id))
	if e := readUntil(t, second, named("task")); !strings.Contains(e.data, `"task_id":"b"`) {
		t.Errorf("resumed at %+v", e)
	}
}

func TestAnUnknownIDIsReset(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	r := bufio.NewReader(f.open(f.server(), "/api/v1/stream", "Last-Event-ID", live.NewHub(1).ID()))
	if e := readUntil(t, r, named("reset")); e.id != f.hub.ID() || e.data != "{}" {
		t.Errorf("reset = %+v, want id %s", e, f.hub.ID())
	}
}

func TestAQuietStreamSaysThatItIsThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.build(Options{Heartbeat: time.Millisecond})
	r := bufio.NewReader(f.open(f.server(), "/api/v1/stream"))
	readUntil(t, r, named("comment"))
}

func TestStreamsAreBoundedAndGivenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	server := f.server()
	one := f.open(server, "/api/v1/stream")
	readUntil(t, bufio.NewReader(one), named("counts"))
	readUntil(t, bufio.NewReader(f.open(server, "/api/v1/stream")), named("counts"))
	res, err := server.Client().Get(server.URL + "/api/v1/stream")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	f.refused(answer{res.StatusCode, res.Header, body}, 429, "rate_limited")
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	_ = one.(io.Closer).Close()
	testkit.Eventually(t, 10*time.Second, func() error {
		if n := f.hub.Subscribers(); n != 1 {
			return fmt.Errorf("subscribers = %d, want 1", n)
		}
		return nil
	})
	readUntil(t, bufio.NewReader(f.open(server, "/api/v1/stream")), named("counts"))
}

func TestHeadOfAStreamEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	server := f.server()
	for range 5 {
		res, err := server.Client().Head(server.URL + "/api/v1/stream")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("HEAD = %d %v", res.StatusCode, res.Header)
		}
	}
}

func TestThousandsOfChangesComeAsFewEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.build(Options{Pace: 50 * time.Millisecond})
	r := bufio.NewReader(f.open(f.server(), "/api/v1/stream"))
	readUntil(t, r, named("counts"))
	const changes = 5000
	for i := range changes {
		f.hub.Publish(changesOf("hot", i+1))
	}
	f.hub.Publish(changesOf("last", 1))
	events := 0
	for last := ""; !strings.Contains(last, `"last"`); events++ {
		last = readUntil(t, r, named("task")).data
	}
	if events > changes/10 {
		t.Errorf("%d events for %d changes", events, changes)
	}
}

func TestAStreamTellsOfDeadLetters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	r := bufio.NewReader(f.open(f.server(), "/api/v1/stream"))
	readUntil(t, r, named("counts"))
	f.completed("fine", "cto", 1)
	f.deadLetter("a/1 &", 2)
	e := readUntil(t, r, named("dlq"))
	var data EntriesChanged
	if err := json.Unmarshal([]byte(e.data), &data); err != nil || data.TaskID != "a/1 &" || data.Agent != "marketing" || e.id != f.hub.ID() {
		t.Fatalf("dlq = %+v %v", e, err)
	}
	if listed := get[List[Entry]](f, data.Self).Data; len(listed) != 1 || listed[0].TaskID != "a/1 &" {
		t.Errorf("%s lists %+v", data.Self, listed)
	}
}
