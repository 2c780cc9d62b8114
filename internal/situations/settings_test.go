//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// backoff gives each attempt a wait of its own.
func backoff(steps ...time.Duration) func(*jetstream.ConsumerConfig) {
	return func(c *jetstream.ConsumerConfig) { c.BackOff = steps }
}

// pause keeps the agent's consumer from delivering for an hour.
func (c *clients) pauseWorkers() {
	c.halt()
	_, err := c.js.PauseConsumer(c.ctx, "TASKS", c.agent+"-task-worker", time.Now().Add(time.Hour))
	c.must(err)
}

// nothing makes sure that the broker delivers nothing.
func (c *clients) nothing(consumer jetstream.Consumer) {
	if c.tryPull(consumer, 500*time.Millisecond) != nil {
		c.must(errors.New("the broker delivers it"))
	}
}

// overs are the states in which nobody waits for an answer. A task whose stored message was not read yet has none of its own.
var overs = append([]string{"removed", "outcome_unknown"}, done...)

// settings are changes of a consumer while its messages are in somebody's hands, and what a worker of an earlier consumer does to the next one's.
var settings = []situation{{
	name: "a consumer that held two messages may hold one, and the last delivery was another's",
	act: func(c *clients) {
		c.publish(publish{task: "back"})
		c.publish(publish{})
		worker := c.workers(atOnce(2), wait(8*time.Second))
		back := c.pull(worker)
		c.pull(worker)
		c.answer(back, "-NAK")
		c.ack(c.pull(worker))
		c.workers(atOnce(1), atMost(2), wait(8*time.Second))
	},
	may:   all(is("delivered", "failed"), attempts(0, 1, 1), of("back", is("completed"))),
	never: all(isNot("exhausted", "completed"), fewAttempts(0, 1)),
}, {
	name: "a consumer that held two messages may hold one, and the last delivery was one of another that no line tells of",
	act: func(c *clients) {
		c.publish(publish{task: "late"})
		c.publish(publish{})
		worker := c.workers(atOnce(2), wait(6*time.Second))
		late := c.pull(worker)
		c.works(4 * time.Second)
		other := c.pull(worker)
		c.works(2400 * time.Millisecond)
		again := c.pull(worker)
		c.inTime(c.seqOf(late) == c.seqOf(again) && c.seqOf(late) != c.seqOf(other), "the broker delivered the first message again too early or too late")
		c.ack(late)
		c.workers(atOnce(1), atMost(2), wait(6*time.Second))
	},
	may:   all(is("delivered", "failed"), attempts(0, 1, 1), of("late", is("completed"))),
	never: all(isNot("exhausted", "completed"), fewAttempts(0, 1)),
}, {
	name: "a consumer that holds two messages may hold one, and they stay in hand",
	act: func(c *clients) {
		c.publish(publish{task: "first"})
		c.publish(publish{})
		worker := c.workers(atOnce(2), wait(time.Hour))
		c.pull(worker)
		c.pull(worker)
		c.workers(atOnce(1), wait(time.Hour))
	},
	may:    all(is("published", "delivered"), of("first", is("published", "delivered"))),
	never:  all(messageIsNot(0, overs...), of("first", messageIsNot(0, overs...))),
	settle: 14 * time.Second,
}, {
	name: "a consumer that held two messages may hold one, and the older one stays in hand",
	act: func(c *clients) {
		c.publish(publish{task: "newer"})
		c.publish(publish{task: "first"})
		c.publish(publish{})
		worker := c.workers(atOnce(2), wait(time.Hour))
		newer := c.pull(worker)
		c.pull(worker)
		c.ack(newer)
		c.ack(c.pull(worker))
		c.workers(atOnce(1), wait(time.Hour))
	},
	may:    all(is("completed"), of("first", is("published", "delivered")), of("newer", is("completed"))),
	never:  of("first", messageIsNot(0, overs...)),
	settle: 14 * time.Second,
}, {
	name: "a later step of the backoff is shortened while its attempt is in hand",
	mode: live, // Who comes later does not know what it was.
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(backoff(time.Second, 10*time.Minute))
		c.pull(worker)
		c.works(1200 * time.Millisecond)
		m := c.pull(worker)
		c.seen()
		worker = c.workers(backoff(time.Second, 3*time.Second))
		c.works(4 * time.Second)
		c.nothing(worker) // The broker looks when its timer fires, which it set for the longer wait.
		c.heartbeat(m)
		c.nothing(worker)
	},
	may:   all(isNot("completed"), attempts(0, 2, 2)),
	never: neverOfAttempt(2, isNot("failed", "exhausted"), neverStale("stale", "presumed_dead"), silent("due since")),
}, {
	name: "the broker dropped a message, and more attempts are allowed after that",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(2))
		c.pull(worker)
		c.works(1200 * time.Millisecond)
		c.pull(worker)
		c.works(1200 * time.Millisecond)
		c.nothing(worker)
		c.nothing(c.workers(wait(time.Second), atMost(5)))
	},
	may:   all(is("exhausted"), attempts(0, 2, 2), silent("of 5", "next free worker", "delivers it again")),
	never: isNot("completed", "removed"),
}, {
	name: "the only attempt runs out, and more are allowed after that",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(wait(time.Second), atMost(1)))
		c.works(3 * time.Second)
		c.nothing(c.workers(wait(time.Second), atMost(5)))
	},
	may:   all(is("exhausted"), attempts(0, 1, 1), silent("of 5", "next free worker", "delivers it again")),
	never: isNot("completed", "removed"),
}, {
	name: "a consumer is paused while a worker has a message, and its deadline is to come",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(5 * time.Minute))))
		c.pauseWorkers()
	},
	may:   all(is("processing"), attempts(0, 1, 1), says("without an answer it waits until consumer"), silent("delivers it again", "due since")),
	never: isNot("completed", "failed", "exhausted"),
}, {
	name: "a consumer is paused while a worker has a message, and its deadline passes",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(2 * time.Second))
		c.heartbeat(c.pull(worker))
		c.pauseWorkers()
		c.works(3 * time.Second)
		c.nothing(worker)
	},
	may:   all(is("failed"), attempts(0, 1, 1), says("paused"), silent("next free worker", "delivers it again")),
	never: isNot("completed", "exhausted"),
}, {
	name: "a consumer is paused after its last attempt ran out",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(time.Second), atMost(1))))
		c.pauseWorkers()
		c.works(2 * time.Second)
	},
	may:   all(is("exhausted"), attempts(0, 1, 1), silent("next free worker", "delivers it again")),
	never: isNot("completed"),
}, {
	name: "a message is handed back, and its consumer is paused",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers()
		m := c.pull(worker)
		c.pauseWorkers()
		c.answer(m, "-NAK")
		c.nothing(worker)
	},
	may:   all(is("failed"), attempts(0, 1, 1), says("paused"), silent("next free worker", "due since", "if none has it already", "without an answer")),
	never: isNot("completed", "exhausted", "redelivered"),
}, {
	name: "the last attempt is handed back, and more are allowed after that",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(atMost(1)))
		c.answer(m, "-NAK")
		c.works(3 * time.Second)
		c.workers(atMost(5))
	},
	may: all(is("failed"), attempts(0, 1, 1), silent("no attempt is left", "last attempt")),
}, {
	name: "the last attempt is handed back, more are allowed, and the next one runs",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(atMost(1)))
		c.answer(m, "-NAK")
		c.works(3 * time.Second)
		c.heartbeat(c.pull(c.workers(atMost(5))))
	},
	may: all(is("redelivered"), attempts(0, 2, 2), silent("no attempt is left")),
}, {
	name: "a paused consumer goes on",
	act: func(c *clients) {
		worker := c.workers()
		c.pauseWorkers()
		c.publish(publish{})
		c.works(2 * time.Second)
		_, err := c.js.ResumeConsumer(c.ctx, "TASKS", c.agent+"-task-worker")
		c.must(err)
		c.ack(c.pull(worker))
	},
	may: all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
}, {
	name: "a message is handed back for five seconds, and its consumer is given more time",
	mode: live, // Who comes later does not know what the wait was.
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(10 * time.Second)))
		c.seen()
		c.answer(m, `-NAK {"delay": 5000000000}`)
		c.works(time.Second) // The broker takes answers and changes in queues of their own.
		worker := c.workers(wait(10 * time.Minute))
		c.works(6 * time.Second)
		c.nothing(worker) // The broker counts the delay and the wait together.
	},
	may: all(is("failed"), attempts(0, 1, 1), silent("due since", "next free worker", "if none has it already")),
}, {
	name: "the worker of a consumer that was created again acknowledges what the next one's worker has",
	act: func(c *clients) {
		c.publish(publish{task: "before"})
		worker := c.workers(wait(10 * time.Minute))
		c.ack(c.pull(worker))
		zero := c.publish(publish{})
		old := c.pull(worker)
		c.deleteConsumer()
		m := c.pull(c.workers(wait(10 * time.Minute)))
		c.works(time.Second)
		c.ack(old)
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.works(time.Second)
		c.ack(m)
	},
	may:   all(is("completed"), either(attempts(0, 2, 1), attempts(0, 1, 1)), withinLife, findsNo(wrongs...)), // Of the first delivery no line tells.
	never: all(isNot("exhausted", "failed", "terminated", "removed"), withinLife, findsNo(wrongs...)),
}}
