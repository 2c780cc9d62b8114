//go:build linux

package situations

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// second is another workers' consumer of an agent: where the stream keeps its messages, each of the two gets every message.
func second(agent string, change ...func(*jetstream.ConsumerConfig)) jetstream.ConsumerConfig {
	cfg := worker(agent)
	cfg.Durable = agent + "-second-task-worker"
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// takenBy holds when a workers' consumer has so many attempts at the n-th message, the last of which ended so.
func takenBy(n int, suffix string, count int, end string) claim {
	return func(s story) error {
		m := s.message(n)
		if m == nil {
			return fmt.Errorf("message %d is not known", n)
		}
		taken := append([]seenTaker{{Consumer: m.Consumer, Attempts: m.Attempts}}, m.Others...)
		for _, t := range taken {
			if !strings.HasSuffix(t.Consumer, suffix) || (suffix == byFirst && strings.HasSuffix(t.Consumer, bySecond)) {
				continue
			}
			if last := len(t.Attempts) - 1; last+1 != count || (count > 0 && t.Attempts[last].End != end) {
				return fmt.Errorf("%s has %+v at message %d, want %d, the last one %s", t.Consumer, t.Attempts, n, count, end)
			}
			return nil
		}
		return fmt.Errorf("no %s is shown to have taken message %d: %+v", suffix, n, taken)
	}
}

const (
	byFirst, bySecond = "-task-worker", "-second-task-worker"
)

// several are messages that more than one workers' consumer takes: each has attempts, leases and an end of its own.
var several = []situation{{
	name: "two workers' consumers take one message: both complete",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		a, b := c.pull(c.workers()), c.pull(c.consumer(second(c.agent)))
		c.heartbeat(b)
		c.ack(a)
		c.works(time.Second)
		c.ack(b)
	},
	may:   all(is("completed"), findsNo(wrongs...), takenBy(0, bySecond, 1, "acked"), takenBy(0, byFirst, 1, "acked"), counts(layers{})),
	never: all(findsNo(wrongs...), neverStale("zombie")),
}, {
	name: "two workers' consumers take one message: one completes, and the other is at work",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		a, b := c.pull(c.workers()), c.pull(c.consumer(second(c.agent)))
		c.heartbeat(b)
		c.ack(a)
	},
	may:   all(is("processing"), findsNo(wrongs...), takenBy(0, bySecond, 1, "open"), takenBy(0, byFirst, 1, "acked"), heldBy(bySecond)),
	never: all(isNot(done...), findsNo(wrongs...), neverStale("zombie")),
}, {
	name: "two workers' consumers take one message: one is given other subjects while its worker has it, and the other completes",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		c.seen() // What it took before it was looked at for the first time nothing tells.
		c.publish(publish{})
		c.pull(other)
		c.consumer(second(c.agent, c.only("other")))
		c.ack(c.pull(first))
	},
	may:   all(isNot(done...), findsNo(wrongs...), takenBy(0, bySecond, 1, "open"), takenBy(0, byFirst, 1, "acked"), heldBy(bySecond)),
	never: all(isNot(done...), findsNo(wrongs...)),
	mode:  live,
}, {
	name: "two workers' consumers take one message: one is given other subjects while its worker has it, and is done later than the other",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		c.seen()
		c.publish(publish{})
		b := c.pull(other)
		c.consumer(second(c.agent, c.only("other")))
		c.works(3 * time.Second)
		c.ack(c.pull(first))
		c.works(3 * time.Second)
		c.ack(b)
	},
	may:   all(is("completed"), findsNo(wrongs...), takenBy(0, bySecond, 1, "acked"), takenBy(0, byFirst, 1, "acked")),
	never: findsNo(wrongs...),
	mode:  live,
}, {
	name: "two workers' consumers take one message: one gives it back and gets it again, and the other completes",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		first := c.workers()
		a, b := c.pull(first), c.pull(c.consumer(second(c.agent)))
		c.heartbeat(b)
		c.answer(a, "-NAK")
		a = c.pull(first)
		c.heartbeat(a)
		c.works(500 * time.Millisecond)
		c.heartbeat(b)
		c.ack(b)
		c.works(500 * time.Millisecond)
		c.ack(a)
	},
	may:   all(is("completed"), findsNo(wrongs...), takenBy(0, bySecond, 1, "acked"), takenBy(0, byFirst, 2, "acked")),
	never: all(findsNo(wrongs...), neverStale("zombie")),
}, {
	name: "two workers' consumers take one message: one completes, and the other dies",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.consumer(second(c.agent, wait(2*time.Second), atMost(1)))))
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("exhausted"), findsNo(wrongs...), takenBy(0, bySecond, 1, "timed_out"), takenBy(0, byFirst, 1, "acked"), finds("died_beside_ack")),
	never: all(isNot("completed"), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one uses up its attempts just before it is deleted, and the other's worker acknowledges later",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent, wait(time.Second), atMost(1)))
		l := c.publish(publish{})
		a := c.pull(first)
		c.heartbeat(a)
		c.pull(other)
		c.works(1500 * time.Millisecond)
		c.tryPull(other, 200*time.Millisecond) // The broker says now that its attempts are used up.
		c.deleteMessage(l)
		c.works(500 * time.Millisecond)
		c.ack(a)
	},
	may:   all(is("exhausted"), takenBy(0, bySecond, 1, "timed_out"), takenBy(0, byFirst, 1, "acked"), finds("died_beside_ack")),
	never: isNot("completed"),
}, {
	name: "two workers' consumers take one message: the second one's worker reports under the agent's name, and the first one's was not given it",
	on:   limits,
	act: func(c *clients) {
		c.workers()
		other := c.consumer(second(c.agent))
		c.publish(publish{})
		m := c.pull(other)
		c.heartbeat(m)
		c.seen()
		c.report(c.agent, "accepted", "", map[string]any{"message_id": m.Headers().Get("Nats-Msg-Id"), "attempt": 1})
	},
	may:   all(is("processing"), heldBy(bySecond), takenBy(0, bySecond, 1, "open"), untakenBy(byFirst)),
	never: all(isNot(done...), untakenBy(byFirst)),
}, {
	name: "two workers' consumers take one message: one gives it up, and the other completes",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		a, b := c.pull(c.workers()), c.pull(c.consumer(second(c.agent)))
		c.term(b, "token_budget_exceeded: 50,000 output tokens")
		c.works(500 * time.Millisecond)
		c.ack(a)
	},
	may:   all(is("terminated"), findsNo(append(wrongs, "ack_after_term")...), takenBy(0, bySecond, 1, "terminated"), takenBy(0, byFirst, 1, "acked"), finds("died_beside_ack")),
	never: all(isNot("completed"), findsNo("ack_after_term")),
}, {
	name: "two workers' consumers and an auditor take one message",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.consumer(second(c.agent))))
		c.ack(c.pull(c.workers()))
		c.ack(c.pull(c.consumer(auditor(c.agent))))
	},
	may:   all(is("processing"), watchedBy(0, "-auditor"), takenBy(0, bySecond, 1, "open"), takenBy(0, byFirst, 1, "acked"), findsNo(wrongs...)),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one is created again in the middle",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		b := c.pull(c.consumer(second(c.agent)))
		c.heartbeat(b)
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		a := c.pull(c.workers())
		c.heartbeat(a)
		c.works(500 * time.Millisecond)
		c.ack(b)
		c.ack(a)
	},
	may:   all(is("completed"), findsNo(wrongs...), takenBy(0, bySecond, 1, "acked"), endsAcked(byFirst), withinLife),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted"), withinLife),
}, {
	name: "interest retention, two workers' consumers: both complete, and the message leaves",
	on:   interest,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		l := c.publish(publish{})
		a, b := c.pull(first), c.pull(other)
		c.heartbeat(b)
		c.ack(a)
		c.works(time.Second)
		c.ack(b)
		c.until("the message leaves", func() bool { return !c.there(l) })
	},
	may:   all(is("completed"), findsNo(wrongs...), takenBy(0, bySecond, 1, "acked"), takenBy(0, byFirst, 1, "acked")),
	never: findsNo(wrongs...),
}, {
	name: "interest retention, two workers' consumers: one completes, and the other gives up",
	on:   interest,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		c.publish(publish{})
		a, b := c.pull(first), c.pull(other)
		c.heartbeat(b)
		c.ack(a)
		c.works(time.Second)
		c.term(b, "schema invalid")
	},
	may:   all(is("terminated"), findsNo(wrongs...), takenBy(0, bySecond, 1, "terminated"), takenBy(0, byFirst, 1, "acked")),
	never: all(isNot("completed"), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one completes, and the other has it without a sign",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		first, other := c.workers(), c.consumer(second(c.agent))
		c.pull(other)
		c.ack(c.pull(first))
	},
	may:   all(is("delivered"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "open"), heldBy(bySecond)),
	never: silent("nothing to do", "nobody:"),
}, {
	name: "two workers' consumers take one message: one completes, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		first := c.workers()
		c.consumer(second(c.agent))
		c.ack(c.pull(first))
	},
	may:   all(is("published"), says("-second-task-worker takes it too"), takenBy(0, byFirst, 1, "acked"), findsNo(wrongs...)),
	never: all(isNot("completed"), silent("nothing to do", "nobody:")),
}, {
	name: "two workers' consumers take one message: one completes, and the other is given it later",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		c.publish(publish{})
		c.ack(c.pull(first))
		c.works(3 * time.Second)
		c.ack(c.pull(other))
	},
	may:   all(is("completed"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "acked"), findsNo(wrongs...)),
	never: all(findsNo(wrongs...), either(isNot("completed"), takenBy(0, bySecond, 1, "acked"))),
}, {
	name: "two workers' consumers take one message: one completes, and the other is deleted before it was given it",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent))
		c.publish(publish{})
		c.ack(c.pull(first))
		c.works(time.Second)
		c.must(c.js.DeleteConsumer(c.ctx, "TASKS", other.CachedInfo().Name))
	},
	may:   all(is("completed"), says("nothing to do"), takenBy(0, byFirst, 1, "acked")),
	never: findsNo(wrongs...),
}, {
	name: "two workers' consumers take one message: one gives it up, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		first := c.workers()
		c.consumer(second(c.agent))
		c.term(c.pull(first), "schema invalid")
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "terminated")),
	never: isNot("terminated", "completed"),
}, {
	name: "two workers' consumers take one message: one uses up its only attempt, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		first := c.workers(atMost(1), wait(time.Second))
		c.consumer(second(c.agent))
		c.works(2 * time.Second) // The consumers are known by then.
		c.publish(publish{})
		c.pull(first)
		c.works(3 * time.Second) // The broker says so by itself, once.
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "timed_out"), says("-second-task-worker takes it too")),
	never: all(isNot("exhausted", "completed"), silent("nothing to do", "nobody:")),
}, {
	name: "two workers' consumers take one message: nobody listens any more to the one whose worker lost it, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		sub := c.pushed(wait(2 * time.Second))
		c.consumer(second(c.agent))
		c.publish(publish{})
		c.sent(sub)
		c.leaves(sub)
	},
	may:   all(isNot(done...), says("-second-task-worker takes it too"), silent("no worker is subscribed")),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one is paused after its worker lost it, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		first := c.workers(wait(2 * time.Second))
		c.consumer(second(c.agent))
		c.publish(publish{})
		c.pull(first)
		c.pauseWorkers()
	},
	may:   all(isNot(done...), says("-second-task-worker takes it too"), silent("nothing is delivered")),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one is deleted while its worker has it, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		first := c.workers()
		c.consumer(second(c.agent))
		c.seen()
		c.publish(publish{})
		c.heartbeat(c.pull(first))
		c.works(time.Second)
		c.deleteConsumer()
	},
	may:   all(isNot(done...), says("-second-task-worker takes it too"), silent("nobody delivers it")),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "two workers' consumers take one message: one worker has its only attempt, and the other was not given it yet",
	on:   limits,
	act: func(c *clients) {
		first := c.workers(atMost(1), wait(10*time.Minute))
		c.consumer(second(c.agent))
		c.publish(publish{})
		c.pull(first)
	},
	may:   all(isNot(done...), says("-second-task-worker takes it too"), silent("this is the last attempt")),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "a second workers' consumer comes after the message was given up by the first one's worker",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.term(c.pull(c.workers()), "schema invalid")
		c.untilStateIs("", "terminated")
		c.consumer(second(c.agent))
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "terminated"), says("-second-task-worker takes it too")),
	never: isNot("completed", "exhausted"),
}, {
	name: "a second workers' consumer comes after the first one's used up its only attempt",
	on:   limits,
	act: func(c *clients) {
		first := c.workers(atMost(1), wait(time.Second))
		c.publish(publish{})
		c.pull(first)
		c.untilStateIs("", "exhausted")
		c.consumer(second(c.agent))
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "timed_out"), says("-second-task-worker takes it too"), silent("nothing happens to it by itself")),
	never: isNot("completed", "terminated"),
}, {
	name: "a second workers' consumer comes after the message was done by the first one's worker",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{task: "earlier"})
		c.publish(publish{})
		first := c.workers()
		c.ack(c.pull(first))
		c.ack(c.pull(first))
		c.seen()
		c.pull(c.consumer(second(c.agent)))
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "acked"), says("-second-task-worker takes it too"), of("earlier", all(is("delivered"), takenBy(0, bySecond, 1, "open")))),
	never: all(findsNo(wrongs...), of("earlier", findsNo(wrongs...))),
}, {
	name: "a second workers' consumer is given the subject of a message that the first one's worker has done",
	on:   limits,
	act: func(c *clients) {
		first := c.workers()
		c.consumer(second(c.agent, c.only("other")))
		c.seen()
		c.publish(publish{})
		c.ack(c.pull(first))
		c.seen()
		c.consumer(second(c.agent))
	},
	may:   all(is("published", "completed"), takenBy(0, byFirst, 1, "acked")),
	never: findsNo(wrongs...),
}, {
	name: "a second workers' consumer comes after the message was done by the first one's worker, and goes again",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
		c.seen()
		c.consumer(second(c.agent))
		c.seen()
		c.halt()
		c.must(c.js.DeleteConsumer(c.ctx, "TASKS", second(c.agent).Durable))
	},
	may:   all(is("completed"), takenBy(0, byFirst, 1, "acked"), findsNo(wrongs...)),
	never: all(isNot("removed", "outcome_unknown"), findsNo(wrongs...)),
}, {
	name: "interest retention, two workers' consumers: one completes, and the other uses up its only attempt without a sign",
	on:   interest,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent, atOnce(2), atMost(1), wait(2*time.Second)))
		c.works(2 * time.Second) // The consumers are known by then.
		c.publish(publish{})
		c.ack(c.pull(first))
		c.pull(other)
		c.works(3 * time.Second) // The broker says so by itself, once.
	},
	may:   all(is("exhausted"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "timed_out")),
	never: silent("nothing to do", "nobody:"),
}, {
	name: "limits retention, two workers' consumers: one uses up its only attempt without a sign, and then the other completes",
	on:   limits,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent, atMost(1), wait(time.Second)))
		c.works(2 * time.Second) // The consumers are known by then.
		c.publish(publish{})
		c.pull(other)
		c.works(3 * time.Second) // The broker says so by itself, once.
		c.ack(c.pull(first))
	},
	may:   all(is("exhausted"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "timed_out")),
	never: silent("nothing to do", "nobody:"),
}, {
	name: "interest retention, two workers' consumers: one uses up its only attempt without a sign, and then the other completes",
	on:   interest,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent, atMost(1), wait(time.Second)))
		c.works(2 * time.Second) // The consumers are known by then.
		c.publish(publish{})
		c.pull(other)
		c.works(3 * time.Second) // The broker says so by itself, once.
		c.ack(c.pull(first))
	},
	may:   all(is("exhausted"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "timed_out")),
	never: silent("nothing to do", "nobody:"),
}, {
	name: "interest retention, two workers' consumers: one uses up its only attempt without a sign, and the other completes at once",
	on:   interest,
	act: func(c *clients) {
		first, other := c.workers(), c.consumer(second(c.agent, atMost(1), wait(time.Second)))
		c.works(2 * time.Second) // The consumers are known by then.
		c.publish(publish{})
		c.pull(other)
		m := c.pull(first)
		c.works(1200 * time.Millisecond) // The broker says so by itself, once.
		c.ack(m)                         // The message leaves, mostly before anybody compares what the broker said with its state.
	},
	may:   all(is("exhausted"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "timed_out")),
	never: all(isNot("completed"), silent("nothing to do", "nobody:")),
}, {
	name: "two workers' consumers have one message: the board has the lease of each",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		first, other := c.workers(wait(2*time.Second)), c.consumer(second(c.agent, wait(10*time.Minute)))
		c.pull(first)
		c.heartbeat(c.pull(other))
	},
	may: all(is("processing"), heldBy(bySecond), onBoard(bySecond, "", false), onBoard(byFirst, "stale", true)),
}}

