//go:build linux

package situations

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// resetConsumer lets an operator set the workers' consumer back, or ahead, to a message: what it delivers after that is counted from one again. The sequence
// zero is the first that is not acknowledged.
func (c *clients) resetConsumer(seq uint64) {
	c.halt()
	c.api("CONSUMER.RESET.TASKS."+c.durable(), `{"seq":%d}`, seq)
}

// api asks the broker for what the client has no call for.
func (c *clients) api(subject, request string, args ...any) {
	answer, err := c.nc.Request("$JS.API."+subject, fmt.Appendf(nil, request, args...), patience)
	c.must(err)
	var said struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	c.must(json.Unmarshal(answer.Data, &said))
	if said.Error != nil {
		c.must(errors.New(said.Error.Description))
	}
}

// practised are workers whose consumer has delivered a few messages before, as Fleetglass knows: only its counters show a reset.
func (c *clients) practised(settings ...func(*jetstream.ConsumerConfig)) jetstream.Consumer {
	worker := c.workers(settings...)
	for _, task := range []string{"first", "second", "third"} {
		c.publish(publish{task: task})
		c.ack(c.pull(worker))
	}
	return worker
}

// resetBehindDead uses up the only attempt at a message, and lets its consumer begin behind it then.
func resetBehindDead(c *clients) {
	worker := c.practised(wait(time.Second), atMost(1))
	zero := c.publish(publish{})
	c.pull(worker)
	c.works(2 * time.Second)
	c.tryPull(worker, 100*time.Millisecond)
	c.seen()
	c.resetConsumer(zero.seq + 1)
}

