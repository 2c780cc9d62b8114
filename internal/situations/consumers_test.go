//go:build linux

package situations

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// auditor is a consumer that only watches.
func auditor(agent string) jetstream.ConsumerConfig {
	cfg := worker(agent)
	cfg.Durable = agent + "-auditor"
	return cfg
}

// handler is a worker's consumer of a name that the contract does not know.
func handler(agent string) jetstream.ConsumerConfig {
	cfg := worker(agent)
	cfg.Durable = agent + "-handler"
	return cfg
}

// wrongs are the anomalies that healthy workers must not be accused of.
var wrongs = []string{"late_ack", "ack_refuted", "clock_skew", "vanished"}

// noConsumer are ways to say that nobody delivers it until a consumer exists.
var noConsumer = []string{"no consumer", "until a consumer", "consumer is gone", "consumer exists"}

// consumers are streams of every retention, several consumers of one subject, and consumers that come, go and change.
var consumers = []situation{{
	name: "limits retention keeps the message after its worker acknowledged",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), findsNo(wrongs...)),
	never: findsNo("ack_refuted"),
}, {
	name: "limits retention: an auditor acknowledges before the worker has the message",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.workers()
		c.ack(c.pull(c.consumer(auditor(c.agent))))
	},
	may:   all(is("published"), watchedBy(0, "-auditor")),
	never: all(isNot(done...), findsNo("ack_refuted")),
}, {
	name: "limits retention: worker and auditor both acknowledge",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.ack(c.pull(c.consumer(auditor(c.agent))))
		c.works(time.Second)
		c.ack(m)
	},
	may:   all(is("completed"), findsNo(wrongs...), attempts(0, 1, 1)),
	never: findsNo(wrongs...),
}, {
	name: "limits retention: the worker gives up, and an auditor acknowledged",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.consumer(auditor(c.agent))))
		c.term(c.pull(c.workers()), "token_budget_exceeded: 50,000 output tokens")
	},
	may:   all(is("terminated"), ended("terminated"), watchedBy(0, "-auditor"), pageSays("token_budget_exceeded: 50,000 output tokens")),
	never: all(isNot(append(done, "exhausted")...), isNotOnceStored("outcome_unknown")),
}, {
	name: "limits retention: no consumer is named as a worker's",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.consumer(handler(c.agent))))
	},
	may:   all(is("published"), says("cannot be judged"), readyzSays("-handler takes: those tasks cannot be judged"), pageSays("Some tasks cannot be judged.")),
	never: all(isNot(done...), findsNo("ack_refuted", "orphaned")),
}, {
	name: "limits retention: the stream of tasks takes dead-letter entries too",
	on: land{name: "tasks and entries", partly: true, streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks, "genbrain.dlq.>"}, Retention: jetstream.LimitsPolicy, AllowDirect: true,
	}}},
	act: func(c *clients) {
		c.publish(publish{task: "done"})
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("published"), of("done", is("completed"))),
	never: all(unwatched(0), noAttempt(0), of("done", unwatched(0))),
}, {
	name: "limits retention: the workers' consumers have another name",
	on:   handlers,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.consumer(auditor(c.agent))))
		c.works(time.Second)
		c.ack(c.pull(c.consumer(handler(c.agent))))
	},
	may:   all(is("completed"), findsNo(wrongs...), attempts(0, 1, 1)),
	never: findsNo(wrongs...),
}, {
	name: "interest retention: the message stays until the auditor acknowledges too",
	on:   interest,
	act: func(c *clients) {
		worker, audit := c.workers(), c.consumer(auditor(c.agent))
		c.publish(publish{})
		c.ack(c.pull(worker))
		c.works(3 * time.Second)
		c.ack(c.pull(audit))
	},
	may:   all(is("completed"), findsNo(wrongs...)),
	never: findsNo("ack_refuted"),
}, {
	name: "interest retention: the auditor acknowledged, and the worker has not begun",
	on:   interest,
	act: func(c *clients) {
		c.workers()
		audit := c.consumer(auditor(c.agent))
		c.publish(publish{})
		c.ack(c.pull(audit))
	},
	may:   is("published"),
	never: isNot(done...),
}, {
	name: "interest retention: nobody takes what is published",
	on:   interest,
	act: func(c *clients) {
		_, err := c.tryPublish(publish{})
		c.must(err)
	},
	may:   all(is("outcome_unknown"), says("no consumer was seen to take its subject")),
	never: all(isNot("completed", "removed"), silent("publish it again")),
}, {
	name: "interest retention: the last consumer is deleted with work in hand",
	on:   interest,
	act: func(c *clients) {
		worker := c.workers(wait(10 * time.Minute))
		c.publish(publish{})
		c.heartbeat(c.pull(worker))
		c.deleteConsumer()
	},
	may:   all(is("outcome_unknown"), attempts(0, 1, 1), says("with the last consumer that took it", "or lost interest"), silent("gave it up")),
	never: isNot(append(done, "removed")...),
}, {
	name: "interest retention: the only consumer awaits no answers",
	on:   interest,
	act: func(c *clients) {
		worker := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.AckPolicy, cfg.AckWait, cfg.MaxAckPending, cfg.MaxDeliver = jetstream.AckNonePolicy, 0, 0, -1
		})
		l := c.publish(publish{})
		c.pull(worker)
		c.until("the message leaves", func() bool { return !c.there(l) })
	},
	may:   all(is("outcome_unknown"), says("awaits no answers"), silent("without a delivery being seen")),
	never: isNot(append(done, "removed", "exhausted", "failed")...),
}, {
	name: "interest retention: the last consumer is deleted before any delivery",
	on:   interest,
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.deleteConsumer()
	},
	may:   all(is("outcome_unknown", "removed"), noAttempt(0), says("with the last consumer that took it")),
	never: all(isNot(done...), noAttempt(0)),
}, {
	name: "a consumer is deleted and created again with work in hand",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		m := c.pull(c.workers())
		c.heartbeat(m)
		c.works(500 * time.Millisecond)
		c.ack(m)
	},
	may:   all(is("completed"), findsNo(wrongs...), withinLife, attempts(0, 2, 1), current(1)),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted"), withinLife),
}, {
	name: "a consumer is created again, and the next one's worker ends the message before anybody looks",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), findsNo(wrongs...), withinLife, attempts(0, 2, 1), ended("timed_out", "acked"), current(1)),
	never: all(findsNo(wrongs...), isNot("exhausted", "failed"), withinLife),
}, {
	name: "a consumer is created again, and the next one's worker gives the message up before anybody looks",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		c.term(c.pull(c.workers()), "impossible_task")
	},
	may:   all(is("terminated", "dead_lettered"), findsNo(wrongs...), attempts(0, 2, 1), ended("timed_out", "terminated"), current(1)),
	never: all(isNot("completed", "exhausted", "failed")),
}, {
	name: "limits retention: an acknowledged message is given again by its consumer, which was created again",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		c.heartbeat(c.pull(c.workers(wait(10 * time.Minute))))
	},
	may: all(is("processing"), attempts(0, 2, 1), either(ended("acked", "open"), ended("timed_out", "open"))), // Afterwards nothing proves that the first answer had effect.
}, {
	name: "limits retention: an acknowledged message is given again, and nobody answers the last attempt",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
		c.seen() // Of the first answer, that it had effect.
		c.deleteConsumer()
		c.pull(c.workers(wait(time.Second), atMost(1)))
		c.works(2 * time.Second)
	},
	mode:  live, // Afterwards nothing proves that the first answer had effect.
	may:   all(is("completed"), ended("acked", "timed_out")),
	never: isNot("exhausted", "failed"),
}, {
	name: "a consumer is created again and its worker takes as long as before",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(atMost(1))))
		c.works(300 * time.Millisecond)
		c.deleteConsumer()
		c.heartbeat(c.pull(c.workers(atMost(1))))
	},
	may:   all(is("delivered", "processing"), findsNo(wrongs...), withinLife, attempts(0, 2, 1), current(1), ended("timed_out", "open")),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted"), withinLife),
}, {
	name: "a consumer is deleted with work in hand, and its worker acknowledges later",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.heartbeat(m)
		c.deleteConsumer()
		c.works(2 * time.Second)
		c.ack(m)
	},
	may:   all(isNot(done...), silent("the broker delivers it again"), says(noConsumer...)),
	never: all(isNot(done...), neverStale("expiring")),
}, {
	name: "a consumer is deleted with work in hand",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.deleteConsumer()
	},
	may:   all(silent("the broker delivers it again", "next free worker"), says(noConsumer...)),
	never: neverStale("expiring"),
}, {
	name: "more attempts are allowed after the last one ran out",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(2))
		c.pull(worker)
		c.pull(worker)
		c.works(3 * time.Second)
		c.workers(wait(time.Second), atMost(5))
	},
	may: all(is("failed"), silent("no attempt is left")),
}, {
	name: "more attempts are allowed, and the next one runs",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(2))
		c.pull(worker)
		c.pull(worker)
		c.works(3 * time.Second)
		c.heartbeat(c.pull(c.workers(wait(10*time.Minute), atMost(5))))
	},
	may: all(is("redelivered"), attempts(0, 3, 3), silent("no attempt is left")),
}, {
	name: "an attempt gets more time while it is in hand",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(2 * time.Second)))
		c.workers(wait(10 * time.Minute))
		c.heartbeat(m)
	},
	may:   all(is("processing"), neverStale("stale", "presumed_dead")),
	never: all(isNot("failed"), neverStale("stale", "presumed_dead")),
}, {
	name: "an attempt gets less time while it is in hand",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(wait(10 * time.Minute)))
		c.works(time.Second)
		worker := c.workers(wait(2 * time.Second))
		again := c.pull(worker)
		c.workers(wait(10 * time.Minute))
		c.heartbeat(again)
	},
	may:   all(is("redelivered"), attempts(0, 2, 2), bound, findsNo(wrongs...)),
	never: isNot("exhausted", "completed"),
}, {
	name: "the backoff is changed while an attempt is in hand",
	act: func(c *clients) {
		c.publish(publish{})
		backoff := func(steps ...time.Duration) func(*jetstream.ConsumerConfig) {
			return func(cfg *jetstream.ConsumerConfig) { cfg.BackOff = steps }
		}
		c.pull(c.workers(backoff(10*time.Minute, 11*time.Minute)))
		c.works(time.Second)
		c.heartbeat(c.pull(c.workers(backoff(2*time.Second, 10*time.Minute))))
	},
	may:   all(is("redelivered"), attempts(0, 2, 2), bound, findsNo(wrongs...)),
	never: isNot("exhausted", "completed"),
}, {
	name: "fewer attempts are allowed while the second of five is in hand",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(2*time.Second), atMost(5))
		c.pull(worker)
		c.heartbeat(c.pull(worker))
		c.workers(wait(2*time.Second), atMost(2))
		c.works(4 * time.Second)
	},
	may:   all(is("exhausted"), attempts(0, 2, 2), silent("of 5", "delivers it again")),
	never: isNot("completed", "removed"),
}, {
	name: "fewer attempts are allowed, each with more time, just after the second of three began",
	mode: live,
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(2*time.Second), atMost(3), atOnce(2))
		c.pull(worker)
		c.seen()
		c.pull(worker)
		c.workers(wait(10*time.Minute), atMost(1), atOnce(2))
	},
	may:   all(is("redelivered"), attempts(0, 2, 2), bound),
	never: isNot("completed", "removed", "exhausted"),
}, {
	name: "a consumer is paused",
	act: func(c *clients) {
		c.workers()
		_, err := c.js.PauseConsumer(c.ctx, "TASKS", c.agent+"-task-worker", time.Date(2099, 12, 31, 8, 0, 0, 0, time.UTC))
		c.must(err)
		c.seen()
		c.publish(publish{})
	},
	may:   all(is("published"), says("its consumer is paused"), says("2099-12-31 08:00:00")),
	never: known(0, silent("next free worker", "it waits for a worker")),
}, {
	name: "a worker is busy with all that it may hold",
	act: func(c *clients) {
		c.publish(publish{task: "before"})
		c.heartbeat(c.pull(c.workers()))
		c.seen()
		c.publish(publish{})
	},
	may:   all(is("published"), says("its worker is busy"), func(s story) error { return says(s.tasks["before"].TaskID)(s) }),
	never: known(0, silent("next free worker", "it waits for a worker")),
}, {
	name:  "a publish is swallowed because another task used its message id",
	since: 14, // Before, OBS_RAW leaves the second publish out.
	act: func(c *clients) {
		c.publish(publish{task: "owner", id: c.agent + "-shared"})
		ack, err := c.tryPublish(publish{id: c.agent + "-shared"})
		c.must(err)
		if !ack.Duplicate {
			c.until("the stream swallows the second publish", func() bool { return false })
		}
	},
	may: all(says("caught"), func(s story) error { return says(s.tasks["owner"].TaskID)(s) },
		of("owner", is("published"))),
	never:  silent("publish it again"),
	settle: 14 * time.Second,
}, {
	name: "the task is stored in another stream over the fleet's subjects",
	on:   vip,
	act: func(c *clients) {
		l := c.publish(publish{agent: "vip", kind: "own"})
		cfg := worker("vip")
		cfg.FilterSubject = "genbrain.agents.vip.tasks.own" // Other rows publish for the same agent.
		m := c.pull(c.consumerOn("TASKS_VIP", cfg))
		c.record("", said(l))
		c.ack(m)
	},
	may:    all(is("completed"), messageIs(0, "completed")),
	never:  all(silent("publish it again", "nothing was stored"), findsNo("not_stored")),
	settle: 14 * time.Second,
}, {
	name:  "a mirror of a stream of tasks is captured too",
	since: 14, // Before, a mirror is a consumer of a work queue, which may have one only.
	on:    vip,
	act: func(c *clients) {
		cfg := jetstream.StreamConfig{Name: "VIP_MIRROR", Mirror: &jetstream.StreamSource{Name: "TASKS_VIP"},
			RePublish: &jetstream.RePublish{Source: allTasks, Destination: "obs.pub.{{wildcard(1)}}.>"}}
		_, err := c.js.CreateStream(c.ctx, cfg)
		c.must(err)
		waits := worker("vip-mirrored")
		waits.FilterSubject = "genbrain.agents.vip.tasks.mirrored"
		c.consumerOn("TASKS_VIP", waits) // What nobody else takes leaves a work queue with its copy.
		l := c.publish(publish{agent: "vip", kind: "mirrored"})
		c.until("the mirror has the message", func() bool {
			s, err := c.js.Stream(c.ctx, cfg.Name)
			c.must(err)
			return s.CachedInfo().State.LastSeq >= l.seq
		})
	},
	may:   all(is("published"), oneMessage),
	never: oneMessage,
}, {
	name: "a mirror of a work queue takes what nobody else takes",
	on:   vip,
	act: func(c *clients) {
		_, err := c.js.CreateStream(c.ctx, jetstream.StreamConfig{Name: "VIP_ARCHIVE", Mirror: &jetstream.StreamSource{Name: "TASKS_VIP"}})
		c.must(err)
		l := c.publish(publish{agent: "vip", kind: "archived"})
		c.until("the message leaves", func() bool { return !c.there(l) })
	},
	may:    all(is("outcome_unknown"), noAttempt(0)), // A worker of the mirror may do it.
	never:  all(isNot("removed"), isNot(done...), silent("by an operator")),
	settle: 14 * time.Second,
}, {
	name: "a stream of tasks appears that nobody captures",
	on:   vip,
	act: func(c *clients) {
		_, err := c.js.CreateStream(c.ctx, jetstream.StreamConfig{
			Name: "TASKS_LATE", Subjects: []string{"genbrain.agents." + c.agent + ".tasks.>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: true,
		})
		c.must(err)
		c.publish(publish{})
		c.publish(publish{task: "elsewhere", agent: "vip"})
	},
	may:    all(is("published"), blindTo("TASKS_LATE"), gapSays("nobody captures acknowledgements of stream TASKS_LATE"), of("elsewhere", noGap)),
	never:  all(silent("publish it again", "nothing was stored"), findsNo("not_stored")),
	settle: 14 * time.Second,
}, {
	name: "a stream takes a task, and is deleted before anybody looks",
	on: tasksWith("one agent's tasks", func(c *jetstream.StreamConfig) {
		c.Subjects, c.Duplicates = []string{"genbrain.agents.plain.tasks.>"}, 200*time.Millisecond // No message of before the capture can have its id.
	}),
	act: func(c *clients) {
		c.works(time.Second)
		_, err := c.js.CreateStream(c.ctx, jetstream.StreamConfig{
			Name: "TASKS_BRIEF", Subjects: []string{"genbrain.agents." + c.agent + ".tasks.>"}, Retention: jetstream.WorkQueuePolicy,
		})
		c.must(err)
		c.publish(publish{})
		c.must(c.js.DeleteStream(c.ctx, "TASKS_BRIEF"))
	},
	may:    is("outcome_unknown"),
	never:  silent("publish it again", "nothing was stored"),
	settle: 14 * time.Second,
}}
