package web_test

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestAFleetThatWasNeverSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, lifecycle.Batch{}, func(c *setup) { c.Server = "nats://127.0.0.1:4222" })
	for path, selector := range map[string]string{"/": "#stats", "/tasks": "#rows", "/in-flight": "#leases", "/agents": "#rows", "/dlq?status=open": "#rows", "/duplicates": ".panel"} {
		wants{selector + " .say": "Listening. Nothing has crossed the task stream yet.", selector + " pre": "nats --server nats://127.0.0.1:4222 pub genbrain.agents.cto.tasks.code_review"}.check(t, s.get(t, path, 200))
	}
	wants{"#gaps .say": "No gap is known in the last 30 days.", "#quarantine .say": "No line is in quarantine.", "#consumers .say": "No worker's consumer is known."}.check(t, s.get(t, "/capture", 200))
}

func TestAFleetOfWhichNothingIsKeptIsNotOneThatWasNeverSeen(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("done", "cto", "code_review", "Done", -time.Hour, "")
	story.Deliver(m, 1, -50*time.Minute)
	story.Say(lifecycle.Acked, m, 1, -40*time.Minute, lifecycle.Detail{})
	s := newSite(t, story.Batch)
	if n, err := s.store.Retain(t.Context(), lifecycle.MicrosOf(noon), lifecycle.MicrosOf(noon)); err != nil || n != 1 {
		t.Fatalf("retain: %d tasks deleted, %v; want 1", n, err)
	}
	for path, selector := range map[string]string{"/": "#stats", "/tasks": "#rows", "/in-flight": "#leases", "/dlq?status=open": "#rows"} {
		wants{selector + " .say": "No task is kept.", selector + " pre": "=0"}.check(t, s.get(t, path, 200))
	}
}

func TestAFleetThatIsHealthy(t *testing.T) {
	t.Parallel()
	story := webtest.NewStory(noon)
	m := story.Publish("done", "cto", "code_review", "Done", -time.Hour, "")
	story.Deliver(m, 1, -50*time.Minute)
	story.Say(lifecycle.Acked, m, 1, -40*time.Minute, lifecycle.Detail{})
	s := newSite(t, story.Batch)
	wants{"#attention .say": "All healthy: nothing needs attention.", ".banner": "=0"}.check(t, s.get(t, "/", 200))
	wants{"#leases .say": "All healthy: no task is in flight"}.check(t, s.get(t, "/in-flight", 200))
	wants{"#restarts .say": "No restart with messages in flight is known."}.check(t, s.get(t, "/restarts", 200))
	wants{"#rows .say": "All healthy: no message is dead."}.check(t, s.get(t, "/dlq?status=all", 200))
}

func TestWhenCaptureIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, lifecycle.Batch{}, broken)
	wants{
		".banner.bad[role=alert]": "We may be blind: collector acks is down.", ".banner.warn": "Collector advisories is behind. Catches up by 20 lines a second: about 1 m left at that speed. It is 4m 12s behind its source.", ".banner.run": "Read-only mode.",
		"#freshness summary.bad": "", "#rows .empty.warn .say": "Nothing can be seen: collector acks is down.",
	}.check(t, s.get(t, "/tasks", 200))
	unprovisioned := func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "streams", Kind: "broker", State: health.Down, Detail: "streams TASKS, OBS_ACK are missing; run fleetglass provision --apply", Lacks: []string{"TASKS", "OBS_ACK"}},
				{Name: "acks", Kind: "collector", State: health.Down, Detail: "OBS_ACK: capture stream does not exist", Lacks: []string{"OBS_ACK"}},
				{Name: "retries", Kind: "pipeline", State: health.Down, Detail: "stream RETRY is missing; run fleetglass provision --apply", Lacks: []string{"RETRY"}},
				{Name: "firestore", Kind: "collector", State: health.NotConfigured},
			}
		})
	}
	since := lifecycle.Gap{Source: "OBS_ACK", From: lifecycle.MicrosOf(noon.Add(-time.Minute)), Reason: "capture stream OBS_ACK does not exist"}
	s = newSite(t, lifecycle.Batch{Gaps: []lifecycle.Gap{since}}, unprovisioned)
	stopped := webtest.Rich(noon).Batch
	stopped.Gaps = []lifecycle.Gap{since}
	wants{".banner.gap": "Not observed since 11:59:00."}.check(t, newSite(t, stopped, unprovisioned).get(t, "/", 200))
	away := newSite(t, lifecycle.Batch{}, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "store", Kind: "store", State: health.OK}, {Name: "nats", Kind: "broker", State: health.Down, Detail: "not connected to the broker"}, {Name: "acks", Kind: "collector", State: health.Down, Detail: "context deadline exceeded"},
				{Name: "retries", Kind: "pipeline", State: health.Down, Detail: "context deadline exceeded"}, {Name: "firestore", Kind: "collector", State: health.Down, Detail: "no credentials"},
			}
		})
	}).get(t, "/", 200)
	wants{
		".banner.bad": "=2", ".banner.bad:nth-child(1) .msg": "We are blind: the broker does not answer. What waits for it goes on by itself once it is back. Pages show the last known state", ".banner.bad:nth-child(2) .msg": "We may be blind: collector firestore is down. no credentials.",
	}.check(t, away)
	capture := s.get(t, "/capture", 200)
	wants{
		".banner.bad": "=1", ".banner.bad .msg": "We may be blind: the broker lacks streams TASKS, OBS_ACK and RETRY. Nothing is seen there. Run fleetglass provision to see what is missing, and add --apply to make it. Pages show the last known state", ".banner.bad a[href='/doctor']": "Doctor",
		"#parts tr:nth-child(2) [data-label=waiting]": "not known", "#parts tr:nth-child(2) [data-label=handled]": "0",
	}.check(t, capture)
	for _, path := range []string{"/", "/tasks", "/in-flight", "/dlq?status=open", "/duplicates", "/agents", "/map", "/statistics"} {
		wants{
			".empty.warn .say": "Nothing can be seen: the broker lacks streams TASKS, OBS_ACK and RETRY.", ".empty.warn pre": "fleetglass provision --apply", ".empty.warn a[href='/doctor']": "Doctor", ".banner.warn": "=0", ".banner.gap": "=0",
		}.check(t, s.get(t, path, 200))
	}
	for row, label := range map[int]string{1: "handled", 4: "waiting"} { // Neither takes anything in: zero would be a count.
		if got := text(capture.Find(fmt.Sprintf("#parts tr:nth-child(%d) [data-label=%s]", row, label))); got != "" {
			t.Errorf("%s of part %d: got %q, want nothing", label, row, got)
		}
	}
	s = newSite(t, lifecycle.Batch{}, func(c *setup) {
		c.Health = health.ReporterFunc(func() []health.Part {
			return []health.Part{
				{Name: "acks", Kind: "collector", State: health.Down, Detail: "nothing can be stored"},
				{Name: "quota", Kind: "quota", State: health.Down, Detail: "The store holds 2.1 MB of 2.0 MB. Nothing is taken in until there is room."},
			}
		})
	})
	wants{".banner.bad": "=1", ".banner.bad .msg": "The storage quota is reached. Down with it: collector acks. quota: The store holds 2.1 MB of 2.0 MB. Nothing is taken in until there is room. " +
		"acks: nothing can be stored. Pages show the last known state"}.check(t, s.get(t, "/tasks", 200))
	s = newSite(t, webtest.Rich(noon).Batch, broken)
	wants{"#rows .empty.wait": "No task matches"}.check(t, s.get(t, "/tasks?state=failed", 200))
	s = newSite(t, lifecycle.Batch{}, func(c *setup) { c.Health = nil })
	wants{"#freshness": "No collector reports to these pages."}.check(t, s.get(t, "/", 200))
}
