//go:build linux

package situations

import (
	"time"

	"github.com/nats-io/nats.go"
)

// rollsUp is the header of a publish that removes older messages: of its subject ("sub") or all of its stream ("all").
func rollsUp(what string) nats.Header { return nats.Header{"Nats-Rollup": {what}} }

// rollups are removals by a publisher. Whoever may publish to a stream that allows them removes what waits there.
var rollups = []situation{{
	name: "a publish rolls up its subject before any delivery",
	on:   rolledUp,
	act: func(c *clients) {
		c.workers()
		c.publish(publish{})
		c.publish(publish{task: "elsewhere", kind: "other"})
		c.publish(publish{task: "newer", header: rollsUp("sub")})
	},
	may:   all(is("removed"), noAttempt(0), says("a rollup"), of("newer", is("published")), of("elsewhere", is("published"))),
	never: all(isNot("completed", "terminated", "exhausted"), silent("by an operator."), of("newer", isNot("removed")), of("elsewhere", isNot("removed"))),
}, {
	name: "a publish rolls up its subject, and a worker does it before anybody looks",
	on:   rolledUp,
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{})
		c.publish(publish{task: "newer", header: rollsUp("sub")})
		c.ack(c.pull(worker))
	},
	may:   all(is("removed"), noAttempt(0), says("a rollup")),
	never: all(isNot("completed", "terminated", "exhausted"), silent("by an operator.")),
}, {
	name: "a publish rolls up its subject while a worker has a message of it",
	on:   rolledUp,
	act: func(c *clients) {
		c.publish(publish{})
		c.heartbeat(c.pull(c.workers()))
		c.works(time.Second)
		c.publish(publish{task: "newer", header: rollsUp("sub")})
	},
	may:   all(is("outcome_unknown"), attempts(0, 1, 1), says("a rollup")),
	never: all(isNot("completed", "terminated", "exhausted", "removed"), silent("by an operator.", "gave it up")),
}, {
	name: "a publish rolls up the whole stream",
	on:   rolledUpWhole,
	act: func(c *clients) {
		c.workers()
		c.publish(publish{kind: "other"})
		c.publish(publish{task: "newer", header: rollsUp("all")})
	},
	may:   all(is("removed"), noAttempt(0), says("a rollup"), of("newer", is("published"))),
	never: all(isNot("completed", "terminated", "exhausted"), silent("by an operator.")),
}, {
	name: "an operator deletes a message of a stream that allows rollups",
	on:   rolledUp,
	act: func(c *clients) {
		c.workers()
		zero := c.publish(publish{kind: "other"})
		c.publish(publish{task: "newer", header: rollsUp("sub")})
		c.deleteMessage(zero)
	},
	may:   all(is("removed"), noAttempt(0)),
	never: all(isNot("completed"), silent("by an operator.")),
}}
