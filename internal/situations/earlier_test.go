//go:build linux

package situations

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// thirdTime gives a worker a message for the third time, deletes its consumer, and lets the next one of its name deliver the message for the first time.
func (c *clients) thirdTime() (earlier, next jetstream.Msg) {
	c.publish(publish{})
	worker := c.workers(wait(time.Second), atMost(5))
	c.pull(worker)
	c.pull(worker)
	earlier = c.pull(worker)
	c.deleteConsumer()
	next = c.pull(c.workers(wait(10 * time.Minute)))
	c.works(time.Second)
	return earlier, next
}

// sinceThird holds unless the message is said to be due again once its third delivery is known. Before that it was, for as long as a busy broker took.
var sinceThird = neverOfAttempt(3, isNot("failed"))

// handsBack lets the worker of the first attempt hand the message back while the second one's has it, and the consumer deliver it no more than so many times.
func (c *clients) handsBack(most int) {
	c.publish(publish{})
	worker := c.workers(wait(2*time.Second), atMost(most))
	zombie := c.pull(worker)
	next := c.pull(worker)
	c.heartbeat(next)
	c.works(300 * time.Millisecond)
	c.answer(zombie, "-NAK")
	if m := c.tryPull(worker, 500*time.Millisecond); (m != nil) != (most > 2) {
		c.must(errors.New("the broker did not take the nak"))
	}
}

// endReason holds when the n-th attempt of a message is said to have ended for a reason.
func endReason(message, n int, text string) claim {
	return func(s story) error {
		m := s.message(message)
		if m == nil || len(m.Attempts) < n || !strings.Contains(m.Attempts[n-1].Reason, text) {
			return fmt.Errorf("attempt %d of message %d is not said to have ended because %s: %+v", n, message, text, m)
		}
		return nil
	}
}

// notLapsed holds unless the lease of the last attempt is said to have run out for certain.
var notLapsed = silent("lapsed without an answer")

