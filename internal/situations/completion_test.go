//go:build linux

package situations

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// done are the states that say that the work of a message is done.
var done = []string{"completing", "completed"}

// takenOver lets a worker lose its message to the next one. Both have it.
func (c *clients) takenOver() (l letter, zombie, next jetstream.Msg) {
	l = c.publish(publish{})
	worker := c.workers(wait(time.Second))
	zombie = c.pull(worker)
	c.works(1200 * time.Millisecond)
	return l, zombie, c.pull(worker)
}

// completion is bound to one idempotency key and one message.
var completion = []situation{{
	name: "generation 0 is deleted before any delivery, and generation 1 completes",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.deleteMessage(zero)
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		m := c.pull(c.workers())
		c.record("", said(one))
		c.ack(m)
	},
	may:   all(messageIs(0, "removed"), messageIs(1, "completed"), is("completed")),
	never: all(messageIsNot(0, done...), noAttempt(0)),
}, {
	name: "generation 0 is exhausted and deleted, and a record is written for its retry",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(1))
		c.pull(worker)
		c.works(1200 * time.Millisecond)
		c.tryPull(worker, 500*time.Millisecond) // The broker says that the attempts are used up when somebody asks.
		c.deleteMessage(zero)
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		m := c.pull(worker)
		c.record("", said(one))
		c.ack(m)
	},
	may:   all(messageIs(0, "exhausted"), messageIs(1, "completed"), is("completed"), counts(layers{})),
	never: messageIsNot(0, append([]string{"removed", "outcome_unknown"}, done...)...),
}, {
	name: "version 2 is queued while a record exists for version 1",
	act: func(c *clients) {
		worker := c.workers(atOnce(3))
		c.publish(publish{task: "begun"})
		c.ack(c.pull(worker))
		c.publish(publish{task: "begun", version: 2, id: c.task("begun") + ":v2"})
		c.heartbeat(c.pull(worker))
		c.record("begun", nil) // It names no message.
		one := c.publish(publish{})
		m := c.pull(worker)
		c.record("", said(one))
		c.ack(m)
		c.publish(publish{version: 2, id: c.task("") + ":v2"})
	},
	may: all(messageIs(0, "completed"), messageIs(1, "published"), notCompletedAt, of("begun", all(messageIs(0, "completed"), messageIs(1, "processing"), notCompletedAt))),
	never: all(known(1, all(messageIsNot(1, done...), isNot(done...), silent("the work is done", "nothing to do", "nothing must be run again", "a completion of its key"))),
		of("begun", known(1, all(messageIsNot(1, done...), isNot(done...), silent("the work is done", "nothing must be run again", "a completion of its key"))))),
}, {
	name: "a report without a message id fits only the message that its agent has",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers())
		c.publish(publish{agent: c.agent + "other", id: c.task("") + ":b"})
		c.consumer(worker(c.agent + "other"))
		c.report(c.agent, "completed", "", nil)
	},
	may:   all(messageIs(0, "completing"), messageIs(1, "published")),
	never: all(messageIsNot(1, done...), messageIsNot(0, "completed")),
}, {
	name: "a report without a message id fits one of two messages by its attempt, and another by its time",
	act: func(c *clients) {
		worker := c.workers(wait(10*time.Minute), atOnce(3))
		c.publish(publish{})
		c.answer(c.pull(worker), "-NAK")
		c.heartbeat(c.pull(worker))
		c.publish(publish{id: c.task("") + ":b"})
		c.heartbeat(c.pull(worker))
		c.publish(publish{task: "early"})
		c.heartbeat(c.pull(worker))
		c.report(c.agent, "completed", "", map[string]any{"attempt": 2})
		c.report(c.agent, "completed", "early", nil)
		c.works(3 * time.Second)
		c.publish(publish{task: "early", id: c.task("early") + ":b"})
	},
	may:   all(messageIs(0, "completing"), messageIs(1, "processing"), of("early", all(messageIs(0, "completing"), messageIs(1, "published")))),
	never: all(messageIsNot(0, "completed"), messageIsNot(1, done...), of("early", all(messageIsNot(0, "completed"), messageIsNot(1, done...)))),
}, {
	name: "a report without a message id fits two messages and stays with the task",
	act: func(c *clients) {
		c.publish(publish{})
		c.publish(publish{id: c.task("") + ":b"})
		worker := c.workers(atOnce(2))
		c.pull(worker)
		c.pull(worker)
		c.report(c.agent, "completed", "", nil)
	},
	may:   all(messageIs(0, "delivered", "processing"), messageIs(1, "delivered", "processing")),
	never: all(messageIsNot(1, done...), messageIsNot(0, done...)),
}, {
	name: "a newer message is deleted while an older one waits",
	act: func(c *clients) {
		zero := c.publish(publish{})
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		c.works(2 * time.Second)
		c.deleteMessage(one)
		c.workers()
	},
	may:   all(messageIs(0, "published"), messageIs(1, "removed"), says("another message of this task, is published")),
	never: silent("nothing happens by itself", "nothing to do"),
}, {
	name: "an older message is at work after a newer one completed",
	act: func(c *clients) {
		zero := c.publish(publish{})
		one := c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1)})
		worker := c.workers(atOnce(2))
		old := c.pull(worker)
		m := c.pull(worker)
		c.record("", map[string]any{"natsStreamSeq": one.seq, "idempotencyKey": c.task("") + "-2"})
		c.ack(m)
		c.heartbeat(old)
	},
	may:   all(messageIs(1, "completed"), messageIs(0, "delivered", "processing"), onBoard(byFirst, "", false), finds("older_at_work"), isNot("completed")),
	never: all(messageIsNot(0, "completed"), known(0, silent("nothing to do", "nobody: its worker acknowledged it"))),
}, {
	name: "an acknowledgement of a message that was never delivered",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.workers()
		stamp := strconv.FormatInt(time.Now().UnixNano(), 10)
		c.send(nats.NewMsg("$JS.ACK.TASKS."+c.agent+"-task-worker.1."+strconv.FormatUint(zero.seq, 10)+".1."+stamp+".0"), "+ACK")
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot(done...), messageIsNot(0, done...), noAttempt(0), silent("a worker has", "nothing to do")),
}, {
	name: "an acknowledgement by a consumer that no longer exists",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.deleteConsumer()
		c.ack(m)
	},
	may:   all(isNot(done...), says("answered, without effect"), silent("still has it")),
	never: all(isNot(done...), messageIsNot(0, done...), silent("nothing to do")),
}, {
	name: "a record names one of two messages of its key",
	act: func(c *clients) {
		c.publish(publish{})
		one := c.publish(publish{id: c.task("") + ":again"})
		worker := c.workers(atOnce(2))
		c.pull(worker)
		m := c.pull(worker)
		c.record("", said(one))
		c.ack(m)
		c.publish(publish{task: "unanswered"})
		two := c.publish(publish{task: "unanswered", id: c.task("unanswered") + ":again"})
		worker = c.workers(atOnce(3))
		c.heartbeat(c.pull(worker))
		c.heartbeat(c.pull(worker))
		c.record("unanswered", said(two))
	},
	may: all(messageIs(1, "completed"), messageIs(0, "delivered"), says("a completion of its key is recorded"), onBoard(byFirst, "", false),
		of("unanswered", all(messageIs(0, "processing"), messageIs(1, "completing")))),
	never: all(messageIsNot(0, done...), silent("the work is done"), of("unanswered", messageIsNot(0, done...))),
}, {
	name: "two messages of one key are recorded in one millisecond, the second after it has gone",
	act: func(c *clients) {
		zero := c.publish(publish{})
		one := c.publish(publish{id: c.task("") + ":again"})
		worker := c.workers(atOnce(2), wait(10*time.Minute))
		c.pull(worker)
		c.pull(worker)
		moment := time.Now().UnixMilli()
		c.record("", map[string]any{"natsStreamSeq": zero.seq, "completedAt": moment})
		c.works(2500 * time.Millisecond) // A record counts that was stored two seconds before a removal.
		c.deleteMessage(one)
		c.works(500 * time.Millisecond)
		c.record("", map[string]any{"natsStreamSeq": one.seq, "completedAt": moment})
	},
	may:   all(messageIs(0, "completing", "delivered"), messageIs(1, "outcome_unknown")), // The bucket keeps the last record alone.
	never: messageIsNot(1, done...),
}, {
	name: "a record is written after its message has gone",
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers())
		c.deleteMessage(zero)
		c.works(500 * time.Millisecond) // The broker dates what it says of the deletion some milliseconds after it.
		c.record("", nil)
	},
	may:   all(is("outcome_unknown"), ended("removed"), says("look for its effect first", "a completion of its key is recorded")),
	never: all(messageIsNot(0, "completed"), silent("nothing to do", "the work is done")),
}, {
	name: "a zombie acknowledges after the next attempt gave the message up",
	act: func(c *clients) {
		zero, zombie, next := c.takenOver()
		c.term(next, "impossible_task")
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.works(500 * time.Millisecond)
		c.ack(zombie)
	},
	may:   all(is("terminated"), messageIs(0, "terminated"), finds("ack_after_term"), attempts(0, 2, 2)),
	never: isNot(done...),
}, {
	name: "a zombie acknowledges after the next attempt acknowledged",
	act: func(c *clients) {
		zero, zombie, next := c.takenOver()
		c.ack(next)
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.works(500 * time.Millisecond)
		c.ack(zombie)
	},
	may:   all(is("completed"), messageIs(0, "completed"), finds("late_ack"), attempts(0, 2, 2), says("ended its ownership by acknowledging attempt 2 of")),
	never: all(isNot("terminated", "exhausted"), silent("by acknowledging attempt 1", "The acknowledgement of attempt 1")),
}, {
	name: "the next attempt acknowledges after a zombie did",
	act: func(c *clients) {
		zero, zombie, next := c.takenOver()
		c.ack(zombie)
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.works(500 * time.Millisecond)
		c.ack(next)
	},
	may:   all(is("completed"), messageIs(0, "completed"), attempts(0, 2, 2), says("ended its ownership by acknowledging attempt 1 of")),
	never: all(isNot("terminated", "exhausted"), silent("by acknowledging attempt 2", "The acknowledgement of attempt 2")),
}, {
	name: "a zombie gives the message up after the next attempt acknowledged",
	act: func(c *clients) {
		zero, zombie, next := c.takenOver()
		c.ack(next)
		c.until("the message leaves", func() bool { return !c.there(zero) })
		c.works(500 * time.Millisecond)
		c.term(zombie, "impossible_task")
	},
	may:   all(is("completed"), messageIs(0, "completed"), attempts(0, 2, 2)),
	never: isNot("terminated"),
}, {
	name: "a report without a message id comes while a message of its task is at work whose lines were lost",
	on:   briefly,
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers(atOnce(2), wait(10*time.Minute))
		c.publish(publish{})
		c.pull(worker)
		c.publishLost()
		c.pull(worker)
		c.report(c.agent, "completed", "", nil)
		c.works(2500 * time.Millisecond) // The lost message goes.
	},
	may:   all(is("delivered"), messageIs(0, "delivered"), gapSays("TTL")),
	never: isNot("completed"),
}, {
	name: "a record that names no message is written for one whose lines were lost, and another of its task waits",
	on:   briefly,
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers(atOnce(2), wait(10*time.Minute))
		c.publishLost()
		c.pull(worker)
		c.publish(publish{id: c.task("") + ":c", header: nats.Header{"X-Idempotency-Key": nil}})
		c.record("", nil)
		c.works(2500 * time.Millisecond) // The lost message goes.
	},
	may:   all(is("published"), messageIs(0, "published"), gapSays("TTL")),
	never: isNot("completed"),
}}

// publishLost stores a message of the row's task that is gone, with its captured lines, before anybody looks.
func (c *clients) publishLost() {
	_, err := c.tryPublish(publish{id: c.task("") + ":lost", header: nats.Header{"Nats-TTL": {"1s"}}})
	c.must(err)
}

// notCompletedAt holds when no time is said at which the task was completed.
func notCompletedAt(s story) error {
	if at := s.told().CompletedAt; !at.IsZero() {
		return fmt.Errorf("it is said to be completed at %s", at)
	}
	return nil
}
