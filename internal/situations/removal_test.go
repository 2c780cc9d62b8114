//go:build linux

package situations

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// atOnceDeleted are tasks of one row: which of two events of a millisecond comes first differs from one to the next.
var atOnceDeleted = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

// removal says who removed a message, and that a worker never did what an operator did.
var removal = []situation{{
	name: "an operator deletes a message that no worker had",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("removed"), noAttempt(0), says("by an operator")),
	never: all(isNot("completed", "terminated", "exhausted"), noAttempt(0), silent("gave it up")),
}, {
	name: "an operator deletes a message that no worker had, of a stream in which nothing else removes any",
	on:   limits,
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("removed"), noAttempt(0), says("by an operator, and no worker ever had it")),
	never: all(isNot("completed", "terminated", "exhausted"), noAttempt(0), silent("by a limit", "with its stream")),
}, {
	name: "an operator deletes a stream while a message waits in it",
	on:   land{name: "a deleted stream", streams: limits.streams},
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.works(time.Second)
		c.seen()
		c.must(c.js.DeleteStream(c.ctx, "TASKS"))
	},
	may:   says("with its stream"),
	never: all(isNot("completed", "terminated", "exhausted"), silent("by a limit", "by an operator")),
	mode:  live,
}, {
	name: "an operator purges the subject before any delivery",
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.publish(publish{task: "b"})
		c.purge()
	},
	may:   eachOf([]string{"", "b"}, all(is("removed"), noAttempt(0), says("by an operator"), says("no worker ever had it"))),
	never: eachOf([]string{"", "b"}, all(isNot("completed", "terminated", "exhausted"), noAttempt(0), silent("gave it up"))),
}, {
	name: "an operator deletes a message while a worker has it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("outcome_unknown"), attempts(0, 1, 1), ended("removed"), says("it was removed while a worker had it"), silent("gave it up", "given up")),
	never: all(isNot("completed", "terminated", "exhausted", "removed"), silent("gave it up")),
}, {
	name: "an operator deletes a message while the second worker has it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers(wait(time.Second)))
		c.works(1500 * time.Millisecond)
		second := c.pull(c.workers(wait(time.Second)))
		c.workers(wait(10 * time.Minute))
		c.heartbeat(second)
		c.works(time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("outcome_unknown"), attempts(0, 2, 2), ended("timed_out", "removed"), says("it was removed while a worker had it"), silent("gave it up", "given up")),
	never: all(isNot("completed", "terminated", "exhausted", "removed"), silent("gave it up")),
}, {
	name: "records are written at the moment at which their messages are deleted",
	act: func(c *clients) {
		worker := c.workers(atOnce(8))
		for _, task := range atOnceDeleted {
			l := c.publish(publish{task: task})
			c.heartbeat(c.pull(worker))
			c.deleteUnawaited(l)
			c.record(task, said(l))
		}
	},
	may:   eachOf(atOnceDeleted, is("outcome_unknown")),
	never: eachOf(atOnceDeleted, isNot("completed")),
}, {
	name: "a worker reports completion after its message was deleted",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.deleteMessage(zero)
		c.works(500 * time.Millisecond)
		c.report(c.agent, "completed", "", map[string]any{"message_id": c.task(""), "attempt": 1})
	},
	may:   is("outcome_unknown"),
	never: isNot("completed"),
}, {
	name: "a worker whose clock is a minute slow reports completion after its message was deleted",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.deleteMessage(zero)
		c.works(3 * time.Second)
		m := nats.NewMsg("genbrain.lifecycle." + c.agent + ".completed")
		c.send(m, c.cloudEvent(c.agent, "completed", "", time.Now().Add(-time.Minute), map[string]any{"message_id": c.task(""), "attempt": 1}))
	},
	may:   is("outcome_unknown"),
	never: isNot("completed"),
}, {
	name: "reports of completion come at the moment at which their messages are deleted",
	act: func(c *clients) {
		worker := c.workers(atOnce(8))
		for _, task := range atOnceDeleted {
			l := c.publish(publish{task: task})
			c.heartbeat(c.pull(worker))
			c.deleteUnawaited(l)
			c.report(c.agent, "completed", task, map[string]any{"message_id": c.task(task), "attempt": 1})
		}
	},
	may:   eachOf(atOnceDeleted, is("outcome_unknown")),
	never: eachOf(atOnceDeleted, isNot("completed")),
}, {
	name: "a worker reports completion well before its message is deleted",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.report(c.agent, "completed", "", map[string]any{"message_id": c.task(""), "attempt": 1})
		c.works(3 * time.Second)
		c.deleteMessage(zero)
	},
	may: all(is("completed"), says("removed by an operator")),
}, {
	name: "an exhausted message is deleted and stays exhausted",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(1))
		c.pull(worker)
		c.works(1200 * time.Millisecond)
		c.tryPull(worker, time.Second)
		c.works(2 * time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("exhausted"), attempts(0, 1, 1), ended("timed_out"), says("look for its effect first"), silent("the stream has it", "gave it up")),
	never: all(isNot("completed", "removed"), isNotOnceStored("outcome_unknown")),
}, {
	name: "the limit for a subject removes the oldest",
	on:   narrow,
	act: func(c *clients) {
		c.workers()
		for _, name := range []string{"a", "b", "c", "d"} {
			c.publish(publish{task: name})
		}
		c.publish(publish{})
	},
	may:   eachOf([]string{"a", "b", "c"}, all(is("removed"), says("by a limit of the stream"))), // Of the others, too, when they are looked for afterwards: they aged.
	never: all(of("a", all(isNot("exhausted", "completed"), noAttempt(0))), of("b", noAttempt(0))),
}, {
	name: "a flood overflows the limit for a subject",
	on:   tasksWith("a flood", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 3 }),
	mode: live, // Looked for afterwards, an operator may have done it.
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		for n := range 250 {
			m := nats.NewMsg("genbrain.agents." + c.agent + ".tasks.work")
			m.Header.Set("Nats-Msg-Id", fmt.Sprintf("%s-flood-%d", c.agent, n))
			_, err := c.js.PublishMsg(c.ctx, m)
			c.must(err)
		}
	},
	may: all(is("removed"), says("by a limit of the stream"), alertSays("removed_by_limit", "248 tasks were removed by a limit of the stream before any worker had them", 248)),
}, {
	name: "a message's own time to live removes it",
	on:   briefly,
	mode: live, // The captured copy ends with the message.
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{header: nats.Header{"Nats-TTL": {"1s"}}})
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   all(is("removed"), noAttempt(0), says("by its own TTL")),
	never: isNot("completed", "exhausted"),
}, {
	name: "a message's own time to live removed it before anybody looked",
	on:   briefly,
	mode: afterwards,
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{header: nats.Header{"Nats-TTL": {"1s"}}})
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.publish(publish{task: "later"})
	},
	may:   of("later", all(is("published"), gapSays("TTL"))),
	never: isNot("completed", "exhausted"),
}, {
	name: "a message that is kept whatever its age is deleted by an operator after the age of its stream",
	on: tasksWith("an age, and exceptions", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.Duplicates, c.AllowMsgTTL = 3*time.Second, time.Second, true
	}),
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{header: nats.Header{"Nats-TTL": {"never"}}})
		aged := c.publish(publish{task: "aged"})
		c.until("the other message leaves", func() bool { return !c.there(aged) })
		c.works(2 * time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("removed"), noAttempt(0), says("by an operator"), of("aged", says("by the max_age of the stream", "by its age, its TTL or, before that, an operator or a limit"))),
	never: all(isNot("completed", "exhausted"), silent("max_age", "its age")),
}, {
	name: "the age of the stream removes a message that nobody took",
	on:   narrow,
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{kind: "aged"})
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   all(is("removed"), noAttempt(0), says("by the max_age of the stream", "by its age, its TTL or, before that, an operator or a limit")),
	never: isNot("completed", "exhausted"),
}, {
	name: "an operator deletes a message, and it would have become too old before anybody looked",
	on:   narrow,
	mode: afterwards,
	act: func(c *clients) {
		c.workers()
		c.deleteMessage(c.publish(publish{}))
		c.works(9 * time.Second)
	},
	may:   all(is("removed"), says("or, before that, an operator or a limit")),
	never: silent("by the max_age"),
}, {
	name: "a consumer lives and dies between two looks, and then the message goes",
	act: func(c *clients) {
		c.works(time.Second)
		zero := c.publish(publish{})
		c.pull(c.workers()) // Silently: no line tells of it.
		c.deleteConsumer()
		c.deleteMessage(zero)
	},
	may:   is("outcome_unknown"),
	never: all(isNot("removed", "completed", "terminated"), silent("no worker ever had it", "before any worker had")),
}}
