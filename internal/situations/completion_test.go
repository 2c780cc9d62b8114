//go:build linux

package situations

// completion is bound to one idempotency key and one message.
var completion = []situation{{
	name: "a record names one of two messages of its key",
	act: func(c *clients) {
		c.publish(publish{})
		one := c.publish(publish{id: c.task("") + ":again"})
		worker := c.workers(atOnce(2))
		c.pull(worker)
		m := c.pull(worker)
		c.record("", said(one))
		c.ack(m)
	},
	may:   all(messageIs(1, "completed"), messageIsNot(0, "completed")),
	never: messageIsNot(0, "completed"),
}}
