//go:build linux

package situations

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// idUnread is a message id under a name that the broker does not know: it stores what comes again under it.
func (c *clients) idUnread() nats.Header {
	return nats.Header{"Nats-Msg-Id": nil, "nats-msg-id": {c.task("")}}
}

// spellings are headers of the broker's, spelled in another way: it takes no notice of them.
var spellings = []situation{{
	name: "a time to live is spelled as the broker does not know it, and an operator deletes the message",
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{header: nats.Header{"Nats-Ttl": {"1s"}}})
		c.works(3 * time.Second)
		c.deleteMessage(zero)
	},
	may:   all(is("removed"), noAttempt(0), says("by an operator")),
	never: all(isNot("completed", "terminated", "exhausted"), silent("its own TTL")),
}, {
	name: "a message id is spelled as the broker does not know it, and both publishes are stored",
	act: func(c *clients) {
		c.workers()
		c.publish(publish{header: c.idUnread()})
		c.publish(publish{header: c.idUnread()})
	},
	may:   all(is("published"), holds("published", "published"), counts(layers{})),
	never: all(silent("swallowed"), countsAtMost(layers{})),
}, {
	name: "a message id is spelled as the broker does not know it, and the second publish is refused",
	on: tasksWith("a full stream", func(c *jetstream.StreamConfig) {
		c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject = jetstream.DiscardNew, true, 1
	}),
	act: func(c *clients) {
		c.workers()
		c.publish(publish{header: c.idUnread()})
		if _, err := c.tryPublish(publish{header: c.idUnread()}); err == nil {
			c.must(errors.New("a full stream takes a message"))
		}
	},
	may:   all(is("published"), counts(layers{})),
	never: countsAtMost(layers{}),
}, {
	name: "an expectation is spelled as the broker does not know it",
	act: func(c *clients) {
		c.workers()
		c.publish(publish{header: nats.Header{"nats-expected-last-sequence": {"12345"}}})
	},
	may:   all(is("published"), counts(layers{})),
	never: countsAtMost(layers{}),
}}
