//go:build linux

package situations

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// keptInMemory is for consumers that are gone when their broker starts again.
func keptInMemory(cfg *jetstream.ConsumerConfig) { cfg.MemoryStorage = true }

// heldAndForgotten lets a worker have one of two messages while the broker starts again, and forgets its consumer.
func (c *clients) heldAndForgotten() (worker jetstream.Consumer) {
	worker = c.workers(keptInMemory)
	c.publish(publish{})
	c.publish(publish{task: "waits"})
	c.heartbeat(c.pull(worker))
	c.seen()
	c.meanwhile(c.memory.Restart)
	return worker
}

// memories are of brokers that start again, and of what they kept in memory alone.
var memories = []situation{{
	name: "a consumer is kept in memory, and its broker starts again while its worker has a message",
	on:   forgetful("a consumer in memory"),
	mode: live,
	act:  func(c *clients) { c.heldAndForgotten() },
	may:  all(is("delivered", "processing"), says("does not exist"), unblamed, of("waits", all(is("published"), says("does not exist"), noAttempt(0), unblamed))),
	never: all(isNot("completed", "removed", "exhausted", "terminated"), silent("publish it again", "nothing was stored"),
		of("waits", all(isNot("completed", "removed", "exhausted", "terminated"), silent("publish it again", "nothing was stored")))),
}, {
	name: "a consumer is kept in memory, its broker starts again, and its worker makes it anew",
	on:   forgetful("a consumer in memory that is made anew"),
	mode: live,
	act: func(c *clients) {
		worker := c.heldAndForgotten()
		c.workers(keptInMemory)
		again := c.pull(worker)
		c.heartbeat(again)
		c.seen()
		c.ack(again)
	},
	may:   all(is("completed"), attempts(0, 2, 1), of("waits", all(is("published"), noAttempt(0), unblamed))),
	never: all(isNot("removed", "exhausted", "terminated", "outcome_unknown"), silent("publish it again", "nothing was stored")),
}, {
	name: "a stream is kept in memory, and its broker starts again",
	on: land{name: "forgets: a stream in memory", forgets: true, streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour, AllowDirect: true, Storage: jetstream.MemoryStorage,
	}}},
	mode: live,
	act: func(c *clients) {
		worker := c.workers(atOnce(5))
		for _, task := range []string{"done", "held", "waits"} {
			c.publish(publish{task: task})
		}
		c.ack(c.pull(worker))
		c.heartbeat(c.pull(worker))
		c.untilStateIs("done", "completed")
		c.seen()
		again := c.remade("TASKS")
		c.meanwhile(c.memory.Restart)
		again()
		c.publish(publish{task: "after"})
		c.publish(publish{task: "after-done"})
		worker = c.workers(atOnce(5))
		c.pull(worker)
		c.ack(c.pull(worker))
	},
	may: all(of("done", all(is("completed"), unblamed)),
		eachOf([]string{"held", "waits"}, all(is("outcome_unknown", "removed"), unblamed)),
		of("after", is("delivered", "processing", "published")), of("after-done", is("completed"))),
	never: all(of("done", isNot("removed", "exhausted", "outcome_unknown")),
		eachOf([]string{"held", "waits"}, all(isNot("completed", "exhausted", "terminated"), silent("nothing was stored", "by a limit", "by an operator."))),
		of("after-done", silent("publish it again"))),
}}
