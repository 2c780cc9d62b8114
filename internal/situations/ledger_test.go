//go:build linux

package situations

import (
	"errors"
	"strings"
	"time"
)

// ledger claims only what is proved.
var ledger = []situation{{
	name: "the second attempt acknowledges at once after a record of its key",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(2 * time.Second))
		c.pull(worker)
		c.works(1500 * time.Millisecond)
		c.record("", said(zero))
		c.works(time.Second)
		c.ack(c.pull(worker))
	},
	may: all(is("completed"), counts(layers{idempotency: 1})),
}, {
	name: "both attempts run at once, and there is one record",
	act: func(c *clients) {
		zero := c.publish(publish{})
		worker := c.workers(wait(1500 * time.Millisecond))
		c.pull(worker)
		c.works(1700 * time.Millisecond)
		m := c.pull(worker)
		c.heartbeat(m)
		c.works(500 * time.Millisecond)
		c.record("", said(zero))
		c.works(300 * time.Millisecond)
		c.ack(m)
	},
	may: all(is("completed"), countsAtMost(layers{unknown: 1})),
	never: all(countsAtMost(layers{unknown: 1}), func(s story) error {
		if t := s.told(); t != nil {
			for _, a := range t.Anomalies {
				if a.Code == "duplicate_unknown" && strings.Contains(a.Meaning, "after completion") {
					return errors.New("it is said to be delivered again after completion: " + a.Meaning)
				}
			}
		}
		return nil
	}),
}}
