//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// pushed makes the agent's consumer one to which the broker sends, with a queue of workers, and returns what the one worker of that
// queue is sent.
func (c *clients) pushed(change ...func(*jetstream.ConsumerConfig)) *nats.Subscription {
	sub, err := c.nc.QueueSubscribeSync("deliver."+c.agent, "workers")
	c.must(err)
	cfg := worker(c.agent)
	cfg.DeliverSubject, cfg.DeliverGroup = sub.Subject, sub.Queue
	for _, f := range change {
		f(&cfg)
	}
	c.halt()
	_, err = c.js.CreateOrUpdatePushConsumer(c.ctx, "TASKS", cfg)
	c.must(err)
	return sub
}

// leaves unsubscribes the one worker of the queue. The broker tells its consumer a moment later, and would count what is published meanwhile as
// delivered.
func (c *clients) leaves(sub *nats.Subscription) {
	c.must(sub.Unsubscribe())
	c.until("the consumer has nobody to send to", func() bool {
		consumer, err := c.js.PushConsumer(c.ctx, "TASKS", c.agent+"-task-worker")
		c.must(err)
		return !consumer.CachedInfo().PushBound
	})
}

// sent is the next message that the broker sends to a subscription.
func (c *clients) sent(sub *nats.Subscription) *nats.Msg {
	m, err := sub.NextMsgWithContext(c.ctx)
	c.must(err)
	return m
}

// begins says from where a consumer delivers.
func begins(from jetstream.DeliverPolicy) func(*jetstream.ConsumerConfig) {
	return func(c *jetstream.ConsumerConfig) { c.DeliverPolicy = from }
}

// ways are ways to take work that the contract does not use, and that a broker allows.
var ways = []situation{{
	name: "the broker sends to a queue of workers, and one acknowledges",
	act: func(c *clients) {
		sub := c.pushed()
		c.publish(publish{})
		c.send(nats.NewMsg(c.sent(sub).Reply), "+ACK")
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "the broker sends to a queue of workers, and nobody answers",
	act: func(c *clients) {
		sub := c.pushed(wait(2*time.Second), atMost(2))
		c.publish(publish{})
		c.sent(sub)
		c.sent(sub)
		c.works(3 * time.Second)
	},
	may:   all(is("exhausted"), attempts(0, 2, 2), ended("timed_out", "timed_out")),
	never: all(isNot(append(done, "removed")...), silent("pull")),
}, {
	name: "the broker would send to a queue of workers, and none of them is connected",
	act: func(c *clients) {
		sub := c.pushed()
		c.leaves(sub)
		c.publish(publish{})
	},
	may:   all(is("published"), noAttempt(0), says("no worker is subscribed")),
	never: all(isNot(done...), silent("pull")),
}, {
	name: "a worker hands back what the broker sent, and nobody is subscribed any more",
	act: func(c *clients) {
		sub := c.pushed(atOnce(2))
		c.publish(publish{})
		m := c.sent(sub)
		c.leaves(sub)
		c.works(time.Second)
		c.send(nats.NewMsg(m.Reply), "-NAK")
	},
	may:   all(is("failed"), attempts(0, 1, 1), says("no worker is subscribed"), silent("next free worker")),
	never: isNot(append(done, "removed")...),
}, {
	name: "the worker acknowledges and asks for the next in one line",
	act: func(c *clients) {
		c.publish(publish{})
		c.answer(c.pull(c.workers()), "+NXT")
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "the worker acknowledges twice, and waits for the broker's word each time",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		c.must(m.DoubleAck(c.ctx))
		_, err := c.nc.RequestWithContext(c.ctx, m.Reply(), []byte("+ACK"))
		c.must(err)
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "limits retention: the workers' consumer begins with what comes after the message",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{})
		c.nothing(c.workers(begins(jetstream.DeliverNewPolicy)))
	},
	may:   all(is("outcome_unknown"), noAttempt(0), says("is past it")),
	never: all(isNot(done...), silent("next free worker")),
}, {
	name: "limits retention: the workers' consumer begins with the newest of its subject",
	on:   limits,
	act: func(c *clients) {
		c.publish(publish{task: "older"})
		c.publish(publish{})
		c.ack(c.pull(c.workers(begins(jetstream.DeliverLastPerSubjectPolicy))))
	},
	may:   all(is("completed"), of("older", all(is("outcome_unknown"), noAttempt(0), says("is past it")))),
	never: of("older", all(isNot(done...), noAttempt(0))),
}, {
	name: "the workers' consumer goes by itself while a worker has the message",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(10*time.Second), func(cfg *jetstream.ConsumerConfig) { cfg.InactiveThreshold = 3 * time.Second })
		c.heartbeat(c.pull(worker))
		for until := time.Now().Add(patience); ; pause(c.ctx, sampling) {
			if _, err := worker.Info(c.ctx); errors.Is(err, jetstream.ErrConsumerNotFound) {
				return
			} else if time.Now().After(until) {
				c.must(errors.New("the consumer does not go"))
			}
		}
	},
	may:    all(isNot(done...), attempts(0, 1, 1), says(noConsumer...), silent("the broker delivers it again")),
	never:  isNot(append(done, "removed")...), // From nats-server 2.15.2 on it goes only after the lease has run out.
	settle: 12 * time.Second,
}, {
	name: "the worker is given headers alone",
	act: func(c *clients) {
		c.publish(publish{})
		c.ack(c.pull(c.workers(func(cfg *jetstream.ConsumerConfig) { cfg.HeadersOnly = true })))
	},
	may:   all(is("completed"), attempts(0, 1, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "limits retention: somebody reads the whole stream in order, and nobody works",
	on:   limits,
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		reader, err := c.js.OrderedConsumer(c.ctx, "TASKS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{worker(c.agent).FilterSubject}})
		c.must(err)
		if c.tryPull(reader, patience) == nil {
			c.must(errors.New("the reader is given nothing"))
		}
	},
	may:   all(is("published"), noAttempt(0)),
	never: all(isNot(append(done, "delivered", "processing")...), noAttempt(0)),
}}
