//go:build linux

package situations

import (
	"time"
)

// wrongs are the anomalies that healthy workers must not be accused of.
var wrongs = []string{"late_ack", "ack_refuted", "clock_skew", "vanished"}

// consumers are streams of every retention, several consumers of one subject, and consumers that come, go and change.
var consumers = []situation{{
	name: "a consumer is deleted and created again with work in hand",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers())
		c.works(500 * time.Millisecond)
		c.deleteConsumer()
		m := c.pull(c.workers())
		c.heartbeat(m)
		c.works(500 * time.Millisecond)
		c.ack(m)
	},
	may:   all(is("completed"), findsNo(wrongs...), withinLife),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted"), withinLife),
}, {
	name: "a consumer is created again and its worker takes as long as before",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(atMost(1)))
		c.works(300 * time.Millisecond)
		c.deleteConsumer()
		c.heartbeat(c.pull(c.workers(atMost(1))))
	},
	may:   all(is("delivered", "processing", "redelivered"), findsNo(wrongs...), withinLife),
	never: all(findsNo(wrongs...), neverStale("zombie", "presumed_dead", "stale"), isNot("exhausted"), withinLife),
}, {
	name: "more attempts are allowed, and the next one runs",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(time.Second), atMost(2))
		c.pull(worker)
		c.pull(worker)
		c.works(3 * time.Second)
		c.heartbeat(c.pull(c.workers(wait(10*time.Minute), atMost(5))))
	},
	may: all(is("redelivered"), attempts(0, 3, 3), silent("no attempt is left")),
}, {
	name: "an attempt gets more time while it is in hand",
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers(wait(2 * time.Second)))
		c.workers(wait(10 * time.Minute))
		c.heartbeat(m)
	},
	may:   all(is("processing"), neverStale("stale", "presumed_dead")),
	never: all(isNot("failed"), neverStale("stale", "presumed_dead")),
}}
