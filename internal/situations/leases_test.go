//go:build linux

package situations

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// noFuture holds while no lease of the task claims a deadline that is still to come.
func noFuture(s story) error {
	t := s.told()
	if t == nil || t.Lease == nil || t.Lease.DeadlineAt == nil || t.Lease.DeadlineAt.Before(time.Now()) {
		return nil
	}
	return fmt.Errorf("the lease is said to last until %s", t.Lease.DeadlineAt)
}

// bound holds when the lease ends in the future.
func bound(s story) error {
	if t := s.told(); t == nil || t.Lease == nil || t.Lease.DeadlineAt == nil || t.Lease.DeadlineAt.Before(time.Now()) {
		return errors.New("no lease lasts")
	}
	return nil
}

// heartbeatOf holds when the lease says which attempt sent its last heartbeat.
func heartbeatOf(n int) claim {
	return func(s story) error {
		if t := s.told(); t == nil || t.Lease == nil || t.Lease.Sender == nil || *t.Lease.Sender != n {
			return fmt.Errorf("the lease does not say that attempt %d sent the last heartbeat", n)
		}
		return nil
	}
}

// neverOfAttempt makes claims that count from when Fleetglass knows an attempt of the message.
func neverOfAttempt(n int, claims ...claim) claim {
	return func(s story) error {
		if m := s.message(0); m == nil || len(m.Attempts) < n {
			return nil
		}
		return all(claims...)(s)
	}
}

// noExact holds while no deadline of the task is said to be the time at which its lease runs out.
func noExact(s story) error {
	if t := s.told(); t != nil && t.Lease != nil && t.Lease.DeadlineAt != nil && !t.Lease.AtLatest {
		return fmt.Errorf("the lease is said to end at %s, and not before", t.Lease.DeadlineAt)
	}
	return nil
}

// leases are kept by the broker for each stream sequence.
var leases = []situation{{
	name: "a deadline has passed, and nobody asks for the message",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(wait(time.Second)))
		c.works(2 * time.Second)
	},
	may: all(is("failed"), says("due since"), silent("delivers it again", "will be delivered"), noFuture),
}, {
	name: "a heartbeat after the deadline changes nothing",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(5*time.Second), func(cfg *jetstream.ConsumerConfig) {
			cfg.BackOff = []time.Duration{time.Second, 10 * time.Minute}
		}))
		c.works(2 * time.Second)
		c.heartbeat(m)
	},
	may: all(is("failed"), says("due since"), noFuture),
}, {
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
	name: "nobody knows when an attempt began, and its first heartbeat comes late",
	mode: afterwards, // Of a consumer's deliveries the broker keeps the time of the last.
	act: func(c *clients) {
		worker := c.workers(wait(6*time.Second), atOnce(2))
		c.publish(publish{})
		first := c.pull(worker)
		c.publish(publish{task: "last"})
		c.inTime(c.seqOf(c.pull(worker)) != c.seqOf(first), "the broker delivered the first message again")
		c.works(7 * time.Second)
		c.heartbeat(first)
	},
	never: noExact,
	may:   all(is("failed"), attempts(0, 1, 1), says("or longer")),
}, {
	name: "nobody knows when an attempt began",
	mode: afterwards, // Of a consumer's deliveries the broker keeps the time of the last.
	act: func(c *clients) {
		worker := c.workers(wait(20*time.Second), atOnce(2))
		c.publish(publish{})
		c.pull(worker)
		c.publish(publish{task: "last"})
		c.works(3 * time.Second)
		c.pull(worker)
		c.works(8 * time.Second)
	},
	settle: 10 * time.Second, // The last fifth of the wait begins meanwhile.
	never:  neverStale("expiring"),
	may:    attempts(0, 1, 1),
}, {
	name: "a zombie's heartbeats keep the lease of the next attempt alive",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(4 * time.Second))
		zombie := c.pull(worker)
		c.works(4200 * time.Millisecond)
		c.pull(worker)
		for range 10 {
			c.works(500 * time.Millisecond)
			c.heartbeat(zombie)
		}
		c.inTime(c.tryPull(worker, 100*time.Millisecond) == nil, "the broker delivered a third time")
	},
	never: neverOfAttempt(2, isNot("exhausted"), neverStale("presumed_dead")),
	may:   all(attempts(0, 2, 2), either(is("failed"), neverStale("stale"))),
}, {
	name: "a zombie's heartbeat extends the deadline that is shown",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(func(cfg *jetstream.ConsumerConfig) {
			cfg.BackOff = []time.Duration{2 * time.Second, 20 * time.Second, time.Minute}
			cfg.MaxDeliver = 4
		})
		zombie := c.pull(worker)
		c.works(time.Second)
		c.heartbeat(zombie)
		c.works(2200 * time.Millisecond)
		c.pull(worker)
		for range 22 { // For longer than the attempt has time, so that only the heartbeats keep it.
			c.works(time.Second)
			c.heartbeat(zombie)
		}
		c.keepsBeating(zombie) // A busy machine is slow to look at the broker afterwards.
	},
	mode:  live, // Afterwards the lease has run out.
	never: neverOfAttempt(2, neverStale("presumed_dead", "stale", "expiring"), isNot("failed", "exhausted")),
	may:   all(is("redelivered", "processing"), attempts(0, 2, 2), bound, says("the worker of attempt 1, which lost it, sends heartbeats"), heartbeatOf(1)),
}, {
	name: "a worker sends heartbeats, and nobody captures them",
	on:   land{name: "answers that nobody captures"},
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(2 * time.Second)))
		c.uncapture("OBS_ACK")
		c.keepsBeating(m)
		c.works(5 * time.Second)
	},
	never: all(isNot("failed", "exhausted"), neverStale("stale", "presumed_dead", "stuck"), silent("due since")),
	may:   all(isNot("failed", "exhausted", "completed"), neverStale("stale", "presumed_dead", "expiring")),
}, {
	name: "a worker's heartbeats are captured again after a while",
	on:   land{name: "answers that nobody captured for a while"},
	mode: live,
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(5 * time.Second)))
		c.keepsBeating(m) // On a busy machine it takes longer than the lease until they are seen.
		c.works(time.Second)
		c.seen()
		again := c.uncapture("OBS_ACK")
		c.works(7 * time.Second)
		again()
		c.works(7 * time.Second)
	},
	never: all(isNot("failed", "exhausted"), neverStale("stale", "presumed_dead", "stuck"), silent("due since")),
	may:   all(is("processing"), bound),
}}
