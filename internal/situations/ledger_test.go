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

// ledger claims only what is proved.
var ledger = []situation{{
	name: "the second attempt acknowledges at once after a record of its key",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(18 * time.Second))
		c.pull(worker)
		c.works(14 * time.Second) // A quarter of it is at once, on a busy machine too.
		c.record("", said(zero))
		c.works(4500 * time.Millisecond)
		c.ack(c.pull(worker))
	},
	may: all(is("completed"), counts(layers{idempotency: 1})),
}, {
	name: "a heartbeat for another message comes between a record and its acknowledgement",
	act: func(c *clients) {
		worker := c.workers(wait(10*time.Second), atOnce(3))
		zero := c.publish(publish{})
		c.term(c.pull(worker), "schema invalid")
		c.publish(publish{task: "other"})
		other := c.pull(worker)
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		m := c.pull(worker)
		c.works(600 * time.Millisecond)
		c.record("", said(one))
		c.works(20 * time.Millisecond)
		c.heartbeat(other) // The broker notes it as the time of its consumer's last delivery.
		c.ack(m)
	},
	may:   all(messageIs(1, "completed"), counts(layers{})),
	never: countsAtMost(layers{}),
}, {
	name: "another message's attempts are used up between a record and its acknowledgement",
	act: func(c *clients) {
		worker := c.workers(wait(1500*time.Millisecond), atOnce(3), atMost(1))
		zero := c.publish(publish{})
		c.term(c.pull(worker), "schema invalid")
		c.publish(publish{task: "other"})
		c.pull(worker)
		c.works(900 * time.Millisecond)
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		m := c.pull(worker)
		c.works(300 * time.Millisecond)
		c.record("", said(one))
		c.works(450 * time.Millisecond) // The other one is dropped meanwhile, which the broker notes likewise.
		c.ack(m)
	},
	may:   all(messageIs(1, "completed"), counts(layers{})),
	never: countsAtMost(layers{}),
}, {
	name: "the first attempt is handed back after the second one recorded, and the second one acknowledges",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(4 * time.Second))
		zombie := c.pull(worker)
		c.works(4200 * time.Millisecond)
		m := c.pull(worker)
		c.works(300 * time.Millisecond)
		c.record("", said(zero))
		c.works(2500 * time.Millisecond)
		c.answer(zombie, "-NAK")
		c.ack(m)
		c.publish(publish{task: "later"}) // So that the broker has forgotten when it delivered that attempt.
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), countsAtMost(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "both attempts run at once, and there is one record",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(1500 * time.Millisecond))
		zombie := c.pull(worker)
		c.works(1700 * time.Millisecond)
		m := c.pull(worker)
		c.heartbeat(m)
		c.heartbeat(zombie)
		c.works(500 * time.Millisecond)
		c.record("", said(zero))
		c.works(300 * time.Millisecond)
		c.ack(m)
	},
	may: all(is("completed"), counts(layers{unknown: 1}), caughtBecause("at work at once")),
	never: all(countsAtMost(layers{unknown: 1}), func(s story) error {
		if t := s.told(); t != nil {
			for _, a := range t.Anomalies {
				if a.Code == "duplicate_unknown" && strings.Contains(a.Meaning, "after completion") {
					return errors.New("it is said to be delivered again after completion: " + a.Meaning)
				}
			}
		}
		return nil
	}),
}, {
	name: "both attempts run at once, and the first one acknowledges",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(1500 * time.Millisecond))
		zombie := c.pull(worker)
		c.works(1700 * time.Millisecond)
		c.heartbeat(c.pull(worker))
		c.works(500 * time.Millisecond)
		c.record("", said(zero))
		c.ack(zombie)
	},
	may:   all(is("completed"), counts(layers{unknown: 1}), caughtBecause("at work at once")),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "both attempts run at once, and both record in one millisecond",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(1500 * time.Millisecond))
		first := c.pull(worker)
		c.works(1700 * time.Millisecond)
		second := c.pull(worker)
		c.works(500 * time.Millisecond)
		moment := time.Now().UnixMilli()
		c.record("", map[string]any{"natsStreamSeq": zero.seq, "completedAt": moment})
		c.record("", map[string]any{"natsStreamSeq": zero.seq, "completedAt": moment, "resultSummary": "done too"})
		c.ack(second)
		c.ack(first)
	},
	may:   all(is("completed"), counts(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "the second attempt takes as long as the first and acknowledges without a heartbeat",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(1500 * time.Millisecond))
		c.pull(worker)
		c.works(time.Second)
		c.record("", said(zero))
		c.works(time.Second)
		m := c.pull(worker)
		c.works(time.Second)
		c.ack(m)
	},
	may:   all(is("completed"), counts(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "a record is only refreshed",
	act: func(c *clients) {
		zero := c.publish(publish{})
		m := c.pull(c.workers())
		c.record("", said(zero))
		c.ack(m)
		c.works(time.Second)
		c.record("", said(zero))
	},
	may:   all(is("completed"), countsAtMost(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "a message id comes again after the duplicate window, and the worker skips the work in silence",
	on:   narrow,
	act: func(c *clients) {
		c.letOthersBegin()
		worker := c.workers()
		zero := c.publish(publish{})
		m := c.pull(worker)
		c.heartbeat(m)           // So that it is seen when it began.
		c.works(3 * time.Second) // Skipping it takes a small part of that, however busy the machine is.
		c.record("", said(zero))
		c.report(c.agent, "completed", "", map[string]any{"message_id": c.task(""), "status": "completed", "attempt": 1})
		c.ack(m)
		c.works(time.Second)
		c.skips(worker, publish{})
	},
	may:   all(is("completed"), counts(layers{idempotency: 1})),
	never: countsAtMost(layers{idempotency: 1, unknown: 1}),
}, {
	name: "a retry of a key is acknowledged at once, and the only record is of a version that nobody published",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers()
		m := c.pull(worker)
		c.works(time.Second)
		c.record("", map[string]any{"idempotencyKey": c.task("") + "-99", "natsStreamSeq": zero.seq})
		c.ack(m)
		c.works(time.Second)
		c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), counts(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "a record is deleted, and a retry of its key is acknowledged at once",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers()
		m := c.pull(worker)
		c.works(time.Second)
		c.record("", said(zero))
		c.ack(m)
		c.works(500 * time.Millisecond)
		c.unrecord("")
		c.works(500 * time.Millisecond)
		c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), counts(layers{unknown: 1})),
	never: countsAtMost(layers{unknown: 1}),
}, {
	name: "a record is deleted while a worker has its message",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers())
		c.record("", said(zero))
		c.works(500 * time.Millisecond)
		c.unrecord("")
	},
	may:   all(is("completing"), says("that record is gone", "may run it again"), silent("skip the work")),
	never: countsAtMost(layers{}),
}, {
	name: "a record is deleted while a worker has its message, and written again as it was",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers())
		as := map[string]any{"natsStreamSeq": zero.seq, "completedAt": time.Now().UnixMilli(), "expiresAt": time.Now().Add(time.Hour).UnixMilli()}
		c.record("", as)
		c.unrecord("")
		c.record("", as)
	},
	may:   all(is("completing"), says("skip the work"), silent("that record is gone")),
	never: countsAtMost(layers{}),
}, {
	name: "a record is purged while a worker has its message, and Fleetglass cannot read it any more",
	mode: afterwards,
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers())
		c.record("", said(zero))
		c.works(500 * time.Millisecond)
		c.erase("")
	},
	may: all(is("delivered"), says("idempotency record was deleted", "may have been done")),
}, {
	name: "the bucket is purged, which leaves no mark, while a message waits whose work is recorded",
	mode: live,
	act: func(c *clients) {
		one := c.publish(publish{})
		c.publish(publish{id: c.task("") + ":again"})
		m := c.pull(c.workers())
		c.record("", said(one))
		c.ack(m)
		c.until("Fleetglass tells that the record will be found", func() bool {
			var told seen
			return c.glass.ask(c.ctx, "/api/v1/tasks/"+c.task(""), &told) == nil && strings.Contains(fmt.Sprint(told.Answers), "skip the work")
		})
		bucket, err := c.js.Stream(c.ctx, "KV_task-idempotency")
		c.must(err)
		c.must(bucket.Purge(c.ctx, jetstream.WithPurgeSubject("$KV.task-idempotency."+c.task(""))))
	},
	may: all(is("published"), says("that record is gone, so that a later delivery may run it again"), silent("skip the work")),
}, {
	name: "a record is purged before its task is published again, and Fleetglass cannot read it any more",
	mode: afterwards,
	act: func(c *clients) {
		c.record("", nil)
		c.erase("")
		c.works(500 * time.Millisecond)
		c.publish(publish{})
		c.pull(c.workers())
	},
	may:   all(is("delivered"), silent("record", "may have been done")),
	never: countsAtMost(layers{}),
}, {
	name: "a publish is refused for its size after the duplicate window",
	on:   narrow,
	act: func(c *clients) {
		c.publish(publish{})
		c.works(time.Second)
		if _, err := c.tryPublish(publish{body: strings.Repeat("x", 8192)}); err == nil {
			c.must(errors.New("the stream takes a message beyond its size"))
		}
	},
	may:   counts(layers{}),
	never: countsAtMost(layers{}),
}, {
	name: "a publish is refused because the stream is full",
	on: tasksWith("a full stream", func(c *jetstream.StreamConfig) {
		c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject = jetstream.DiscardNew, true, 1
	}),
	act: func(c *clients) {
		c.publish(publish{})
		if _, err := c.tryPublish(publish{task: "refused"}); err == nil {
			c.must(errors.New("a full stream takes a message"))
		}
	},
	may:    all(is("published"), counts(layers{}), of("refused", all(isNot("published", "completed"), counts(layers{})))),
	never:  all(countsAtMost(layers{}), of("refused", all(isNotOnceStored("published", "completed"), countsAtMost(layers{})))),
	settle: 14 * time.Second,
}, {
	name: "a publish is refused because the stream is full, and stored a moment later",
	on: tasksWith("a full stream", func(c *jetstream.StreamConfig) {
		c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject = jetstream.DiscardNew, true, 1
	}),
	act: func(c *clients) {
		before := c.publish(publish{task: "before"})
		worker := c.workers()
		first := c.pull(worker)
		if _, err := c.tryPublish(publish{}); err == nil {
			c.must(errors.New("a full stream takes a message"))
		}
		c.ack(first)
		c.until("the message before leaves", func() bool { return !c.there(before) })
		c.works(300 * time.Millisecond)
		c.publish(publish{})
	},
	may:   all(is("published"), counts(layers{}), of("before", is("completed"))),
	never: countsAtMost(layers{}),
}, {
	name:  "a publish is refused because the stream is full, and stored three seconds later",
	since: 14, // Before, OBS_RAW leaves the publishes out that come at once.
	on: tasksWith("a full stream", func(c *jetstream.StreamConfig) {
		c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject = jetstream.DiscardNew, true, 1
	}),
	act: func(c *clients) {
		c.letOthersBegin()
		c.publish(publish{task: "before"})
		first := c.pull(c.workers())
		if _, err := c.tryPublish(publish{}); err == nil {
			c.must(errors.New("a full stream takes a message"))
		}
		c.works(3 * time.Second) // More than the captures of one publish may lie apart.
		c.ack(first)
		began := time.Now()
		c.publish(publish{kind: "again"})
		c.inTime(time.Since(began) < 500*time.Millisecond, "the broker was slow to note the publish: it may have been made before another")
		c.works(time.Second) // The repetition is further from the time of storing than the publish.
		if ack, err := c.tryPublish(publish{kind: "again"}); err != nil || !ack.Duplicate {
			c.must(fmt.Errorf("the stream does not catch the repetition: %v", err))
		}
	},
	may:   all(is("published"), counts(layers{stream: 1}), finds("publish_refused")),
	never: countsAtMost(layers{stream: 1}),
}, {
	name: "a publish is refused, and no other stream can have taken it",
	on: tasksWith("a full stream with a short window", func(c *jetstream.StreamConfig) {
		c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject, c.Duplicates = jetstream.DiscardNew, true, 1, 200*time.Millisecond
	}),
	act: func(c *clients) {
		c.publish(publish{})
		c.works(time.Second)
		if _, err := c.tryPublish(publish{task: "refused"}); err == nil {
			c.must(errors.New("a full stream takes a message"))
		}
	},
	may:    all(is("published"), of("refused", says("publish it again"))),
	never:  silent("publish it again"),
	settle: 14 * time.Second,
}, {
	name: "a publish that expects something of its stream is not seen by capture",
	act: func(c *clients) {
		c.publish(publish{header: nats.Header{"Nats-Expected-Stream": {"TASKS"}}})
		ack, err := c.tryPublish(publish{header: nats.Header{"Nats-Expected-Stream": {"TASKS"}}})
		c.must(err)
		if !ack.Duplicate {
			c.must(errors.New("the second publish is stored"))
		}
	},
	may: all(is("published"), gapSays("Nats-Expected-")),
}, {
	name: "a publisher reports the duplicate that capture saw too",
	act: func(c *clients) {
		c.publish(publish{})
		ack, err := c.tryPublish(publish{})
		c.must(err)
		c.report(c.agent, "publish_duplicate", "", map[string]any{"message_id": c.task(""), "duplicate": ack.Duplicate})
	},
	may:   all(is("published"), counts(layers{stream: 1})),
	never: countsAtMost(layers{stream: 1}),
}, {
	name: "a publisher reports a duplicate that capture does not see",
	act: func(c *clients) {
		unseen := publish{header: nats.Header{"Nats-Expected-Stream": {"TASKS"}, "X-Publisher": {"planner-" + c.agent}}}
		c.publish(unseen)
		_, err := c.tryPublish(unseen)
		c.must(err)
		said := map[string]any{"message_id": c.task("")}
		c.report("planner-"+c.agent, "publish_duplicate", "", said)
		c.report("stranger-"+c.agent, "publish_duplicate", "", said)
		c.report(c.agent, "publish_duplicate", "never", map[string]any{"message_id": c.task("never")})
	},
	may:   all(is("published"), counts(layers{stream: 1}), caughtBecause("publisher reports"), of("never", countsAtMost(layers{}))),
	never: all(countsAtMost(layers{stream: 1}), of("never", countsAtMost(layers{}))),
}, {
	name: "one idempotency key on two task ids, and both ran",
	act: func(c *clients) {
		key := c.task("") + "-1"
		c.work(publish{}, key)
		c.work(publish{task: "twin", key: key}, key)
	},
	may: all(is("completed"), counts(layers{execution: 1}), finds("shared_key"), namesTask("twin"), of("twin", all(is("completed"), counts(layers{execution: 1}), namesTask("")))),
}, {
	name: "one idempotency key on two task ids, the one that it names comes last",
	act: func(c *clients) {
		key := c.task("") + "-1"
		c.work(publish{task: "twin", key: key}, key)
		c.work(publish{}, key)
	},
	may: all(counts(layers{execution: 1}), of("twin", counts(layers{execution: 1}))),
}, {
	name: "one idempotency key that names neither of two tasks, and both were acknowledged",
	act: func(c *clients) {
		key := c.task("") + "-order-31337"
		c.publish(publish{task: "a", key: key})
		c.publish(publish{task: "b", key: key})
		worker := c.workers()
		c.ack(c.pull(worker))
		c.ack(c.pull(worker))
	},
	may:   all(of("a", all(counts(layers{unknown: 1}), namesTask("b"))), of("b", all(counts(layers{unknown: 1}), namesTask("a")))),
	never: all(of("a", countsAtMost(layers{unknown: 1})), of("b", countsAtMost(layers{unknown: 1}))),
}, {
	name: "one idempotency key on two task ids, of which one waits",
	act: func(c *clients) {
		key := c.task("") + "-1"
		c.publish(publish{})
		c.publish(publish{task: "twin", key: key})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), finds("shared_key"), of("twin", all(is("published"), finds("shared_key")))),
	never: all(countsAtMost(layers{}), of("twin", countsAtMost(layers{}))),
}, {
	name: "one idempotency key on two task ids, of which one is done and the other is in a worker's hands",
	act: func(c *clients) {
		key := c.task("") + "-1"
		c.work(publish{}, key)
		c.publish(publish{task: "twin", key: key})
		c.heartbeat(c.pull(c.workers(wait(10 * time.Minute))))
	},
	may: all(is("completed"), of("twin", all(is("processing"), leadsTo(""), decidedBy("completed_by_other_task", "reconcile", "")))),
}, {
	name: "one idempotency key on two task ids, and both are in workers' hands",
	act: func(c *clients) {
		key := c.task("") + "-1"
		worker := c.workers(wait(10*time.Minute), atOnce(2))
		c.publish(publish{})
		c.publish(publish{task: "twin", key: key})
		c.heartbeat(c.pull(worker))
		c.heartbeat(c.pull(worker))
	},
	may: all(is("processing"), leadsTo("twin"), decidedBy("nothing_known", "quarantine", "twin"), of("twin", all(leadsTo(""), decidedBy("nothing_known", "quarantine", "")))),
}, {
	name: "one idempotency key on two task ids, of which one is done and the other dies",
	act: func(c *clients) {
		key := c.task("") + "-1"
		c.work(publish{}, key)
		c.publish(publish{task: "twin", key: key})
		c.term(c.pull(c.workers()), "schema invalid")
	},
	may: of("twin", all(is("terminated"), leadsTo(""), says("completed this work"))),
}}