// earlier are answers of workers whose consumer was deleted: the next one of its name counts its deliveries from one again.
var earlier = []situation{{
	name:  "the first attempt's worker hands back what the last one's has",
	act:   func(c *clients) { c.handsBack(2) },
	may:   all(is("exhausted"), attempts(0, 2, 2), says("or the nak of attempt 1 handed it back"), notLapsed),
	never: all(isNot(done...), notLapsed),
}, {
	name:  "the first attempt's worker hands back what the second one's has, and a third begins",
	act:   func(c *clients) { c.handsBack(3) },
	may:   all(attempts(0, 3, 3), endReason(0, 2, "or the nak of attempt 1 handed it back")),
	never: isNot(done...),
}, {
	name: "the worker of a deleted consumer sends a heartbeat for its third delivery, and the next one's worker has its first",
	act: func(c *clients) {
		old, _ := c.thirdTime()
		c.heartbeat(old)
	},
	may:   all(is("delivered", "processing"), current(1), bound, findsNo(wrongs...)),
	never: all(isNot("exhausted", "completed"), sinceThird, findsNo(wrongs...)),
}, {
	name: "the worker of a deleted consumer hands its third delivery back, and the next one's worker has its first",
	act: func(c *clients) {
		old, next := c.thirdTime()
		c.answer(old, "-NAK")
		c.works(time.Second)
		c.heartbeat(next)
		if c.tryPull(c.workers(wait(10*time.Minute)), time.Second) != nil {
			c.must(errors.New("the broker took the nak"))
		}
	},
	may:   all(is("processing"), current(1), bound, findsNo(wrongs...)),
	never: all(isNot("exhausted", "completed"), findsNo(wrongs...)),
}, {
	name: "the worker of a deleted consumer acknowledges its third delivery, and the next one's worker has its first",
	act: func(c *clients) {
		old, _ := c.thirdTime()
		c.ack(old)
	},
	may:   all(is("completed"), says("attempt 3 of its former consumer"), findsNo(wrongs...)),
	never: all(isNot("exhausted", "terminated", "removed"), sinceThird, findsNo(wrongs...)),
}, {
	name: "the worker of a deleted consumer gives its third delivery up, and the next one's worker has its first",
	act: func(c *clients) {
		old, _ := c.thirdTime()
		c.term(old, "impossible_task")
	},
	may:   all(is("terminated"), says("attempt 3 of its former consumer"), findsNo(wrongs...)),
	never: all(isNot("completed", "removed"), sinceThird, findsNo(wrongs...)),
}, {
	name: "the worker of a deleted consumer sends a heartbeat for its second delivery, and the next one's worker has what others were delivered before",
	act: func(c *clients) {
		for i := range 3 {
			c.publish(publish{task: fmt.Sprint("before", i)})
		}
		zero := c.publish(publish{})
		worker := c.workers(atOnce(4))
		old := c.pull(worker)
		for range 3 {
			old = c.pull(worker)
		}
		c.answer(old, "-NAK")
		old = c.pull(worker)
		if meta, err := old.Metadata(); err != nil || meta.Sequence.Stream != zero.seq || meta.Sequence.Consumer != 5 {
			c.must(errors.Join(err, errors.New("the broker delivers another message")))
		}
		c.deleteConsumer()
		worker = c.workers()
		for range 2 {
			c.answer(c.pull(worker), "-NAK")
		}
		for range 3 {
			c.ack(c.pull(worker))
		}
		c.pull(worker)
		c.works(time.Second)
		c.heartbeat(old)
	},
	may:   all(is("delivered", "processing"), current(1), bound, findsNo(wrongs...)),
	never: all(isNot("exhausted", "completed"), findsNo(wrongs...)),
}, {
	name: "the worker of a deleted consumer answers its third delivery, and the next one has not delivered the message",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(5))
		c.pull(worker)
		c.pull(worker)
		old := c.pull(worker)
		c.deleteConsumer()
		c.workers(wait(10 * time.Minute))
		c.works(time.Second)
		c.heartbeat(old)
	},
	may:   all(is("published"), findsNo(wrongs...)),
	never: all(isNot("exhausted", "completed"), findsNo(wrongs...)),
}, {
	name: "the worker of the second attempt gives up what the third has",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(time.Second))
		c.pull(worker)
		older := c.pull(worker)
		c.heartbeat(c.pull(worker))
		c.works(300 * time.Millisecond)
		c.term(older, "impossible_task")
		c.until("the message leaves", func() bool { return !c.there(zero) })
	},
	may:   all(is("terminated"), ended("timed_out", "terminated", "removed"), says("attempt 2 of 3 was terminated"), silent("still has it", "a worker has")),
	never: isNot("completed", "exhausted", "removed"),
}, {
	name: "an agent reports that it took the first attempt, before its consumer was created again and after that",
	act: func(c *clients) {
		c.publish(publish{})
		claim := func(m jetstream.Msg) {
			c.report(c.agent, "claimed", "", map[string]any{"message_id": m.Headers().Get("Nats-Msg-Id"), "attempt": 1})
		}
		m := c.pull(c.workers())
		c.heartbeat(m)
		claim(m)
		c.works(time.Second)
		c.deleteConsumer()
		m = c.pull(c.workers())
		c.works(500 * time.Millisecond)
		claim(m)
	},
	may:   all(is("processing"), current(1), findsNo(wrongs...)),
	never: all(isNot("failed", "exhausted", "completed"), findsNo(wrongs...)),
}}

// ended holds when the attempts of the message ended in these ways, in their order.
func ended(ways ...string) claim {
	return func(s story) error {
		m := s.message(0)
		if m == nil {
			return errors.New("the message is not known")
		}
		var got []string
		for _, a := range m.Attempts {
			got = append(got, a.End)
		}
		if !slices.Equal(got, ways) {
			return fmt.Errorf("the attempts ended %v, not %v", got, ways)
		}
		return nil
	}
}

// current holds when the last attempt that is told of the message is one of the living consumer and has a number.
func current(n int) claim {
	return func(s story) error {
		m := s.message(0)
		if m == nil || len(m.Attempts) == 0 {
			return errors.New("no attempt is told")
		}
		if last := m.Attempts[len(m.Attempts)-1]; last.N != n || last.Former {
			return fmt.Errorf("the last attempt is number %d, not %d of the living consumer", last.N, n)
		}
		return nil
	}
}
