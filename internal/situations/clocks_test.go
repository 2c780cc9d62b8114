//go:build linux

package situations

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// clockOf is a land whose broker's clock one row sets.
func clockOf(row string) land { return land{name: "clock: " + row, clocked: true} }

// beginsNow holds while no lease is told to last much longer than its wait, or to be held for longer than the row takes: what is said of it goes by the
// broker's clock.
func beginsNow(wait time.Duration) claim {
	return func(s story) error {
		t := s.told()
		if t == nil || t.Lease == nil || t.Lease.DeadlineAt == nil {
			return nil
		}
		now, err := s.now()
		if err != nil {
			return err
		}
		if left := t.Lease.DeadlineAt.Sub(now); left > wait+time.Second {
			return fmt.Errorf("a lease of %s is said to last for %s more", wait, left)
		}
		if t.Lease.HeldMS != nil && *t.Lease.HeldMS > time.Minute.Milliseconds() {
			return fmt.Errorf("a message is said to be in hand for %d ms", *t.Lease.HeldMS)
		}
		return nil
	}
}

// notDueBefore holds while a message is not called due before its worker had the time that it has, by the clock of this host.
func notDueBefore(wait time.Duration) claim {
	var mu sync.Mutex
	var first time.Time
	return func(s story) error {
		t := s.told()
		mu.Lock()
		defer mu.Unlock()
		if first.IsZero() {
			first = time.Now() // Before its worker has it, or just after: Fleetglass may tell of the attempt a while later.
		}
		if t == nil || t.Attempts == 0 {
			return nil
		}
		if had := time.Since(first); had < wait-2*time.Second {
			return all(isNot("failed", "exhausted"), neverStale("stale", "presumed_dead"))(s)
		}
		return nil
	}
}

// readyzSays holds when a part of Fleetglass says so.
func readyzSays(text string) claim {
	return func(s story) error {
		var r readiness
		if err := s.glass.ask(s.ctx, "/readyz", &r); err != nil {
			return err
		}
		for _, p := range r.Parts {
			if strings.Contains(p.Detail, text) {
				return nil
			}
		}
		return fmt.Errorf("/readyz does not say %q", text)
	}
}

// clocks are what is said where the clock of the broker's host is set while work is under way.
var clocks = []situation{{
	name: "the clock jumps ahead by an hour while a worker has a message, and heartbeats go on",
	on:   clockOf("ahead"),
	mode: live,
	act: func(c *clients) {
		worker := c.workers(wait(30*time.Second), atOnce(3))
		c.publish(publish{})
		m := c.pull(worker)
		c.works(3 * time.Second)
		c.setClock(time.Hour)
		c.works(8 * time.Second)
		c.heartbeat(m)
		c.publish(publish{task: "later"})
		c.pull(worker)
		c.works(4 * time.Second)
		c.ack(m)
	},
	never: all(isNot("failed", "exhausted", "redelivered"), neverStale("stale", "presumed_dead"), findsNo(wrongs...),
		of("later", all(isNot("failed", "completed"), beginsNow(30*time.Second), neverStale("stale")))),
	may: all(is("completed"), gapSays("jumped ahead by 1 h"), readyzSays("jumped ahead by 1 h"), of("later", all(is("delivered"), bound))),
}, {
	name: "the clock jumps ahead while a worker has a message and stays silent",
	on:   clockOf("ahead, silent"),
	mode: live,
	act: func(c *clients) {
		worker := c.workers(wait(15 * time.Second))
		c.publish(publish{})
		c.pull(worker)
		pulled := time.Now()
		c.works(2 * time.Second)
		c.setClock(time.Hour)
		c.works(time.Until(pulled.Add(20 * time.Second)))
		if c.tryPull(worker, time.Second) == nil {
			c.must(errors.New("the broker does not deliver it again"))
		}
	},
	never: notDueBefore(15 * time.Second),
	may:   all(attempts(0, 2, 2), gapSays("jumped ahead by 1 h")),
}, {
	name: "the clock jumps back by an hour while a worker has a message",
	on:   clockOf("back"),
	act: func(c *clients) {
		worker := c.workers(wait(30*time.Second), atOnce(3))
		c.publish(publish{})
		m := c.pull(worker)
		c.works(3 * time.Second)
		c.setClock(-time.Hour)
		c.works(8 * time.Second)
		c.heartbeat(m)
		c.publish(publish{task: "later"})
		later := c.pull(worker)
		c.works(2 * time.Second)
		c.heartbeat(later)
		c.works(4 * time.Second)
		c.ack(later)
		c.ack(m)
	},
	never: all(isNot("failed", "exhausted", "redelivered"), findsNo("consumer_recreated", "late_ack", "vanished"), silent("created again"),
		of("later", all(isNot("failed"), findsNo("consumer_recreated", "late_ack", "vanished"), silent("created again")))),
	may: all(is("completed"), gapSays("back by"), readyzSays("back by"), of("later", is("completed"))),
}, {
	name: "the clock jumps back, and an operator deletes what waits",
	on:   clockOf("back, deleted"),
	act: func(c *clients) {
		c.workers(wait(30 * time.Second))
		waits := c.publish(publish{})
		c.works(3 * time.Second)
		c.setClock(-time.Hour)
		later := c.publish(publish{task: "later"})
		c.works(8 * time.Second)
		c.deleteMessage(waits)
		c.deleteMessage(later)
	},
	never: all(isNot("completed", "failed", "delivered"), of("later", isNot("completed", "failed", "delivered"))),
	may: all(either(is("removed"), all(is("outcome_unknown"), gapSays("back by"))),
		of("later", either(is("removed"), all(is("outcome_unknown"), gapSays("back by"))))),
}}
