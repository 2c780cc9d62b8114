//go:build linux

package situations

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// republished is what capture would store had the stream republished a message, sent by somebody else.
func (c *clients) republished(agent string, seq uint64, at string) *nats.Msg {
	m := nats.NewMsg("obs.pub." + agent + ".forged")
	m.Header = nats.Header{
		"Nats-Stream": {"TASKS"}, "Nats-Subject": {"genbrain.agents." + agent + ".tasks.forged"},
		"Nats-Sequence": {strconv.FormatUint(seq, 10)}, "Nats-Time-Stamp": {at}, "Nats-Last-Sequence": {"0"},
		"X-Task-ID": {c.task("")}, "Nats-Msg-Id": {"forged"},
	}
	return m
}

// forgery is what an agent sends on subjects that are the broker's.
var forgery = []situation{{
	name: "another agent confirms an effect that the worker announced, and reports a checkpoint",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(time.Hour))))
		effect := map[string]any{"message_id": c.task(""), "attempt": 1, "step_id": "post", "step_class": "unsafe"}
		c.report(c.agent, "step_intent", "", effect)
		c.works(time.Second)
		c.report("0mallory", "step_receipt", "", effect)
		c.report("0mallory", "checkpoint", "", effect)
	},
	may: all(is("processing"), decides("open_intent", "quarantine")),
}, {
	name: "another agent reports that it accepted, completed, failed at and caught a task, and names no message",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(time.Hour))))
		for _, kind := range []string{"accepted", "completed", "failed", "duplicate_caught"} {
			c.report("0mallory", kind, "", map[string]any{"attempt": 1, "reason": "RateLimitError: 429"})
		}
	},
	may: all(is("processing"), counts(layers{}), decides("nothing_known", "quarantine"), silent("RateLimitError"), func(s story) error {
		if b := s.told().Boundaries; b.AcceptedAt != nil || !b.CompletedAt.IsZero() {
			return fmt.Errorf("it was accepted and completed: %+v", b)
		}
		return nil
	}),
	never: all(isNot("completed", "completing"), countsAtMost(layers{})),
}, {
	name: "another agent announces and confirms effects of a message that it never had",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers(wait(time.Hour))))
		for _, id := range []string{c.task(""), "no-such-message"} {
			effect := map[string]any{"message_id": id, "attempt": 1, "step_id": "post", "step_class": "keyed"}
			c.report("0mallory", "step_intent", "", effect)
			c.report("0mallory", "step_receipt", "", effect)
		}
	},
	may: all(is("processing"), decides("open_intent", "quarantine")),
}, {
	name: "an agent sends a publish line for another's message",
	act: func(c *clients) {
		zero := c.publish(publish{body: "genuine"})
		c.works(time.Second)
		c.send(c.republished("0mallory", zero.seq, time.Now().UTC().Format(time.RFC3339Nano)), "forged")
	},
	may: all(is("published"), finds("forged")),
	never: func(s story) error {
		if t := s.told(); t != nil && t.Agent == "0mallory" {
			return errors.New("the agent is the forger's")
		}
		if m := s.message(0); m != nil && m.Subject == "genbrain.agents.0mallory.tasks.forged" {
			return errors.New("the subject is the forger's")
		}
		return nil
	},
}, {
	name: "an agent sends publish lines that no broker can have sent",
	act: func(c *clients) {
		c.publish(publish{task: "honest"})
		now := time.Now().UTC().Format(time.RFC3339Nano)
		c.send(c.republished(c.agent, 1<<53, now), "forged")
		c.send(c.republished(c.agent, 900_000, now), "forged")
		c.send(c.republished(c.agent, 1, "9999-01-01T00:00:00Z"), "forged")
	},
	may: all(of("honest", is("published")), func(s story) error {
		if s.told() != nil {
			return fmt.Errorf("a forged line is believed: %s", s.told())
		}
		return nil
	}),
	never: of("honest", isNotOnceStored("outcome_unknown", "removed")),
}, {
	name: "an agent sends the broker's word that the stream was deleted and created",
	act: func(c *clients) {
		c.publish(publish{task: "earlier"})
		for _, action := range []string{"delete", "create"} {
			c.send(nats.NewMsg("$JS.EVENT.ADVISORY.STREAM."+strings.ToUpper(action)+"D.TASKS"), fmt.Sprintf(
				`{"type":"io.nats.jetstream.advisory.v1.stream_action","id":"x","timestamp":%q,"stream":"TASKS","action":%q}`,
				time.Now().UTC().Format(time.RFC3339Nano), action))
			c.works(10 * time.Millisecond)
		}
		c.works(time.Second)
		c.publish(publish{})
		m := c.pull(c.workers(atOnce(2)))
		c.ack(m)
		c.ack(c.pull(c.workers(atOnce(2))))
	},
	may:   all(is("completed"), of("earlier", is("completed"))),
	never: of("earlier", isNotOnceStored("outcome_unknown", "removed")),
	on:    land{name: "a forger of streams"},
}, {
	name: "another agent reports an undelivered task as completed",
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.report(c.agent+"mallory", "completed", "", map[string]any{"message_id": c.task(""), "attempt": 1})
	},
	may:   is("published"),
	never: all(isNot(done...), silent("nothing must be run again", "the work is done", "nothing to do")),
}, {
	name: "an agent reports a time that is to come",
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		m := nats.NewMsg("genbrain.lifecycle." + c.agent + ".heartbeat")
		c.send(m, c.cloudEvent(c.agent, "heartbeat", "", time.Now().AddDate(50, 0, 0), map[string]any{"message_id": c.task(""), "attempt": 1}))
	},
	may: all(is("processing"), func(s story) error {
		var task struct {
			LastEventAt time.Time `json:"last_event_at"`
		}
		if err := s.glass.ask(s.ctx, "/api/v1/tasks/"+s.told().TaskID, &task); err != nil {
			return err
		}
		if task.LastEventAt.After(time.Now().Add(time.Hour)) {
			return fmt.Errorf("the last event is said to be at %s", task.LastEventAt)
		}
		return nil
	}),
}, {
	name: "a message with a malformed header is passed",
	on:   land{name: "a malformed header"},
	act: func(c *clients) {
		c.publish(publish{})
		for _, header := range []string{
			"NATS/1.0\r\nno colon here\r\n\r\n", "NATS/1.0 \r\n: empty\r\n\r\n", "HTTP/1.1\r\nA: b\r\n\r\n", "NATS/1.0",
			"NATS/1.0\r\nNats-Expected-Stream: TASKS\r\nno colon here\r\n\r\n", // Capture refuses it, so it is read from the stream.
		} {
			c.sendRaw("genbrain.agents."+c.agent+".tasks.malformed", header, "{}")
			c.sendRaw("genbrain.lifecycle."+c.agent+".completed", header, "{}")
			c.sendRaw("$KV.task-idempotency."+c.task(""), header, "{}")
		}
		c.publish(publish{task: "later"})
		worker := c.workers(atOnce(10))
		for range 6 {
			if m := c.pull(worker); strings.HasSuffix(m.Subject(), "work") {
				c.ack(m)
			}
		}
		c.ack(c.pull(worker))
	},
	may:   all(is("completed"), of("later", is("completed")), ready, quarantines),
	never: everReady(),
}, {
	name: "somebody says that the attempts of a message are used up, in the name of a consumer that is deleted and never had it",
	act: func(c *clients) {
		c.workers()
		c.deleteConsumer()
		l := c.publish(publish{})
		c.send(nats.NewMsg("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.TASKS."+c.agent+"-task-worker"), fmt.Sprintf(
			`{"type":"io.nats.jetstream.advisory.v1.max_deliver","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"stream_seq":%d,"deliveries":3}`,
			time.Now().UTC().Format(time.RFC3339Nano), c.agent+"-task-worker", l.seq))
		c.works(12 * time.Second) // It would be believed after ten.
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot("exhausted"), noAttempt(0)),
}, {
	name: "the attempts of a message are used up, and its consumer is deleted after that",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(1))
		c.heartbeat(c.pull(worker))
		c.works(1500 * time.Millisecond)
		c.tryPull(worker, 100*time.Millisecond) // The broker says so with it.
		c.deleteConsumer()
		c.works(12 * time.Second)
	},
	may: all(is("exhausted"), attempts(0, 1, 1)),
}, {
	name: "an agent sends the broker's word that attempts are used up",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		c.send(nats.NewMsg("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.TASKS."+c.agent+"-task-worker"), fmt.Sprintf(
			`{"type":"io.nats.jetstream.advisory.v1.max_deliver","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"stream_seq":%d,"deliveries":3}`,
			time.Now().UTC().Format(time.RFC3339Nano), c.agent+"-task-worker", zero.seq))
	},
	may:   is("processing"),
	never: isNot("exhausted"),
}, {
	name: "an agent sends the broker's word that a message was deleted",
	act: func(c *clients) {
		zero := c.publish(publish{})
		waiting := c.publish(publish{task: "waiting"})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		c.send(c.deletionSaid(zero, "Unacknowledged message was deleted"))
		c.send(c.deletionSaid(waiting, "Message deleted by stream limits"))
	},
	may:   all(is("processing"), attempts(0, 1, 1), of("waiting", all(is("published"), noAttempt(0))), quarantines),
	never: all(isNotOnceStored("outcome_unknown", "removed"), of("waiting", all(isNotOnceStored("outcome_unknown", "removed"), noAttempt(0)))),
}, {
	name: "an agent sends the broker's word that a message was acknowledged",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		now := time.Now().UTC().Format(time.RFC3339Nano)
		c.send(nats.NewMsg("$JS.EVENT.METRIC.CONSUMER.ACK.TASKS."+c.agent+"-task-worker"), fmt.Sprintf(
			`{"type":"io.nats.jetstream.metric.v1.consumer_ack","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"consumer_seq":1,"stream_seq":%d,"ack_time":1000,"deliveries":1}`,
			now, c.agent+"-task-worker", zero.seq))
	},
	may:   is("processing"),
	never: isNot(done...),
}, {
	name: "an agent acknowledges a message that was removed before its consumer delivered it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.publish(publish{task: "later"})
		c.deleteMessage(zero)
		c.heartbeat(c.pull(c.workers()))
		c.forgeAck(zero)
	},
	may:   all(is("outcome_unknown", "removed"), of("later", is("processing"))),
	never: isNot(done...),
}, {
	name: "an agent acknowledges a message just before its worker has it",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers()
		c.forgeAck(zero)
		c.tryPull(worker, time.Second)
	},
	may:   isNot(done...),
	never: isNot(done...),
}, {
	name: "an agent acknowledges a message that another has",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		c.forgeAck(zero)
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   all(is("outcome_unknown"), attempts(0, 1, 1), finds("ack_unproved")),
	never: isNot(done...),
}, {
	name: "an agent sends a heartbeat and a nak of a message that nobody has",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, time.Now(), "+WPI")
		c.forge(zero, time.Now(), "-NAK")
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot("processing", "delivered", "failed"), noAttempt(0)),
}, {
	name: "an agent gives up a message that nobody has",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, c.storedAt(zero), "+TERM forged")
	},
	may:   all(is("published"), noAttempt(0), finds("ack_refuted")),
	never: all(isNot("terminated", "completed", "delivered"), noAttempt(0)),
}, {
	name: "an agent acknowledges a message that nobody has, and knows when it was stored",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, c.storedAt(zero), "+ACK")
	},
	may:   all(is("published"), noAttempt(0), finds("ack_refuted")),
	never: all(isNot(append(done, "delivered")...), noAttempt(0)),
}, {
	name: "an agent sends signs of work for a message that nobody has, and knows when it was stored",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, c.storedAt(zero), "+WPI")
		c.forge(zero, c.storedAt(zero), "-NAK")
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot("processing", "delivered", "failed"), noAttempt(0)),
}, {
	name: "an agent answers messages that nobody has, whose consumer was created after them",
	act: func(c *clients) {
		for _, task := range forgedAnswers {
			c.publish(publish{task: task})
		}
		c.workers()
		c.works(4 * time.Second)
		for _, task := range forgedAnswers {
			l := c.stored[c.task(task)][0]
			c.forge(l, c.storedAt(l), task)
		}
	},
	may:   eachOf(forgedAnswers, all(is("published"), noAttempt(0))),
	never: eachOf(forgedAnswers, all(isNot("delivered", "processing", "failed", "terminated", "completed"), noAttempt(0))),
}, {
	name: "a worker of an earlier consumer answers a message whose consumer was created after it",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.deleteConsumer()
		c.workers()
		c.works(4 * time.Second)
		c.heartbeat(m)
	},
	may: attempts(0, 1, 1),
}, {
	name: "an agent acknowledges a message that nobody has, and an operator deletes it at once",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, c.storedAt(zero), "+ACK")
		c.deleteMessage(zero)
	},
	may:   all(is("removed", "outcome_unknown"), noAttempt(0)),
	never: all(isNot(done...), noAttempt(0)),
}, {
	name: "an agent gives up a message that nobody has, and then its worker does it",
	mode: live, // Who comes later cannot know whether the worker had it when it was given up.
	act: func(c *clients) {
		worker := c.workers()
		zero := c.publish(publish{})
		c.works(500 * time.Millisecond)
		c.forge(zero, c.storedAt(zero), "+TERM forged")
		c.seen()
		m := c.pull(worker)
		c.heartbeat(m)
		c.ack(m)
	},
	may:   all(is("completed"), attempts(0, 1, 1)),
	never: isNot("terminated"),
}, {
	name: "an agent gives up a message that another has, and does not know when it was stored",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(500 * time.Millisecond)
		c.forge(zero, time.Now(), "+TERM forged")
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   isNot("completed", "published", "processing"),
	never: isNot("completed"),
}, {
	name: "an agent sends a heartbeat of a message that another has",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers())
		c.works(500 * time.Millisecond)
		c.forge(zero, time.Now(), "+WPI")
	},
	may:   all(is("delivered", "processing"), attempts(0, 1, 1)), // The broker extends the lease: the two cannot be told apart.
	never: isNot("failed", "terminated", "completed"),
}, {
	name: "an agent sends heartbeats of a delivery that was never made, of a message that another has",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(4 * time.Second))
		m := c.pull(worker)
		for range 12 {
			c.works(500 * time.Millisecond)
			c.send(nats.NewMsg(fmt.Sprintf("$JS.ACK.%s.%s-task-worker.7.%d.9.%d.0", zero.stream, c.agent, zero.seq, time.Now().UnixNano())), "+WPI")
		}
		c.inTime(c.tryPull(worker, 100*time.Millisecond) == nil, "the broker delivered it once more")
		c.ack(m)
	},
	may:   all(is("completed"), attempts(0, 1, 1)),
	never: all(isNot("failed", "exhausted"), neverStale("presumed_dead", "stale")), // The broker extends the lease, whatever number the heartbeat has.
}, {
	name: "an agent hands back a message that another has",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers()
		c.pull(worker)
		c.works(500 * time.Millisecond)
		c.forge(zero, time.Now(), "-NAK")
		c.heartbeat(c.pull(worker)) // The broker believes it.
	},
	may:   all(is("redelivered"), attempts(0, 2, 2)),
	never: isNot("terminated", "completed"),
}}

