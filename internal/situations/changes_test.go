//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// overlooked lets a consumer look past a message while it takes other subjects, and take its subject then.
func (c *clients) overlooked() {
	worker := c.workers(c.only("other"))
	c.publish(publish{})
	c.nothingFor(worker)
	c.workers()
}

// nothingFor lets a worker ask in vain.
func (c *clients) nothingFor(worker jetstream.Consumer) {
	if m := c.tryPull(worker, time.Second); m != nil {
		c.must(errors.New("its worker was given a message"))
	}
}

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

// republishes has the stream republish its messages of a subject; of none where that is empty.
func republishes(subject string) func(*jetstream.StreamConfig) {
	return func(c *jetstream.StreamConfig) {
		if c.RePublish = nil; subject != "" {
			c.RePublish = &jetstream.RePublish{Source: subject, Destination: "obs.pub.{{wildcard(1)}}.>"}
		}
	}
}

// unadvised holds while nobody is told to publish the task again.
func unadvised(s story) error { return silent("publish it again")(s) }

// only gives a consumer the agent's tasks of one kind.
func (c *clients) only(kind string) func(*jetstream.ConsumerConfig) {
	return func(cfg *jetstream.ConsumerConfig) {
		cfg.FilterSubject = "genbrain.agents." + c.agent + ".tasks." + kind
	}
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
	name: "the stream republishes nothing from the beginning, and its messages have left it before anybody looks",
	on:   changed("never republished", limits),
	act: func(c *clients) {
		c.changeStream(republishes(""))
		done, lost := c.publish(publish{task: "done"}), c.publish(publish{})
		c.works(time.Second)
		c.ack(c.pull(c.workers()))
		c.deleteMessage(done)
		c.deleteMessage(lost)
	},
	may:   all(isNot("completed"), unadvised, of("done", unadvised), gapSays("was not captured")),
	never: all(unadvised, of("done", unadvised)),
	mode:  afterwards,
}, {
	name: "the stream republishes nothing at first, and later again",
	on:   changed("republished later", limits),
	act: func(c *clients) {
		c.changeStream(republishes(""))
		lost := c.publish(publish{})
		c.works(time.Second)
		c.deleteMessage(lost)
		c.changeStream(republishes(allTasks))
		c.publish(publish{task: "later"})
	},
	may:   all(isNot("completed"), unadvised, of("later", is("published")), gapSays("was not captured")),
	never: unadvised,
	mode:  afterwards,
}, {
	name: "the stream republishes no longer, and a task is published and done",
	on:   changed("republish", ordinary),
	act: func(c *clients) {
		c.changeStream(republishes(""))
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
		c.workers(c.only("other"))
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
		worker = c.workers(wait(time.Second), c.only("other"))
		c.works(2 * time.Second)
		c.ack(c.pull(worker)) // The broker delivers again what it delivered before, whatever the filter is now.
	},
	may:   all(is("completed"), attempts(0, 2, 2), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "a consumer is given other subjects while its worker has a message, which waits for its answer as somebody looks for the first time",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(wait(10 * time.Minute)))
		c.workers(wait(10*time.Minute), c.only("other"))
	},
	may:   all(isNot(done...), says("may have been given it"), findsNo("orphaned"), findsNo(wrongs...)),
	never: all(isNot(done...), silent("nothing will happen"), findsNo(wrongs...)),
	mode:  afterwards,
}, {
	name: "a pool's consumer is given other subjects while its worker has a message, which waits for its answer as somebody looks for the first time",
	act: func(c *clients) {
		pool := func(change ...func(*jetstream.ConsumerConfig)) jetstream.Consumer {
			cfg := worker(c.agent)
			cfg.Durable, cfg.AckWait = c.agent+"-pool-task-worker", 10*time.Minute
			for _, f := range change {
				f(&cfg)
			}
			return c.consumer(cfg)
		}
		c.publish(publish{})
		c.pull(pool())
		pool(c.only("other"))
	},
	may:   all(isNot(done...), says("may have been given it"), findsNo(append(wrongs, "orphaned")...)),
	never: all(isNot(done...), silent("nothing will happen"), findsNo(wrongs...)),
	mode:  afterwards,
}, {
	name: "a consumer is given other subjects before anybody looks, and its worker has a message that becomes too old",
	on: tasksWith("an age of a quarter of a minute", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.Duplicates = 15*time.Second, time.Second
	}),
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(wait(10 * time.Minute)))
		c.workers(wait(10*time.Minute), c.only("other"))
	},
	may:    is("outcome_unknown"),
	never:  isNot(append(done, "removed")...),
	settle: 20 * time.Second,
}, {
	name: "a consumer is given other subjects just after its only attempt was used up",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(1))
		c.pull(worker)
		c.works(1500 * time.Millisecond)
		c.tryPull(worker, 200*time.Millisecond) // The broker says now that its attempts are used up.
		c.workers(wait(time.Second), atMost(1), c.only("other"))
	},
	may:   is("exhausted"),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "the stream gets an age, removes what is older, and loses the age again",
	on:   changed("age for a while", limits),
	act: func(c *clients) {
		c.workers()
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.MaxAge, cfg.Duplicates = 2*time.Second, time.Second })
		l := c.publish(publish{})
		c.until("the message is gone", func() bool { return !c.there(l) })
		c.changeStream(func(cfg *jetstream.StreamConfig) { cfg.MaxAge = 0 })
	},
	may:   all(is("removed"), noAttempt(0), says("by the max_age of the stream", "by an operator, a purge, a rollup, a limit")),
	never: all(isNot(done...), silent("by an operator, and no worker")),
}, {
	name: "a consumer is given the subject of a message that it is past, while its worker has another",
	act: func(c *clients) {
		worker := c.workers(c.only("work"), atOnce(2))
		c.publish(publish{task: "passed", kind: "other"})
		c.publish(publish{})
		m := c.pull(worker)
		c.seen() // What it took before it was looked at for the first time nothing tells.
		c.workers(c.only("other"), atOnce(2))
		c.works(3 * time.Second)
		c.ack(m)
	},
	may:   all(is("completed"), of("passed", all(is("published"), noAttempt(0)))),
	never: of("passed", all(isNot(done...), noAttempt(0))),
}, {
	name: "a consumer looks past a message while it takes other subjects",
	act: func(c *clients) {
		c.overlooked()
		c.nothingFor(c.workers())
	},
	may:    all(is("outcome_unknown"), noAttempt(0), says("nobody delivers it again"), findsNo(wrongs...)),
	never:  all(isNot("completed", "removed", "exhausted", "terminated"), noAttempt(0)),
	settle: 14 * time.Second, // It may be believed then.
}, {
	name:  "a consumer looks past a message while it takes other subjects, and delivers it once it is reset",
	since: resettable,
	act: func(c *clients) {
		c.overlooked()
		c.seen()
		c.resetConsumer(0)
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: isNot("removed", "exhausted", "terminated"),
}, {
	name: "a consumer looks past a message while it takes other subjects, and delivers it once it is created again",
	act: func(c *clients) {
		c.overlooked()
		c.seen()
		c.deleteConsumer()
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: isNot("removed", "exhausted", "terminated"),
}, {
	name: "a consumer looks past a message while it takes other subjects, and delivers it once its broker starts again",
	on:   forgetful("where it looked"),
	mode: live,
	act: func(c *clients) {
		c.overlooked()
		c.untilStateIs("", "outcome_unknown")
		c.meanwhile(c.memory.Restart)
		worker := c.workers()
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: isNot("removed", "exhausted", "terminated"),
}, {
	name: "a consumer that allows fewer attempts is given the subject of a message that another's worker had",
	act: func(c *clients) {
		spare := worker(c.agent)
		spare.Durable, spare.AckWait, spare.MaxDeliver = c.agent+"-spare-task-worker", time.Second, 1
		c.only("other")(&spare)
		c.consumer(spare)
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(c.only("work"), wait(3*time.Second))))
		c.deleteConsumer()
		c.only("work")(&spare)
		taken := c.consumer(spare)
		c.works(5 * time.Second)
		c.ack(c.pull(taken))
	},
	may:   all(is("completed"), findsNo(wrongs...)),
	never: all(isNot("exhausted", "terminated", "removed"), findsNo(wrongs...)),
}}