// resets are consumers that an operator resets. Nothing but their counters shows it, so that rows whose answer needs it are watched.
var resets = []situation{{
	name:  "a consumer is reset while its worker has a message, and the next one completes it",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised()
		c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.seen()
		c.resetConsumer(0)
		c.seen()
		m := c.pull(worker)
		c.heartbeat(m)
		c.works(500 * time.Millisecond)
		c.ack(m)
	},
	mode:  live,
	may:   all(is("completed"), findsNo(wrongs...), attempts(0, 2, 1), ended("timed_out", "acked"), current(1)),
	never: all(findsNo(wrongs...), isNot("exhausted", "failed", "terminated")),
}, {
	name:  "a consumer is reset while its worker has a message, and the next one completes it before anybody looks",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised()
		c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.seen()
		c.resetConsumer(0)
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), findsNo(wrongs...)),
	never: all(findsNo(wrongs...), isNot("exhausted", "failed", "terminated")),
}, {
	name:  "a consumer is reset while its worker has a message, who acknowledges it later",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(10 * time.Minute))
		zero := c.publish(publish{})
		m := c.pull(worker)
		c.heartbeat(m)
		c.seen()
		c.resetConsumer(0)
		c.works(time.Second)
		c.ack(m)
		c.works(2 * time.Second)
		if !c.there(zero) {
			c.must(errors.New("the broker accepted the answer"))
		}
	},
	may:   all(is("published", "failed"), says("next free worker")),
	never: all(isNot("exhausted", "failed", "terminated")),
}, {
	name:  "a consumer is reset, and its next worker has the message",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(10 * time.Minute))
		c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.seen()
		c.resetConsumer(0)
		c.heartbeat(c.pull(worker))
	},
	mode:  live,
	may:   all(is("processing"), findsNo(wrongs...), attempts(0, 2, 1), ended("timed_out", "open"), current(1)),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted", "failed")),
}, {
	name:  "a consumer is reset, and nobody asks for the message",
	since: resettable,
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(10 * time.Minute))))
		c.works(time.Second) // The broker has written down what it delivered by then (docs/adr/0081).
		c.seen()
		c.resetConsumer(0)
	},
	may:   all(is("published", "failed"), silent("due since"), says("next free worker")),
	never: all(isNot(done...), neverStale("zombie", "presumed_dead", "stale")),
}, {
	name:  "the attempts are used up, the consumer is reset, and the next attempt completes",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(time.Second), atMost(1))
		c.publish(publish{})
		c.pull(worker)
		c.works(2 * time.Second)
		c.tryPull(worker, 100*time.Millisecond)
		c.seen()
		c.resetConsumer(1)
		c.ack(c.pull(worker))
	},
	may: all(is("completed"), findsNo(wrongs...)),
}, {
	name:   "the attempts are used up, and the consumer is reset to after the message",
	on:     land{name: "reset ahead of a dead message", streams: ordinary.streams},
	since:  resettable,
	act:    resetBehindDead,
	may:    all(is("exhausted"), findsNo(append(wrongs, "forged")...)),
	never:  isNot("completed", "removed", "outcome_unknown"),
	settle: 14 * time.Second,
	mode:   live,
}, {
	name:   "the attempts are used up, and the consumer is reset to after the message before anybody looks",
	on:     land{name: "reset ahead of a dead message before anybody looks", streams: ordinary.streams},
	since:  resettable,
	act:    resetBehindDead,
	may:    all(is("exhausted", "outcome_unknown"), findsNo("forged")),
	never:  all(isNot("completed", "removed"), findsNo("forged")),
	settle: 14 * time.Second,
	mode:   afterwards,
}, {
	name:  "limits retention: a consumer is reset to a message that it acknowledged, and its next worker has it",
	on:    limits,
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(10 * time.Minute))
		zero := c.publish(publish{})
		c.ack(c.pull(worker))
		c.seen()
		c.resetConsumer(zero.seq)
		c.heartbeat(c.pull(worker))
	},
	mode: live,
	may:  all(is("processing"), attempts(0, 2, 1), ended("acked", "open"), findsNo(wrongs...)),
}, {
	name:  "limits retention: a consumer is reset to a message that it acknowledged, and does it again",
	on:    limits,
	since: resettable,
	act: func(c *clients) {
		worker := c.practised()
		zero := c.publish(publish{})
		c.ack(c.pull(worker))
		c.seen()
		c.resetConsumer(zero.seq)
		c.ack(c.pull(worker))
	},
	mode: live,
	may:  all(is("completed"), either(attempts(0, 2, 1), attempts(0, 1, 1)), findsNo(wrongs...)), // Both ended before anybody looked.
}, {
	name:  "a consumer is reset to after a message that waits for it",
	on:    land{name: "reset ahead", streams: ordinary.streams},
	since: resettable,
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers()
		c.resetConsumer(zero.seq + 1)
		c.publish(publish{task: "next"})
		c.ack(c.pull(worker))
	},
	may:    all(isNot(done...), silent("next free worker"), of("next", is("completed"))),
	never:  isNot("completed", "exhausted", "failed", "removed"),
	settle: 14 * time.Second,
}, {
	name:  "a consumer is reset to after a message that its worker has, who acknowledges it later",
	on:    land{name: "reset ahead in hand", streams: ordinary.streams},
	since: resettable,
	act: func(c *clients) {
		zero := c.publish(publish{})
		m := c.pull(c.workers(wait(10 * time.Minute)))
		c.heartbeat(m)
		c.seen()
		c.resetConsumer(zero.seq + 1)
		c.works(time.Second)
		c.ack(m)
		c.until("the message leaves", func() bool { return !c.there(zero) }) // The broker removes what is acknowledged up to its consumer's floor.
	},
	may:   is("completed", "outcome_unknown"),
	never: all(isNot("exhausted", "failed", "removed"), either(noAttempt(0), silent("next free worker"))),
}, {
	name:  "a consumer is reset while a message that was handed back waits for its delay",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised()
		c.publish(publish{})
		c.must(c.pull(worker).NakWithDelay(10 * time.Minute))
		c.seen()
		c.resetConsumer(0)
		c.seen()
		c.ack(c.pull(worker))
	},
	mode:  live,
	may:   all(is("completed"), attempts(0, 2, 1), ended("naked", "acked"), findsNo(wrongs...)),
	never: isNot("exhausted"),
}, {
	name:  "a consumer is reset just after its worker's heartbeat, and its next worker has the message",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(10 * time.Minute))
		c.seen()
		c.publish(publish{})
		c.heartbeat(c.pull(worker)) // Nobody looks at the broker between this and the reset.
		c.resetConsumer(0)
		c.heartbeat(c.pull(worker))
	},
	mode:  live,
	may:   all(is("processing"), findsNo(wrongs...), attempts(0, 2, 1), ended("timed_out", "open"), current(1)),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted", "failed")),
}, {
	name:  "a consumer is reset, and the worker that had the message before goes on sending heartbeats",
	since: resettable,
	act: func(c *clients) {
		worker := c.practised(wait(4 * time.Second))
		c.publish(publish{})
		zombie := c.pull(worker)
		c.resetConsumer(0)
		c.seen()
		m := c.pull(worker)
		for range 12 {
			c.works(500 * time.Millisecond)
			c.heartbeat(zombie)
		}
		c.inTime(c.tryPull(worker, 100*time.Millisecond) == nil, "the broker delivered it once more")
		c.ack(m)
	},
	may:   is("completed"),
	never: all(isNot("exhausted", "failed"), neverStale("presumed_dead", "stale")),
}}

// resettable is the minor version of nats-server 2 since which a consumer can be reset.
const resettable = 14
