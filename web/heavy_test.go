package web_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/web/webtest"
)

func heavySite(t testing.TB) *site {
	t.Helper()
	story := webtest.Rich(noon)
	story.HeavyAgent("crowd", 50_000)
	story.HeavyTask("tsk-heavy", 40, 5000)
	story.HeavyPayload("tsk-large", 5_000_000)
	story.ManyAgents(300)
	return newSite(t, story.Batch)
}

// TestHeavyDataIsServed asks for pages over a task with 5,000 events in 40 attempts, a payload of 5 MB, an agent with 50,000 tasks and
// 300 agents. It logs how long they took; the figures to compare are those of BenchmarkPages.
func TestHeavyDataIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a store with 150,000 events")
	}
	s := heavySite(t)
	for _, path := range []string{
		"/", "/?range=30d", "/tasks", "/tasks?agent=crowd", "/tasks?q=many&agent=crowd", "/tasks?q=agent-299", "/tasks?state=completed&sort=published", "/tasks/tsk-heavy",
		"/tasks/tsk-heavy?tab=events", "/tasks/tsk-heavy?scale=work", "/tasks/tsk-large?tab=payload", "/in-flight", "/agents", "/agents/crowd",
		"/agents/agent-123?range=7d", "/dlq?status=all", "/duplicates", "/capture",
	} {
		times := []time.Duration{}
		for range 7 {
			s.clock.Advance(time.Second) // Nothing may come from what the page before it had looked up.
			began := time.Now()
			answer := s.fetch(t, path, nil)
			n, err := io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("GET %s: status %d, %v", path, answer.StatusCode, err)
			}
			if times = append(times, time.Since(began)); n > 1_500_000 {
				t.Errorf("GET %s: %d bytes", path, n)
			}
		}
		slices.Sort(times)
		t.Logf("%-40s best %6.1f ms, median %6.1f ms", path, ms(times[0]), ms(times[len(times)/2]))
	}
	page := s.get(t, "/tasks/tsk-heavy", 200)
	if n := page.Find(".lane-names > :not(.axis-row)").Length(); n != 41 {
		t.Errorf("lanes: got %d, want 41", n)
	}
	body := s.get(t, "/tasks/tsk-large?tab=payload", 200)
	if n := len(body.Find("pre.payload").Text()); n < 60_000 || n > 140_000 {
		t.Errorf("the shown part of a large payload: %d bytes", n)
	}
	raw := s.fetch(t, body.Find(`a[href^="/payload"]`).AttrOr("href", ""), nil)
	n, _ := io.Copy(io.Discard, raw.Body)
	_ = raw.Body.Close()
	if n < 4_900_000 {
		t.Errorf("the whole payload: got %d bytes", n)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// TestTheFirstViewIsLight adds up what a browser fetches for a page that it sees for the first time.
func TestTheFirstViewIsLight(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for _, path := range []string{"/", "/tasks", "/tasks/tsk-7f3a91", "/in-flight", "/agents", "/dlq?status=all", "/duplicates", "/capture"} {
		total := packed(t, s, path)
		var parts []string
		s.get(t, path, 200).Find("link[rel=stylesheet], link[rel=modulepreload], link[rel=icon], script[src]").Each(func(_ int, e *goquery.Selection) {
			parts = append(parts, e.AttrOr("href", e.AttrOr("src", "")))
		})
		icons := strings.Replace(parts[0], "fleetglass.css", "icons.svg", 1)
		for _, p := range append(parts, icons) {
			total += packed(t, s, p)
		}
		t.Logf("%-20s %5.1f kB in %d requests", path, float64(total)/1000, len(parts)+2)
		if total > 60_000 {
			t.Errorf("%s: %d bytes, want under 60,000", path, total)
		}
	}
}

// packed is what an address takes on the wire. Pages are compressed by the server around them; here the test does it.
func packed(t testing.TB, s *site, path string) int {
	t.Helper()
	answer := s.fetch(t, path, http.Header{"Accept-Encoding": {"gzip"}})
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v", path, answer.StatusCode, err)
	}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		return len(body)
	}
	return gzipped(body)
}

func BenchmarkPages(b *testing.B) {
	s := heavySite(b)
	for _, path := range []string{"/", "/tasks", "/tasks/tsk-heavy", "/in-flight", "/agents"} {
		b.Run(fmt.Sprintf("path=%s", path), func(b *testing.B) {
			for b.Loop() {
				s.clock.Advance(time.Second)
				answer := s.fetch(b, path, nil)
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
}
