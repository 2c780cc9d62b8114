//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// tasksWith is a land whose TASKS is set up in its own way.
func tasksWith(name string, change func(*jetstream.StreamConfig)) land {
	cfg := jetstream.StreamConfig{
		Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour, AllowDirect: true,
	}
	change(&cfg)
	return land{name: name, streams: []jetstream.StreamConfig{cfg}}
}

// beyond is what the contract does not speak of: docs/wire-contract.md says what is said of it.
var beyond = []situation{{
	name: "the stream transforms subjects",
	on: tasksWith("transformed subjects", func(c *jetstream.StreamConfig) {
		c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "genbrain.agents.*.tasks.old", Destination: "genbrain.agents.{{wildcard(1)}}.tasks.new"}
	}),
	act: func(c *clients) {
		c.publish(publish{kind: "old"})
		c.ack(c.pull(c.workers()))
	},
	may: all(is("completed"), findsNo(wrongs...)),
}, {
	name: "the stream begins with another sequence than one",
	on:   tasksWith("a later beginning", func(c *jetstream.StreamConfig) { c.FirstSeq = 1_000_000 }),
	act: func(c *clients) {
		struck := c.publish(publish{task: "struck"})
		c.deleteMessage(struck)
		c.publish(publish{})
		c.publish(publish{task: "waits", kind: "other"})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), noGap, findsNo(wrongs...), of("struck", all(is("removed"), noGap, noAttempt(0))), of("waits", all(is("published"), noGap))),
	never: of("struck", isNot("completed", "exhausted", "outcome_unknown")),
}, {
	name: "a consumer has a priority group",
	act: func(c *clients) {
		c.publish(publish{})
		consumer := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.PriorityPolicy, cfg.PriorityGroups = jetstream.PriorityPolicyOverflow, []string{"g"}
		})
		c.ack(c.pull(consumer, inGroup()))
	},
	may: all(is("completed"), findsNo(wrongs...)),
}, {
	name:  "two tasks are published in one atomic batch",
	since: 12,
	on:    tasksWith("atomic batches", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = true }),
	mode:  live,
	act: func(c *clients) {
		for i, task := range []string{"", "b"} {
			m := c.message(publish{task: task})
			m.Header.Del("Nats-Msg-Id") // The broker refuses it in batches.
			m.Header.Set("Nats-Batch-Id", "batch")
			m.Header.Set("Nats-Batch-Sequence", []string{"1", "2"}[i])
			if task == "b" {
				m.Header.Set("Nats-Batch-Commit", "1")
			}
			_, err := c.nc.RequestMsg(m, patience)
			c.must(err)
		}
		c.ack(c.pull(c.workers()))
	},
	may:    all(isNot(done...), says("look for its effect first"), of("b", is("published"))),
	never:  silent("publish it again"),
	settle: 14 * time.Second,
}, {
	name: "the stream is sealed while a worker has a message",
	on:   land{name: "a sealed stream", streams: limits.streams},
	mode: live,
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		s, err := c.js.Stream(c.ctx, "TASKS")
		c.must(err)
		cfg := s.CachedInfo().Config
		cfg.Sealed = true
		_, err = c.js.UpdateStream(c.ctx, cfg)
		c.must(err)
		c.ack(m)
		if _, err := c.tryPublish(publish{task: "refused"}); err == nil {
			c.must(errors.New("a sealed stream takes a message"))
		}
	},
	may:    all(is("completed"), findsNo(wrongs...), of("refused", isNot("published"))),
	never:  of("refused", isNot("published", "completed")),
	settle: 14 * time.Second,
}, {
	name: "the stream refuses what expects another last sequence",
	act: func(c *clients) {
		c.publish(publish{})
		_, err := c.tryPublish(publish{task: "refused", header: nats.Header{"Nats-Expected-Last-Sequence": {"9999999"}}})
		if err == nil {
			c.must(errors.New("the stream takes a message that expects another last sequence"))
		}
	},
	may: func(s story) error {
		if s.tasks["refused"] != nil {
			return errors.New("something is said of a publish that nobody saw")
		}
		return is("published")(s)
	},
}}
