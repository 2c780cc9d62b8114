//go:build linux

package situations

import (
	"fmt"
	"net/http"
	"time"
)

// heldActions are messages in a worker's hands about which somebody decides through Fleetglass.
var heldActions = []situation{{
	name: "a message in flight is handed back, and the next worker completes it",
	mode: live,
	act: func(c *clients) {
		zero, workers := c.publish(publish{}), c.workers(wait(10*time.Minute))
		c.pull(workers)
		c.decides(zero, "release")
		c.ack(c.pull(workers))
	},
	may:   all(is("completed"), ended("naked", "acked"), counts(layers{})),
	never: isNot("exhausted", "terminated"),
}, {
	name: "a message in flight is handed back, and no worker asks for it",
	mode: live,
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.pull(c.workers(wait(10 * time.Minute)))
		c.decides(zero, "release")
	},
	may:   all(is("failed"), ended("naked"), says("next free worker"), says("handed it back through Fleetglass"), silent("nothing to do")),
	never: isNot("exhausted", "terminated", "completed"),
}, {
	name: "a message in flight is handed back, and the worker that had it acknowledges while the next one has it",
	mode: live,
	act: func(c *clients) {
		zero, workers := c.publish(publish{}), c.workers(wait(10*time.Minute))
		former := c.pull(workers)
		c.decides(zero, "release")
		c.pull(workers)
		c.seen()
		c.ack(former)
	},
	may:   all(is("completed"), attempts(0, 2, 2)),
	never: isNot("exhausted", "terminated"),
}, {
	name: "two workers' consumers have one message: one's is handed back, and the other's worker reports",
	mode: live,
	on:   limits,
	act: func(c *clients) {
		zero, workers, other := c.publish(publish{}), c.workers(wait(10*time.Minute)), c.consumer(second(c.agent, wait(20*time.Minute)))
		c.pull(other)
		c.answer(c.pull(workers), "-NAK")
		c.pull(workers)
		c.report(c.agent, "claimed", "", map[string]any{"message_id": c.task(""), "attempt": 2})
		c.decides(zero, "release") // Of two that have it, the one with the most attempts decides about the message.
		c.ack(c.pull(workers))
	},
	may:   all(is("delivered"), takenBy(0, byFirst, 3, "acked"), takenBy(0, bySecond, 1, "open"), heldBy(bySecond), leaseOf(1)),
	never: isNot("exhausted", "terminated", "completed"),
}, {
	name: "a message in flight is taken away from its worker, which acknowledges afterwards",
	mode: live,
	act: func(c *clients) {
		zero := c.publish(publish{})
		m := c.pull(c.workers(wait(10 * time.Minute)))
		c.decides(zero, "quarantine")
		c.ack(m)
	},
	may:   all(is("triaged"), attempts(0, 1, 1)),
	never: isNot("completed", "terminated"),
}, {
	name: "an attempt is marked as resolved, and its worker acknowledges in time",
	mode: live,
	act: func(c *clients) {
		zero := c.publish(publish{})
		m := c.pull(c.workers(wait(10 * time.Minute)))
		c.decides(zero, "reconcile")
		c.ack(m)
	},
	may:   all(is("completed"), ended("acked")),
	never: isNot("exhausted", "terminated"),
}}

// decides acts on a message in flight through Fleetglass, and waits until that is over.
func (c *clients) decides(l letter, action string) {
	var id string
	var params map[string]any
	if action == "release" {
		params = map[string]any{"force": true, "force_reason": "the clients want it so"}
	}
	c.seen()
	c.until(action+" is granted", func() (granted bool) {
		var status int
		status, id, _ = c.call(fmt.Sprintf("/in-flight/%s/%d/actions", l.stream, l.seq), map[string]any{"action": action, "reason": "it is tried", "params": params})
		return status == http.StatusAccepted
	})
	var o operation
	c.until(action+" is over", func() bool {
		var err error
		o, err = c.outcome(c.ctx, id)
		return err == nil && o.over()
	})
	if o.Status != "succeeded" {
		c.must(fmt.Errorf("%s did not succeed: %+v", action, o))
	}
}

// leaseOf holds when the lease on the newest message is that of an attempt.
func leaseOf(n int) claim {
	return func(s story) error {
		if t := s.told(); t == nil || t.Lease == nil || t.Lease.Attempt == nil || *t.Lease.Attempt != n {
			return fmt.Errorf("there is no lease of attempt %d", n)
		}
		return nil
	}
}
