//go:build linux

package situations

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
)

// agents are what an agent can send with the permissions that it needs for its work: tasks, answers of its own consumer, records and its own reports.
var agents = []situation{{
	name: "an agent answers for its own consumer a delivery that it never made",
	act: func(c *clients) {
		worker := c.workers()
		zero := c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.works(3 * time.Second) // Before that another consumer of its name may have lived.
		c.answerAs(c.agent+"-task-worker", zero, 1_000_000, c.storedAt(zero), "+WPI")
	},
	may:   all(is("processing"), attempts(0, 1, 1)),
	never: isNot("redelivered"),
}, {
	name: "an agent acknowledges its own message as a delivery that its consumer never made",
	act: func(c *clients) {
		worker := c.workers()
		zero := c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.works(3 * time.Second) // Before that another consumer of its name may have lived.
		c.answerAs(c.agent+"-task-worker", zero, 1_000_000, c.storedAt(zero), "+ACK")
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   all(is("completed", "outcome_unknown"), fewAttempts(0, 2)),
	never: fewAttempts(0, 2),
}, {
	name:  "an agent answers for its own consumer a message of another agent that waits",
	since: 12, // Before, the broker removes the other message.
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.publish(publish{task: "own", agent: c.agent + "mallory"})
		c.heartbeat(c.pull(c.consumer(worker(c.agent + "mallory")))) // Its consumer is past the other's message.
		c.works(500 * time.Millisecond)
		for _, as := range []string{"+WPI", "-NAK", "+ACK", "+TERM forged"} {
			c.answerAs(c.agent+"mallory-task-worker", zero, 1, time.Now(), as)
		}
	},
	may:   all(is("published"), noAttempt(0), of("own", is("processing"))),
	never: all(isNot("processing", "failed", "delivered", "terminated", "completed"), noAttempt(0)),
}, {
	name: "an agent answers for its own consumer in a domain that does not exist",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		for _, as := range []string{"+WPI", "+ACK"} {
			c.send(nats.NewMsg(fmt.Sprintf("$JS.ACK.mars.hash.TASKS.%s-task-worker.1.%d.1.%d.0.x", c.agent, zero.seq+77, time.Now().UnixNano())), as)
		}
	},
	may:   all(is("processing"), listsOnly("")),
	never: listsOnly(""),
}, {
	name: "an agent reports completions of attempts that were never made",
	act: func(c *clients) {
		l := c.publish(publish{})
		m := c.pull(c.workers())
		for n := range 50 {
			c.report(c.agent, "completed", "", map[string]any{"message_id": c.task(""), "attempt": n + 1})
			c.report(c.agent, "duplicate_caught", "", map[string]any{"message_id": c.task(""), "attempt": n + 2})
		}
		c.record("", said(l))
		c.ack(m)
	},
	may:   all(is("completed"), counts(layers{})),
	never: countsAtMost(layers{}),
}, {
	name: "an agent reports steps and outgoing messages of another's task",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		for i := range 3 {
			c.report(c.agent+"mallory", "step_intent", "", map[string]any{"message_id": c.task(""), "attempt": 1, "step_id": fmt.Sprint("s", i), "tool": "mail", "canonical_input_hash": "h", "step_class": "unsafe"})
			c.report(c.agent+"mallory", "outbound_intent", "", map[string]any{"message_id": c.task(""), "attempt": 1, "step_id": fmt.Sprint("o", i)})
		}
	},
	may:   all(is("processing"), findsNo("semantic_duplicate")),
	never: findsNo("semantic_duplicate"),
}, {
	name: "an agent reports in another's name what it did not do",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		m := nats.NewMsg("genbrain.lifecycle." + c.agent + "mallory.completed")
		c.send(m, c.cloudEvent(c.agent, "completed", "", time.Now(), map[string]any{"agent": c.agent, "message_id": c.task(""), "attempt": 1}))
	},
	may:   all(is("processing"), finds("conflicting_report")),
	never: all(isNot(done...), isNot("completing")),
}, {
	name: "a pool of workers takes the tasks of two agents and reports in its own name",
	act: func(c *clients) {
		pool := worker(c.agent + "pool")
		pool.FilterSubject, pool.FilterSubjects = "", []string{"genbrain.agents." + c.agent + ".tasks.>", "genbrain.agents." + c.agent + "b.tasks.>"}
		workers := c.consumer(pool)
		c.publish(publish{})
		c.publish(publish{task: "second", agent: c.agent + "b"})
		for range 2 {
			m := c.pull(workers)
			task := ""
			if strings.Contains(m.Subject(), c.agent+"b.") {
				task = "second"
			}
			c.report(c.agent+"pool", "claimed", task, map[string]any{"message_id": c.task(task), "attempt": 1})
			c.report(c.agent+"pool", "completed", task, map[string]any{"message_id": c.task(task), "attempt": 1, "cost_usd": 0.5})
			c.works(time.Second)
			c.ack(m)
		}
	},
	may:   all(is("completed"), completionReported(), of("second", all(is("completed"), completionReported()))),
	never: all(findsNo("conflicting_report"), of("second", findsNo("conflicting_report"))), // Also before a delivery is known.
}, {
	name: "several workers share a consumer and report in names of their own",
	act: func(c *clients) {
		workers := c.workers()
		c.publish(publish{})
		m := c.pull(workers)
		for _, kind := range []string{"claimed", "completed"} {
			c.report(c.agent+"pod1", kind, "", map[string]any{"message_id": c.task(""), "attempt": 1})
		}
		c.ack(m)
	},
	may:   all(is("completed"), saysOf("conflicting_report", "not known to have had")),
	never: saysNotOf("conflicting_report", "never held"),
}, {
	name: "an agent publishes a task of its own as the retry of another's dead message",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.term(c.pull(c.workers()), "poison")
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.publish(publish{task: "own", agent: c.agent + "mallory", header: retryOf(zero, 1)})
		own := c.consumer(worker(c.agent + "mallory"))
		m := c.pull(own)
		c.record("own", map[string]any{"agentId": c.agent + "mallory"})
		c.ack(m)
	},
	may:   all(is("terminated"), of("own", is("completed")), unfollowed(0)),
	never: unfollowed(0),
}, {
	name: "an agent publishes tasks whose ids look like another's",
	act: func(c *clients) {
		c.publish(publish{})
		for _, odd := range []string{"\u200b", "\u2060", "\u00ad", "\U000e0041", "\u202e", "\ufe0f", "\u115f", "\u3164"} {
			m := c.message(publish{})
			m.Header.Set("X-Task-ID", c.task("")+odd)
			m.Header.Set("Nats-Msg-Id", nats.NewInbox())
			m.Header.Del("X-Idempotency-Key")
			c.send(m, "{}")
		}
	},
	may:   all(is("published"), listsNoTwins(9)),
	never: listsNoTwins(0),
}, {
	name: "an agent publishes in the name of Fleetglass",
	act: func(c *clients) {
		c.publish(publish{header: nats.Header{"X-Publisher": {"Fleetglass"}}})
		c.publish(publish{task: "odd", header: nats.Header{"X-Publisher": {"Fleet\u200bglass"}}})
	},
	may:   all(is("published"), notBy(0, "Fleetglass"), of("odd", notBy(0, "Fleetglass"))),
	never: all(notBy(0, "Fleetglass"), of("odd", notBy(0, "Fleetglass"))),
}, {
	name: "an agent publishes with the numbers and times that no task has",
	act: func(c *clients) {
		c.publish(publish{header: nats.Header{
			"X-Retry-Generation": {"1000000"}, "X-Created-At": {"9999-12-31T23:59:59Z"}, "X-Max-Retries": {"99999999999999999999"},
			"X-Retry-Of": {"TASKS:18446744073709551615"}, "Nats-Msg-Size": {"99999999999"},
		}})
		c.ack(c.pull(c.workers()))
	},
	may: all(is("completed"), withinLife),
}, {
	name: "an agent writes a record with times to come and a sequence that is not its message's",
	act: func(c *clients) {
		l := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.record("", map[string]any{"natsStreamSeq": l.seq + 1000, "completedAt": time.Now().AddDate(100, 0, 0).UnixMilli(), "expiresAt": 1})
	},
	may:   all(is("processing"), withinLife),
	never: isNot(done...),
}}

