package query_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

// acked publishes a message that is well.
func acked(s *webtest.Story, id, agent string, at time.Duration) {
	m := s.Publish(id, agent, "review", "Lives", at-10*time.Second, "")
	s.Deliver(m, 1, at-5*time.Second)
	s.Say(lifecycle.Acked, m, 1, at, lifecycle.Detail{})
}

// incidents asks for the incidents of a fleet of which a story tells.
func incidents(t *testing.T, tell func(*webtest.Story)) ([]alerts.Finding, *query.Service) {
	t.Helper()
	found, ask := foundBy(t, tell, func(c *query.Config, entries query.EntryStore) { c.Entries = entries })
	return slices.DeleteFunc(found, func(f alerts.Finding) bool { return f.Rule != alerts.RuleIncident }), ask
}

const timeout = "llm_provider_timeout: no first token after 60 s"

func TestManyDeathsOfOneCauseAreOneIncidentThatLeadsToExactlyThem(t *testing.T) {
	t.Parallel()
	found, ask := incidents(t, func(s *webtest.Story) {
		for i := range 20 { // From 80 minutes ago until 4 minutes ago.
			s.Die(fmt.Sprintf("tsk-%d", i), []string{"cto", "ceo"}[i%2], timeout, -time.Duration(80-4*i)*time.Minute)
		}
		s.Die("tsk-before", "cto", timeout, -5*time.Hour)
		s.Die("tsk-other", "cto", "context_window_overflow: the prompt is 214,000 tokens", -6*time.Minute)
		for i := range 10 {
			acked(s, fmt.Sprintf("tsk-well-%d", i), "cto", -time.Duration(50-i)*time.Minute)
		}
	})
	if len(found) != 1 {
		t.Fatalf("found %+v, want one incident", found)
	}
	f := found[0]
	if f.Count != 20 || f.What != "20 dead letters of one cause: llm provider timeout" || noon.Sub(f.Since.Time()) != 80*time.Minute || f.Labels.Category != "transient" {
		t.Errorf("the incident is %+v", f)
	}
	if want := "In the last hour 58 % of what ended at ceo and cto died of it. 20 wait for a decision."; f.Why != want {
		t.Errorf("it says %q, want %q", f.Why, want)
	}
	path, text, _ := strings.Cut(f.Page, "?")
	values, err := url.ParseQuery(text)
	if err != nil || path != "/dlq" {
		t.Fatal(f.Page, err)
	}
	filter, err := dlqtriage.ParseEntryFilter(values, noon)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ask.CountEntries(t.Context(), filter); n != f.Count || err != nil {
		t.Errorf("its link lists %d entries, and it names %d: %v", n, f.Count, err)
	}
}

func TestATrickleOfDeathsIsNoIncident(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*webtest.Story){
		"few": func(s *webtest.Story) {
			for i := range 9 {
				s.Die(fmt.Sprintf("tsk-%d", i), "cto", timeout, -time.Duration(50-i)*time.Minute)
			}
		},
		"of many causes": func(s *webtest.Story) {
			for i := range 8 {
				s.Die(fmt.Sprintf("tsk-%d", i), "cto", timeout, -time.Duration(50-i)*time.Minute)
				s.Die(fmt.Sprintf("tsk-b%d", i), "cto", "context_window_overflow: the prompt is too long", -time.Duration(40-i)*time.Minute)
			}
		},
		"beside much that is well": func(s *webtest.Story) {
			for i := range 12 {
				s.Die(fmt.Sprintf("tsk-%d", i), "cto", timeout, -time.Duration(50-i)*time.Minute)
			}
			for i := range 60 {
				acked(s, fmt.Sprintf("tsk-well-%d", i), "cto", -time.Duration(55-i/2)*time.Minute)
			}
		},
		"as on the whole day": func(s *webtest.Story) {
			for i := range 12 * 24 {
				s.Die(fmt.Sprintf("tsk-%d", i), "cto", timeout, -time.Duration(2+5*i)*time.Minute)
			}
		},
		"that nobody takes": func(s *webtest.Story) {
			for i := range 20 {
				m := s.Publish(fmt.Sprintf("tsk-%d", i), "legal", "review", "Waits", -time.Duration(50-i)*time.Minute, "")
				s.Tell(lifecycle.DeadLettered, lifecycle.Recorded, m, 0, -time.Duration(45-i)*time.Minute, lifecycle.Detail{
					DeadLetter: lifecycle.DeadLetter{Category: "unclassified", Path: string(dlqtriage.PathFilterRejected), Entry: fmt.Sprintf("DLQ:%d", i+1)},
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, _ := incidents(t, tell); len(found) > 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// Until the rules were applied, all that is known of a death is its reason in its own words: an incident of that name would end within seconds, when the
// next one begins by the name of the class.
func TestDeathsThatNobodyHasLookedAtYetAreNoCause(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		last time.Duration // When the last of them died.
		want int
	}{"just now": {-time.Second, 0}, "a while ago": {-30 * time.Second, 1}} {
		found, _ := incidents(t, func(s *webtest.Story) {
			for i := range 12 {
				m := s.Publish(fmt.Sprintf("tsk-%d", i), "cto", "review", "Dies", tt.last-10*time.Second, "")
				s.Deliver(m, 1, tt.last-5*time.Second)
				s.Say(lifecycle.Terminated, m, 1, tt.last-time.Duration(i)*time.Millisecond, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "429: slow down"}})
			}
		})
		if len(found) != tt.want {
			t.Errorf("12 that died %s: found %+v, want %d", name, found, tt.want)
		}
	}
}
