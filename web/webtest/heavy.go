package webtest

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// HeavyTask adds a task with many attempts and events.
func (s *Story) HeavyTask(id string, attempts, events int) {
	m := s.Publish(id, "backend", "implementation", "A task that never ends", -10*time.Hour, "")
	at := -10*time.Hour + time.Minute
	each := events / attempts
	for n := 1; n <= attempts; n++ {
		s.Deliver(m, n, at)
		for range each - 2 {
			at += 6 * time.Second
			s.Say(lifecycle.Heartbeat, m, n, at, lifecycle.Detail{})
		}
		at += 6 * time.Second
		if n < attempts {
			s.Say(lifecycle.Nacked, m, n, at, lifecycle.Detail{Ending: lifecycle.Ending{Delay: time.Second}})
		}
		at += 2 * time.Second
	}
}

// HeavyPayload adds a task whose body has size bytes of JSON.
func (s *Story) HeavyPayload(id string, size int) {
	line := `{"path":"src/main.go","patch":"<b>&amp; \"quoted\" text that goes on for a while</b>"},`
	body := `{"taskId":"` + id + `","files":[` + strings.Repeat(line, size/len(line)) + `{}]}`
	s.Publish(id, "backend", "implementation", "A large payload", -time.Hour, body)
}

// HeavyAgent adds n finished tasks of one agent, without payloads.
func (s *Story) HeavyAgent(agent string, n int) {
	for i := range n {
		ago := -time.Duration(i) * 17 * time.Second
		m := s.Publish(fmt.Sprintf("%s-%06d", agent, i), agent, "implementation", fmt.Sprintf("Task %d of many", i), ago-2*time.Minute, "{}")
		s.Deliver(m, 1, ago-time.Minute)
		s.Say(lifecycle.Acked, m, 1, ago-time.Second, lifecycle.Detail{})
	}
	s.Batch.Payloads = nil
}

// ManyAgents adds n agents, each with finished work, work in hand and work that waits.
func (s *Story) ManyAgents(n int) {
	for i := range n {
		agent := fmt.Sprintf("agent-%03d", i)
		s.Consumer(agent, 2, -time.Minute)
		for j := range 6 {
			ago := -time.Duration(5+j*97+i%50) * time.Minute
			m := s.Publish(fmt.Sprintf("%s-%d", agent, j), agent, []string{"code_review", "implementation", "planning"}[j%3], fmt.Sprintf("Work %d", j), ago, "{}")
			if j == 5 {
				continue
			}
			s.Deliver(m, 1, ago+time.Second)
			if j > 0 {
				s.Say(lifecycle.Acked, m, 1, ago+3*time.Minute, lifecycle.Detail{})
			}
		}
	}
}