// answerAs answers a message in the name of a consumer, as a delivery with that number.
func (c *clients) answerAs(consumer string, l letter, n int, at time.Time, as string) {
	c.send(nats.NewMsg(fmt.Sprintf("$JS.ACK.%s.%s.%d.%d.%d.%d.0", l.stream, consumer, n, l.seq, n, at.UnixNano())), as)
}

// completionReported holds when a time is told at which a worker reported that the work was done.
func completionReported() claim {
	return func(s story) error {
		if b := s.told().Boundaries; b.CompletedAt.IsZero() {
			return errors.New("nothing is known of what the worker reported")
		}
		return nil
	}
}

// meaningOf is what is said of an anomaly of the task; empty where it has none.
func (s story) meaningOf(code string) string {
	for _, a := range s.told().Anomalies {
		if a.Code == code {
			return a.Meaning
		}
	}
	return ""
}

// saysOf holds when the task has an anomaly, and what is said of it has these words.
func saysOf(code, words string) claim {
	return func(s story) error {
		if m := s.meaningOf(code); !strings.Contains(m, words) {
			return fmt.Errorf("of %s it says %q, want %q", code, m, words)
		}
		return nil
	}
}

// saysNotOf holds while what is said of an anomaly does not have these words.
func saysNotOf(code, words string) claim {
	return func(s story) error {
		if s.told() != nil && strings.Contains(s.meaningOf(code), words) {
			return fmt.Errorf("of %s it says %q", code, words)
		}
		return nil
	}
}

