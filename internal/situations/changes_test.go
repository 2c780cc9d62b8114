//go:build linux

package situations

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// changed is a land of its own, whose streams a row changes.
func changed(row string, like land) land { return land{name: "changed: " + row, streams: like.streams} }

// changeStream changes the configuration of TASKS.
func (c *clients) changeStream(change func(*jetstream.StreamConfig)) {
	c.halt()
	s, err := c.js.Stream(c.ctx, "TASKS")
	c.must(err)
	cfg := s.CachedInfo().Config
	change(&cfg)
	_, err = c.js.UpdateStream(c.ctx, cfg)
	c.must(err)
}

// takes gives the stream other subjects.
func takes(subjects ...string) func(*jetstream.StreamConfig) {
	return func(c *jetstream.StreamConfig) { c.Subjects = subjects }
}

// changes are changes of a stream by an operator while it has messages.
var changes = []situation{{
	name: "the stream gives up the subject of a message that waits in it, and a worker does it",
	on:   changed("subject", ordinary),
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{})
		c.changeStream(takes("genbrain.agents.other.tasks.>"))
		c.works(time.Second)
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: all(isNot("removed"), findsNo(wrongs...)),
}, {
	name: "the stream gives up all subjects of the fleet, and a worker does one of two messages that wait in it",
	on:   changed("all subjects", ordinary),
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{task: "first"})
		c.publish(publish{})
		c.changeStream(takes("elsewhere.>"))
		c.works(time.Second)
		c.ack(c.pull(worker))
	},
	may:   all(is("published"), of("first", all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)))),
	never: all(isNot(append(done, "removed")...), of("first", isNot("removed"))),
}, {
	name: "the limit for a subject is lowered, and the stream removes the oldest",
	on:   changed("limit", ordinary),
	act: func(c *clients) {
		c.workers()
		c.publish(publish{task: "older"})
		c.publish(publish{})
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 1 })
	},
	may:   all(is("published"), of("older", all(is("removed"), noAttempt(0), says("limit")))),
	never: all(isNot("removed"), of("older", isNot(done...))),
}, {
	name: "the age is lowered, and the stream removes what is older",
	on:   changed("age", ordinary),
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.MaxAge, cfg.Duplicates = 2*time.Second, time.Second })
		c.works(3 * time.Second)
	},
	may:   all(is("removed"), noAttempt(0), says("age")),
	never: isNot(done...),
}, {
	name: "the age is lowered while a worker has the message",
	on:   changed("age", ordinary),
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.MaxAge, cfg.Duplicates = 2*time.Second, time.Second })
		c.works(3 * time.Second)
	},
	may:   all(is("outcome_unknown"), attempts(0, 1, 1), says("its age", "the max_age")),
	never: isNot(append(done, "removed")...),
}, {
	name: "the stream republishes no longer, and a task is published and done",
	on:   changed("republish", ordinary),
	act: func(c *clients) {
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.RePublish = nil })
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("outcome_unknown"), gapSays("publish lines of TASKS were lost")),
	never: isNot("removed"),
}, {
	name: "a stream that kept its messages keeps them only as long as somebody wants them",
	on:   changed("retention", limits),
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{})
		c.ack(c.pull(worker))
		c.publish(publish{task: "next"})
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.Retention = jetstream.InterestPolicy })
		c.works(time.Second)
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), of("next", is("completed")), findsNo(wrongs...)),
	never: all(isNot("removed"), of("next", isNot("removed")), findsNo(wrongs...)),
}, {
	name: "a consumer is given other subjects while its worker has a message",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.heartbeat(m)
		c.workers(func(cfg *jetstream.ConsumerConfig) { cfg.FilterSubject = "genbrain.agents." + c.agent + ".tasks.other" })
		c.works(time.Second)
		c.ack(m)
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "a consumer is given other subjects while its worker has a message, and nobody answers",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second))
		c.pull(worker)
		worker = c.workers(wait(time.Second), func(cfg *jetstream.ConsumerConfig) { cfg.FilterSubject = "genbrain.agents." + c.agent + ".tasks.other" })
		c.works(2 * time.Second)
		c.ack(c.pull(worker)) // The broker delivers again what it delivered before, whatever the filter is now.
	},
	may:   all(is("completed"), attempts(0, 2, 2), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}}