// forgedAnswers are tasks of one row, each named after the answer that is forged for it.
var forgedAnswers = []string{"+ACK", "+TERM", "-NAK", "+WPI"}

// forge answers a message in the name of the agent's consumer, with the time at which it is said to have been stored.
func (c *clients) forge(l letter, at time.Time, as string) {
	c.send(nats.NewMsg(fmt.Sprintf("$JS.ACK.%s.%s-task-worker.1.%d.1.%d.0", l.stream, c.agent, l.seq, at.UnixNano())), as)
}

// storedAt is when a message was stored, as who may read the stream knows it.
func (c *clients) storedAt(l letter) time.Time {
	s, err := c.js.Stream(c.ctx, l.stream)
	c.must(err)
	m, err := s.GetMsg(c.ctx, l.seq)
	c.must(err)
	return m.Time
}

// forgeAck acknowledges a message in the name of the agent's consumer, without having been given it.
func (c *clients) forgeAck(l letter) {
	c.forge(l, time.Now(), "+ACK")
}

// deletionSaid is what the broker says when a message leaves its stream that a worker has, sent by somebody else.
func (c *clients) deletionSaid(l letter, reason string) (*nats.Msg, string) {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	return nats.NewMsg("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.TASKS." + c.agent + "-task-worker"), fmt.Sprintf(
		`{"type":"io.nats.jetstream.advisory.v1.terminated","id":"x","timestamp":%q,"stream":"TASKS","consumer":%q,"consumer_seq":1,"stream_seq":%d,"deliveries":1,"reason":%q}`,
		now, c.agent+"-task-worker", l.seq, reason)
}

// ready holds when every part can do its work.
func ready(s story) error {
	var r readiness
	if err := s.glass.ask(s.ctx, "/readyz", &r); err != nil {
		return err
	}
	for _, p := range r.Parts {
		if p.State == "down" {
			return fmt.Errorf("%s is down: %s", p.Name, p.Detail)
		}
	}
	return nil
}

// everReady holds while no part that could do its work once cannot any more.
func everReady() claim {
	var was atomic.Bool
	return func(s story) error {
		err := ready(s)
		if err == nil {
			was.Store(true)
		}
		if !was.Load() {
			return nil
		}
		return err
	}
}

// quarantines holds when lines were set aside and counted.
func quarantines(s story) error {
	var list struct{ Total int }
	if err := s.glass.ask(s.ctx, "/api/v1/quarantine", &list); err != nil {
		return err
	}
	if list.Total == 0 {
		return errors.New("no line is in quarantine")
	}
	return nil
}
