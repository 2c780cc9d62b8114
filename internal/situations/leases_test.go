//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// bound holds when the lease ends in the future.
func bound(s story) error {
	if t := s.told(); t == nil || t.Lease == nil || t.Lease.DeadlineAt == nil || t.Lease.DeadlineAt.Before(time.Now()) {
		return errors.New("no lease lasts")
	}
	return nil
}

// leases are kept by the broker for each stream sequence.
var leases = []situation{{
	name: "a heartbeat after the deadline does not keep the message from the next pull",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(5*time.Second), func(cfg *jetstream.ConsumerConfig) {
			cfg.BackOff = []time.Duration{time.Second, 10 * time.Minute}
		})
		m := c.pull(worker)
		c.works(2 * time.Second)
		c.heartbeat(m)
		c.heartbeat(c.pull(worker))
	},
	may: all(is("redelivered"), attempts(0, 2, 2), bound),
}, {
	name: "a zombie's heartbeats keep the lease of the next attempt alive",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(2 * time.Second))
		zombie := c.pull(worker)
		c.works(2200 * time.Millisecond)
		c.pull(worker)
		for range 10 {
			c.works(500 * time.Millisecond)
			c.heartbeat(zombie)
		}
		if c.tryPull(worker, 100*time.Millisecond) != nil {
			c.must(errors.New("the broker delivered a third time"))
		}
	},
	never: func(s story) error {
		if m := s.message(0); m == nil || len(m.Attempts) < 2 {
			return nil
		}
		return all(isNot("exhausted"), neverStale("presumed_dead"))(s)
	},
	may: all(attempts(0, 2, 2), either(is("failed"), neverStale("stale"))),
}}