// fewAttempts holds while the n-th message has at most that many attempts.
func fewAttempts(n, most int) claim {
	return func(s story) error {
		if m := s.message(n); m != nil && len(m.Attempts) > most {
			return fmt.Errorf("message %d has %d attempts", n, len(m.Attempts))
		}
		return nil
	}
}

// listed are the ids of the tasks of the row's agent, or of one with a name behind that.
func (s story) listed(behind string) (ids []string, err error) {
	t := s.told()
	if t == nil {
		return nil, nil
	}
	var list struct {
		Data []struct {
			TaskID string `json:"task_id"`
		}
	}
	err = s.glass.ask(s.ctx, "/api/v1/tasks?limit=100&agent="+url.QueryEscape(t.Agent+behind), &list)
	for _, row := range list.Data {
		ids = append(ids, row.TaskID)
	}
	return ids, err
}

// listsOnly holds while no task of the row's agent is listed but the row's own.
func listsOnly(behind string) claim {
	return func(s story) error {
		ids, err := s.listed(behind)
		for _, id := range ids {
			if s.told().TaskID != id {
				return fmt.Errorf("a task %q is listed", id)
			}
		}
		return err
	}
}

// listsNoTwins holds when at least so many tasks of the row's agent are listed, and no two look alike.
func listsNoTwins(least int) claim {
	return func(s story) error {
		ids, err := s.listed("")
		if err == nil && len(ids) < least {
			err = fmt.Errorf("%d tasks are listed, want %d", len(ids), least)
		}
		shown := map[string]bool{}
		for _, id := range ids {
			look := strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
					return -1
				}
				return r
			}, id)
			if shown[look] {
				err = errors.Join(err, fmt.Errorf("two tasks are shown as %q", look))
			}
			shown[look] = true
		}
		return err
	}
}

// unfollowed holds while nothing is said to have followed the n-th message, which died.
func unfollowed(n int) claim {
	return func(s story) error {
		m := s.message(n)
		if m == nil {
			return nil
		}
		var entry struct {
			Outcome string `json:"outcome"`
		}
		if err := s.glass.ask(s.ctx, "/api/v1/dlq/"+url.PathEscape(m.Stream+":"+m.Seq), &entry); err != nil && !errors.Is(err, errAbsent) {
			return err
		}
		if entry.Outcome != "" {
			return fmt.Errorf("the message that followed is said to be %s", entry.Outcome)
		}
		return nil
	}
}

// notBy holds while the n-th message is not said to be published by somebody.
func notBy(n int, publisher string) claim {
	return func(s story) error {
		if m := s.message(n); m != nil && m.Publisher == publisher {
			return fmt.Errorf("message %d is said to be published by %s", n, publisher)
		}
		return nil
	}
}
