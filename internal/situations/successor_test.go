//go:build linux

package situations

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// succeeded makes another workers' consumer take the subject of a message in a work queue while the first one's worker has it: the broker gives the message to a worker of the other one
// too, and still awaits the answer of the first.
func (c *clients) succeeded(first, next time.Duration) (a, b jetstream.Msg, worker, successor jetstream.Consumer) {
	worker = c.workers(wait(first), c.only("work"))
	c.publish(publish{})
	a = c.pull(worker)
	c.heartbeat(a)
	worker = c.workers(wait(first), c.only("other"))
	successor = c.consumer(second(c.agent, wait(next), c.only("work")))
	return a, c.pull(successor), worker, successor
}

// successors are messages of a work queue that a consumer comes to take while the worker of another one has them: each has attempts and leases of its own.
var successors = []situation{{
	name: "a consumer of a work queue comes to take what another one's worker has, and that one acknowledges it",
	act: func(c *clients) {
		a, b, _, _ := c.succeeded(10*time.Minute, 10*time.Minute)
		c.heartbeat(b)
		c.works(time.Second)
		c.ack(a) // The broker keeps the message for the other one.
	},
	may:   all(is("processing"), takenBy(0, byFirst, 1, "acked"), takenBy(0, bySecond, 1, "open"), findsNo(wrongs...)),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "a consumer of a work queue comes to take what another one's worker has, and its own acknowledges it",
	act: func(c *clients) {
		_, b, _, _ := c.succeeded(30*time.Second, 30*time.Second)
		c.works(time.Second)
		c.ack(b)
	},
	may:   all(is("completed"), attempts(0, 2, 1), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "a consumer of a work queue comes to take what another one's worker has, and nobody answers",
	act: func(c *clients) {
		_, b, _, _ := c.succeeded(10*time.Minute, 10*time.Minute)
		c.heartbeat(b)
	},
	may:   all(is("processing"), takenBy(0, byFirst, 1, "open"), takenBy(0, bySecond, 1, "open"), findsNo(wrongs...)),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "a consumer of a work queue comes to take what another one's worker has, and both deliver it again",
	act: func(c *clients) {
		_, _, worker, successor := c.succeeded(time.Second, time.Second)
		c.works(1500 * time.Millisecond)
		c.heartbeat(c.pull(worker))
		c.works(1500 * time.Millisecond)
		c.ack(c.pull(successor))
	},
	may:   all(is("completed"), attempts(0, 4, 2), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}, {
	name: "a consumer of a work queue is given the subject of what another one's worker has, and nobody answers",
	act: func(c *clients) {
		c.consumer(second(c.agent, wait(10*time.Minute), c.only("third")))
		_, b, _, _ := c.succeeded(10*time.Minute, 10*time.Minute)
		c.heartbeat(b)
	},
	may:   all(is("processing"), takenBy(0, byFirst, 1, "open"), takenBy(0, bySecond, 1, "open"), findsNo(wrongs...)),
	never: all(isNot(done...), findsNo(wrongs...)),
}, {
	name: "a consumer of a work queue is given the subject of what another one's worker has, and that one acknowledges it before the next one delivers it",
	act: func(c *clients) {
		c.consumer(second(c.agent, c.only("third")))
		worker := c.workers(c.only("work"))
		c.publish(publish{})
		a := c.pull(worker)
		c.workers(c.only("other"))
		c.consumer(second(c.agent, c.only("work")))
		c.ack(a)
	},
	may:   all(is("published"), takenBy(0, byFirst, 1, "acked"), findsNo(wrongs...)),
	never: findsNo(wrongs...),
}}
