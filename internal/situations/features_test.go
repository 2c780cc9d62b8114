//go:build linux

package situations

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// batchQuickly publishes tasks in a fast batch: the reply subjects say which message of it each one is.
func (c *clients) batchQuickly(tasks ...string) {
	inbox := c.nc.NewInbox()
	answers, err := c.nc.SubscribeSync(inbox + ".>")
	c.must(err)
	for i, task := range tasks {
		op := 1
		switch i {
		case 0:
			op = 0
		case len(tasks) - 1:
			op = 2
		}
		m := c.message(publish{task: task})
		m.Reply = fmt.Sprintf("%s.batch.10.fail.%d.%d.$FI", inbox, i+1, op)
		c.must(c.nc.PublishMsg(m))
	}
	for {
		m, err := answers.NextMsg(patience)
		c.must(err)
		if text := string(m.Data); strings.Contains(text, `"error"`) {
			c.must(errors.New(text))
		} else if strings.Contains(text, `"seq"`) && strings.Contains(text, `"stream"`) {
			return
		}
	}
}

// scheduling is for rows that publish schedules, on a subject that no consumer takes.
func scheduling(of string) land {
	return land{name: of, streams: []jetstream.StreamConfig{{
		Name: "TASKS", Subjects: []string{allTasks, "genbrain.schedules.>"}, Retention: jetstream.WorkQueuePolicy, AllowMsgSchedules: true, AllowDirect: true,
	}}}
}

// schedule has the broker publish a task when a pattern says it.
func (c *clients) schedule(task, pattern string) {
	m := c.message(publish{task: task, header: nats.Header{"Nats-Schedule": {pattern}, "Nats-Schedule-Target": {"genbrain.agents." + c.agent + ".tasks.work"}}})
	m.Subject = "genbrain.schedules." + c.agent
	_, err := c.js.PublishMsg(c.ctx, m)
	c.must(err)
}

