//go:build linux

package situations

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// inventions are outcomes that an agent makes up, on subjects of the broker or on its own.
var inventions = []situation{{
	name: "an agent sends the broker's word that a message in another's hands was handed back",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.advisory("MSG_NAKED", "nak", zero)
	},
	may:   all(is("processing"), attempts(0, 1, 1)),
	never: isNot("failed"),
}, {
	name: "an agent sends the broker's word that a message that nobody has was handed back",
	act: func(c *clients) {
		c.workers()
		c.advisory("MSG_NAKED", "nak", c.publish(publish{}))
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot("failed"), noAttempt(0)),
}, {
	name: "an agent sends the broker's word that a message was acknowledged, and an operator deletes it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers(sampled)))
		c.works(500 * time.Millisecond)
		c.send(nats.NewMsg("$JS.EVENT.METRIC.CONSUMER.ACK.TASKS."+c.agent+"-task-worker"), fmt.Sprintf(
			`{"type":"io.nats.jetstream.metric.v1.consumer_ack","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"consumer_seq":1,"stream_seq":%d,"ack_time":1000,"deliveries":1}`,
			time.Now().UTC().Format(time.RFC3339Nano), c.agent+"-task-worker", zero.seq))
		c.works(500 * time.Millisecond)
		c.deleteMessage(zero)
	},
	may:   is("outcome_unknown"),
	never: isNot(done...),
}, {
	name: "an agent sends the broker's word that a worker gave a message up, and an operator deletes it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.advisory("MSG_TERMINATED", "terminated", zero)
		c.works(500 * time.Millisecond)
		c.deleteMessage(zero)
	},
	may:   is("outcome_unknown"),
	never: isNot("terminated"),
}, {
	name:  "an agent sends the publish lines of messages that are stored next",
	since: 14, // Before, OBS_PUB leaves out what comes at once under the message id of a forged line.
	on:    land{name: "lines sent before"},
	act: func(c *clients) {
		c.workers()
		for i := range 3 {
			s, err := c.js.Stream(c.ctx, "TASKS")
			c.must(err)
			m := c.republished("0mallory", s.CachedInfo().State.LastSeq+1, time.Now().UTC().Format(time.RFC3339Nano))
			m.Header.Set("X-Task-ID", c.task("forged"))
			m.Data = []byte("forged")
			c.must(c.nc.PublishMsg(m))
			c.publish(publish{task: fmt.Sprint("genuine", i)})
		}
	},
	may: all(eachOf([]string{"genuine0", "genuine1", "genuine2"}, all(is("published"), finds("forged"), func(s story) error {
		if m := s.message(0); m == nil || m.Subject != "genbrain.agents."+s.told().Agent+".tasks.work" || s.told().Agent == "0mallory" {
			return fmt.Errorf("the forger's line is believed: %s", s.told())
		}
		return nil
	})), of("forged", unheardOf)),
}, {
	name: "an agent sends the publish line of a stream that does not exist",
	act: func(c *clients) {
		m := c.republished(c.agent, 1, time.Now().UTC().Format(time.RFC3339Nano))
		m.Header.Set("Nats-Stream", "NOSUCH")
		c.send(m, "forged")
		c.publish(publish{task: "honest"})
	},
	may:   all(unheardOf, of("honest", is("published")), quarantines),
	never: unheardOf,
}, {
	name: "an agent writes the record of a task under a key where no worker looks for it",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		kv, err := c.js.KeyValue(c.ctx, "task-idempotency")
		c.must(err)
		_, err = kv.PutString(c.ctx, c.agent+"-elsewhere", fmt.Sprintf(`{"taskId":%q,"idempotencyKey":%q,"agentId":%q,"completedAt":%d}`,
			c.task(""), c.task("")+"-1", c.agent, time.Now().UnixMilli()))
		c.must(err)
	},
	may:   all(is("processing"), quarantines),
	never: all(isNot(done...), isNot("completing"), silent("nothing must be run again")),
}, {
	name: "an agent reports that it completed a task that it was never given",
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.report(c.agent, "completed", "", map[string]any{"message_id": c.task(""), "attempt": 1})
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot("completing"), isNot(done...), silent("nothing must be run again", "find it and skip")),
}, {
	name: "an agent reports attempts that the broker never made",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.report(c.agent, "claimed", "", map[string]any{"message_id": c.task(""), "attempt": 1_000_000, "lease_expires_at": "9999-01-01T00:00:00Z", "cost_usd": 1e300, "input_tokens": -1})
		c.report(c.agent, "claimed", "", map[string]any{"message_id": c.task(""), "attempt": 7})
	},
	may:   all(is("processing"), attempts(0, 1, 1)),
	never: isNot("redelivered"),
}}

// sampled makes the broker send a metric of each acknowledgement.
func sampled(c *jetstream.ConsumerConfig) { c.SampleFrequency = "100%" }

// advisory sends what the broker says about the first delivery of a message.
func (c *clients) advisory(name, kind string, l letter) {
	c.send(nats.NewMsg("$JS.EVENT.ADVISORY.CONSUMER."+name+".TASKS."+c.agent+"-task-worker"), fmt.Sprintf(
		`{"type":"io.nats.jetstream.advisory.v1.%s","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"consumer_seq":1,"stream_seq":%d,"deliveries":1,"reason":"forged"}`,
		kind, time.Now().UTC().Format(time.RFC3339Nano), c.agent+"-task-worker", l.seq))
}

// unheardOf holds while nothing is said of the task.
func unheardOf(s story) error {
	if s.told() != nil {
		return errors.New("something is said of a task that was made up")
	}
	return nil
}