// untakenBy holds when no attempt of the agent's own consumer is told of.
func untakenBy(suffix string) claim {
	return func(s story) error {
		m := s.message(0)
		if m == nil {
			return nil
		}
		for _, t := range append([]seenTaker{{Consumer: m.Consumer, Attempts: m.Attempts}}, m.Others...) {
			if strings.HasSuffix(t.Consumer, suffix) && !strings.HasSuffix(t.Consumer, bySecond) && len(t.Attempts) > 0 {
				return fmt.Errorf("%s is said to have had it: %+v", t.Consumer, t.Attempts)
			}
		}
		return nil
	}
}

// onBoard holds when the in-flight board has a lease of a consumer, stale or not, that stands beside the one that decides about the message, or is it.
func onBoard(suffix, kind string, beside bool) claim {
	return func(s story) error {
		var board struct {
			Data []struct {
				Consumer  string `json:"consumer"`
				StaleKind string `json:"stale_kind"`
				TaskID    string `json:"task_id"`
				Beside    bool   `json:"beside"`
			} `json:"data"`
		}
		t := s.told()
		if t == nil {
			return errors.New("the task is not known")
		}
		if err := s.glass.ask(s.ctx, "/api/v1/in-flight?agent="+url.QueryEscape(t.Agent), &board); err != nil {
			return err
		}
		for _, l := range board.Data {
			if l.TaskID == t.TaskID && l.Consumer == t.Agent+suffix {
				if l.StaleKind != kind || l.Beside != beside {
					return fmt.Errorf("the lease of %s is %q, beside %t", l.Consumer, l.StaleKind, l.Beside)
				}
				return nil
			}
		}
		return fmt.Errorf("the board has no lease of %s: %+v", suffix, board.Data)
	}
}

// heldBy holds when the lease is that of a consumer.
func heldBy(suffix string) claim {
	return func(s story) error {
		if t := s.told(); t == nil || t.Lease == nil || !strings.HasSuffix(t.Lease.Consumer, suffix) {
			return fmt.Errorf("there is no lease of %s", suffix)
		}
		return nil
	}
}

// endsAcked holds when the last attempt of a consumer was acknowledged.
func endsAcked(suffix string) claim {
	return either(takenBy(0, suffix, 1, "acked"), takenBy(0, suffix, 2, "acked"))
}