// features are what newer brokers do for a stream or a consumer, and the contract does not speak of.
var features = []situation{{
	name:  "a task is a counter",
	since: 12,
	on: tasksWith("counters", func(c *jetstream.StreamConfig) {
		c.Retention, c.AllowMsgCounter = jetstream.LimitsPolicy, true
	}),
	act: func(c *clients) {
		c.publish(publish{bare: true, header: nats.Header{"Nats-Incr": {"1"}}})
		c.ack(c.pull(c.workers()))
		c.publish(publish{task: "waits", kind: "other", bare: true, header: nats.Header{"Nats-Incr": {"1"}}})
	},
	may:   all(is("completed"), findsNo(wrongs...), gapSays("are not captured"), of("waits", all(is("published"), gapSays("are not captured")))),
	never: silent("publish it again"),
}, {
	name:  "a task is scheduled, and done when it is due",
	since: 12,
	on:    scheduling("schedules"),
	act: func(c *clients) {
		worker := c.workers()
		c.schedule("", "@at "+time.Now().Add(8*time.Second).UTC().Format(time.RFC3339))
		fired := c.pull(worker)
		c.seen() // What capture does not see is read while it is in the stream.
		c.ack(fired)
	},
	mode:   live, // Afterwards nothing is left of either, but a gap.
	may:    all(is("completed", "removed", "outcome_unknown"), either(gapSays("schedules and what they publish"), gapSays("Nats-Schedule"))),
	never:  silent("publish it again", "by an operator."),
	settle: 14 * time.Second,
}, {
	name:  "a task that is scheduled is not due yet",
	since: 12,
	on:    scheduling("schedules that wait"),
	act: func(c *clients) {
		c.workers()
		c.schedule("", "@at "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	},
	may:    all(is("published"), says("It is scheduled"), says("The broker publishes it to genbrain.agents."), findsNo("orphaned")),
	never:  all(silent("publish it again", "nothing was stored", "Nothing will happen"), isNot("completed", "removed", "exhausted")),
	settle: 14 * time.Second,
}, {
	name:  "a task that is scheduled again and again is not due yet",
	since: 14, // Before, a schedule is published once.
	on:    scheduling("schedules that repeat"),
	act: func(c *clients) {
		c.workers()
		c.schedule("", "@every 1h")
	},
	may:    all(is("published"), says("It is scheduled"), says("again and again (@every 1h)"), findsNo("orphaned")),
	never:  all(silent("publish it again", "nothing was stored", "Nothing will happen"), isNot("completed", "removed", "exhausted")),
	settle: 14 * time.Second,
}, {
	name: "the broker leaves a marker where a task was too old",
	on: tasksWith("markers", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.Duplicates, c.AllowMsgTTL, c.SubjectDeleteMarkerTTL = 3*time.Second, time.Second, true, time.Hour
	}),
	act: func(c *clients) {
		worker := c.workers()
		zero := c.publish(publish{})
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.ack(c.pull(worker)) // The marker is a message like another.
	},
	may:    all(is("removed"), noAttempt(0)),
	never:  all(isNot("completed", "exhausted"), silent("by an operator.")),
	settle: 14 * time.Second,
}, {
	name: "the client to which a consumer is pinned dies",
	act: func(c *clients) {
		c.publish(publish{})
		consumer := c.workers(wait(2*time.Second), func(cfg *jetstream.ConsumerConfig) {
			cfg.PriorityPolicy, cfg.PriorityGroups, cfg.PinnedTTL = jetstream.PriorityPolicyPinned, []string{"g"}, time.Second
		})
		c.heartbeat(c.pull(consumer, inGroup()))
		c.works(4 * time.Second)
		other, err := c.js.Consumer(c.ctx, "TASKS", c.agent+"-task-worker")
		c.must(err)
		c.ack(c.pull(other, inGroup()))
	},
	may:   all(is("completed"), attempts(0, 2, 2), findsNo(wrongs...)),
	never: isNot("exhausted"),
}, {
	name:  "a consumer prefers some of its clients",
	since: 12,
	act: func(c *clients) {
		c.publish(publish{})
		consumer := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.PriorityPolicy, cfg.PriorityGroups = jetstream.PriorityPolicyPrioritized, []string{"g"}
		})
		c.ack(c.pull(consumer, inGroup()))
	},
	may: all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
}, {
	name: "two tasks are published in one fast batch",
	on:   tasksWith("fast batches", func(c *jetstream.StreamConfig) { c.AllowBatchPublish = true }),
	act: func(c *clients) {
		c.batchQuickly("", "b")
		c.ack(c.pull(c.workers()))
	},
	may:    all(is("completed"), of("b", is("published"))),
	never:  silent("publish it again"),
	settle: 14 * time.Second,
}, {
	name: "an acknowledgement is one of all before it",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.publish(publish{task: "b"})
		consumer := c.workers(atOnce(2), wait(2*time.Second), func(cfg *jetstream.ConsumerConfig) { cfg.AckPolicy = jetstream.AckAllPolicy })
		c.pull(consumer)
		c.ack(c.pull(consumer))
		c.works(3 * time.Second)
	},
	may:    all(isNot("exhausted", "failed"), silent("due since", "next free worker"), of("b", is("completed"))),
	settle: 14 * time.Second,
}, {
	name: "an acknowledgement of all before it comes after one of a later delivery",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.publish(publish{task: "b"})
		consumer := c.workers(atOnce(2), wait(2*time.Second), func(cfg *jetstream.ConsumerConfig) { cfg.AckPolicy = jetstream.AckAllPolicy })
		c.pull(consumer)
		b := c.pull(consumer)
		c.works(time.Second)
		c.heartbeat(b)
		c.ack(c.pull(consumer)) // The first one again, as the consumer's third delivery.
		c.ack(b)                // The broker takes no notice.
	},
	may:    all(is("completed"), of("b", isNot("completed"))),
	never:  of("b", isNot("completed")),
	settle: 14 * time.Second,
}, {
	name: "a consumer asks for no answers",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		consumer := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.AckPolicy, cfg.AckWait, cfg.MaxAckPending, cfg.MaxDeliver = jetstream.AckNonePolicy, 0, 0, -1
		})
		c.pull(consumer)
	},
	may:    all(isNot("exhausted", "failed", "published"), silent("due since", "next free worker")),
	never:  isNot("exhausted", "failed"),
	settle: 14 * time.Second,
}, {
	name: "a consumer asks for no answers, and its worker records and reports what it did",
	on:   limits,
	act: func(c *clients) {
		consumer := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.AckPolicy, cfg.AckWait, cfg.MaxAckPending, cfg.MaxDeliver = jetstream.AckNonePolicy, 0, 0, -1
		})
		for _, task := range []string{"", "named", "reported"} {
			l := c.publish(publish{task: task})
			c.pull(consumer)
			switch task {
			case "":
				c.record(task, nil)
			case "named":
				c.record(task, map[string]any{"natsStreamSeq": l.seq})
			default:
				c.report(c.agent, "claimed", task, nil)
				c.report(c.agent, "completed", task, nil)
			}
		}
	},
	may:    all(is("completed"), silent("delivered again", "redelivery", "may run it again"), of("named", is("completed")), of("reported", is("completed")), findsNo(wrongs...)),
	settle: 14 * time.Second,
}, {
	name:  "a stream of tasks gathers from another stream too",
	since: 15, // Before, what it gathers is captured.
	on:    gathering,
	act: func(c *clients) {
		worker := c.workers()
		m := c.message(publish{})
		m.Subject = "inbox." + c.agent
		_, err := c.js.PublishMsg(c.ctx, m)
		c.must(err)
		first := c.pull(worker)
		c.until("fleetglass reads it from the stream", func() bool { // It does so only while the message is there.
			var read seen
			return c.glass.ask(c.ctx, "/api/v1/tasks/"+c.task(""), &read) == nil
		})
		c.ack(first)
		m = c.message(publish{task: "waits"})
		m.Subject = "inbox." + c.agent
		_, err = c.js.PublishMsg(c.ctx, m)
		c.must(err)
	},
	mode:   live,
	may:    all(is("completed"), findsNo(wrongs...), gapSays("gathers"), of("waits", is("published"))),
	never:  silent("publish it again"),
	settle: 14 * time.Second,
}, {
	name:  "an agent says of its message that a stream of tasks gathered it, and the stream refuses it",
	since: 15, // Before, it is stored, and taken for a copy.
	on:    gathering,
	act: func(c *clients) {
		_, err := c.tryPublish(publish{task: "copy", header: nats.Header{"Nats-Stream-Source": {"TASKS 1 > > genbrain.agents." + c.agent + ".tasks.work"}}})
		if err == nil {
			c.must(errors.New("the stream stored what says that it was gathered"))
		}
		c.publish(publish{})
	},
	may:   all(is("published"), findsNo(wrongs...), of("copy", isNot("published"))),
	never: of("copy", isNot("published", "completed")),
}, {
	name:  "a mirror of a work queue takes what nobody else takes by a durable consumer",
	since: 15,
	on:    tasksWith("a durable source", func(*jetstream.StreamConfig) {}),
	act: func(c *clients) {
		c.copier("TASKS", "archiver")
		c.api("STREAM.CREATE.ARCHIVE", `{"name":"ARCHIVE","storage":"file","mirror":{"name":"TASKS","consumer":{"name":"archiver","deliver_subject":"archive.TASKS"}}}`)
		l := c.publish(publish{})
		c.until("the message leaves", func() bool { return !c.there(l) })
	},
	may:    all(is("outcome_unknown"), noAttempt(0)), // A worker of the mirror may do it.
	never:  all(isNot("removed"), isNot(done...), silent("by an operator", "archiver")),
	settle: 14 * time.Second,
}, {
	name:  "limits retention: a stream gathers tasks by a durable consumer, and their worker completes one",
	since: 15,
	on: tasksWith("a durable source of a stream that keeps its messages", func(c *jetstream.StreamConfig) {
		c.Retention = jetstream.LimitsPolicy
	}),
	act: func(c *clients) {
		c.copier("TASKS", "archiver")
		c.api("STREAM.CREATE.ARCHIVE", `{"name":"ARCHIVE","storage":"file","sources":[{"name":"TASKS","consumer":{"name":"archiver","deliver_subject":"archive.TASKS"}}]}`)
		worker := c.workers()
		l := c.publish(publish{})
		c.publish(publish{task: "waits"})
		c.until("both are gathered", func() bool {
			s, err := c.js.Stream(c.ctx, "ARCHIVE")
			c.must(err)
			return s.CachedInfo().State.Msgs == 2
		})
		m := c.pull(worker)
		c.record("", said(l))
		c.ack(m)
	},
	may:   all(is("completed"), messageIs(0, "completed"), oneMessage, findsNo(wrongs...), silent("archiver"), of("waits", all(is("published"), oneMessage))),
	never: all(isNot("removed", "outcome_unknown"), silent("archiver", "publish it again")),
}}

// copier makes a consumer by which the broker copies a stream: what it delivers is stored elsewhere, and acknowledged by the answers to its flow control.
func (c *clients) copier(stream, name string) {
	c.api("CONSUMER.DURABLE.CREATE."+stream+"."+name, `{"stream_name":%q,"config":{"durable_name":%q,"deliver_subject":"archive.%s","ack_policy":"flow_control","flow_control":true,"idle_heartbeat":1000000000,"max_ack_pending":100,"max_deliver":-1}}`,
		stream, name, stream)
}

// gathering is a stream of tasks that has a source beside its own subjects.
var gathering = land{name: "a stream with sources", streams: []jetstream.StreamConfig{
	{Name: "INBOX", Subjects: []string{"inbox.>"}, AllowDirect: true},
	{Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, AllowDirect: true, Sources: []*jetstream.StreamSource{{
		Name: "INBOX", SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: "inbox.*", Destination: "genbrain.agents.{{wildcard(1)}}.tasks.work"}},
	}}},
}}
