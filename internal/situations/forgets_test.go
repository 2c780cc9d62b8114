//go:build linux

package situations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// meanwhile does something to the broker, which stops and starts again.
func (c *clients) meanwhile(do func() error) {
	c.must(do())
	c.until("the broker answers", func() bool { // What was asked while the connection broke has no answer.
		ctx, cancel := context.WithTimeout(c.ctx, 2*time.Second)
		defer cancel()
		_, err := c.js.AccountInfo(ctx)
		return err == nil
	})
}

// forgetful is for rows whose broker forgets.
func forgetful(of string) land { return land{name: "forgets: " + of, forgets: true} }

// kept lets the broker keep three tasks: one is done, a worker has one, and one waits.
func (c *clients) kept() (worker jetstream.Consumer) {
	worker = c.workers(atOnce(5), wait(10*time.Minute))
	for _, task := range []string{"done", "held", "waits"} {
		c.publish(publish{task: task})
	}
	c.ack(c.pull(worker))
	c.heartbeat(c.pull(worker))
	c.seen()
	c.meanwhile(c.memory.Keep)
	return worker
}

// forgotten publishes two more, one of which is done, and waits until Fleetglass has read that, where it watches. The broker is to forget them.
func (c *clients) forgotten(worker jetstream.Consumer) {
	c.publish(publish{task: "forgotten-done", kind: "a"})
	c.publish(publish{task: "forgotten-waits", kind: "b"})
	c.pull(worker) // "waits"
	c.ack(c.pull(worker))
	c.untilStateIs("forgotten-done", "completed")
	c.untilStateIs("forgotten-waits", "published")
	c.seen()
}

// doneAndForgotten lets a worker take two messages and acknowledge the second one, which the broker is to forget, and waits until Fleetglass has told that for a while.
func (c *clients) doneAndForgotten() (worker jetstream.Consumer) {
	worker = c.workers(atOnce(5), wait(10*time.Minute))
	c.publish(publish{task: "held"})
	c.publish(publish{task: "done", kind: "x"})
	c.seen()
	c.meanwhile(c.memory.Keep)
	c.pull(worker)
	m := c.pull(worker)
	c.record("done", nil)
	c.ack(m)
	c.untilStateIs("done", "completed")
	c.works(4 * time.Second)
	return worker
}

// untilStateIs waits until Fleetglass tells that a task is in a state, where it watches.
func (c *clients) untilStateIs(task, state string) {
	c.until("Fleetglass tells that "+task+" is "+state, func() bool {
		var told seen
		return c.glass == nil || c.glass.ask(c.ctx, "/api/v1/tasks/"+c.task(task), &told) == nil && told.State == state
	})
}

// isBack waits until a message that had left its stream is there again.
func (c *clients) isBack(task string) {
	c.until("it is back", func() bool { return c.there(c.stored[c.task(task)][0]) })
}

// goesOn publishes two more, under the numbers of those that were forgotten.
func (c *clients) goesOn(worker jetstream.Consumer) {
	c.publish(publish{task: "after-done", kind: "c"})
	c.publish(publish{task: "after-waits", kind: "d"})
	c.pull(worker) // "waits", once more
	c.ack(c.pull(worker))
}

// unblamed holds when nobody is blamed for what the broker forgot.
var unblamed = findsNo("publish_unseen", "forged", "ack_unproved", "ack_refuted", "late_ack", "not_stored", "consumer_recreated", "clock_skew")

// goneOn is what may be said of the tasks that the broker has in the end.
var goneOn = all(
	of("done", all(is("completed"), unblamed)),
	of("held", all(is("delivered", "processing"), unblamed)),
	of("waits", all(is("delivered", "processing"), unblamed)),
	of("after-done", all(is("completed"), unblamed)),
	of("after-waits", all(is("published"), says("It waits for a worker"), unblamed)),
)

// remembered is what may be said of the tasks that the broker forgot, and Fleetglass saw.
var remembered = all(
	of("forgotten-done", all(is("completed"), unblamed)),
	of("forgotten-waits", all(is("outcome_unknown", "removed"), unblamed, gapSays("the broker forgot"))),
)

// neverAgain is what must never be said of tasks that the broker stored and has.
var neverAgain = eachOf([]string{"done", "held", "waits", "forgotten-done", "after-done", "after-waits"}, silent("publish it again", "nothing was stored"))

// forgetting is of brokers that forget what they had stored last, and give its numbers to others.
var forgetting = []situation{{
	name: "the broker forgets its last messages, and stores others under their numbers",
	on:   forgetful("live"),
	mode: live,
	act: func(c *clients) {
		worker := c.kept()
		c.forgotten(worker)
		c.meanwhile(c.memory.SetBack)
		c.goesOn(worker)
	},
	may:   all(goneOn, remembered),
	never: all(neverAgain, of("forgotten-done", isNot("removed", "exhausted"))),
}, {
	name: "the broker forgets its last messages, and stores others under their numbers before anybody looks",
	on:   forgetful("afterwards"),
	mode: afterwards,
	act: func(c *clients) {
		worker := c.kept()
		c.forgotten(worker)
		c.meanwhile(c.memory.SetBack)
		c.goesOn(worker)
	},
	may:   goneOn,
	never: neverAgain,
}, {
	name: "the broker forgets its last messages while Fleetglass is down, and stores others under their numbers",
	on:   forgetful("while it is down"),
	mode: live,
	act: func(c *clients) {
		worker := c.kept()
		c.forgotten(worker)
		c.works(2 * time.Second)
		back := make(chan error, 1)
		go func() { back <- c.glass.interrupt(c.ctx, 12*time.Second) }()
		c.until("Fleetglass is down", c.glass.gone)
		c.meanwhile(c.memory.SetBack)
		c.goesOn(worker)
		c.publish(publish{task: "more", kind: "e"})
		c.must(<-back)
	},
	may:   all(goneOn, remembered, of("more", all(is("published"), unblamed))),
	never: all(neverAgain, of("forgotten-done", isNot("removed", "exhausted"))),
}, {
	name: "the broker cannot read some of its messages any more",
	on:   forgetful("unreadable"),
	mode: live,
	act: func(c *clients) {
		c.workers()
		for i := range 9 { // A file of a queue has four megabytes.
			c.publish(publish{task: fmt.Sprintf("t%d", i), kind: fmt.Sprintf("kind%d", i), body: strings.Repeat("x", 900_000)})
		}
		c.seen()
		c.meanwhile(func() error { return c.memory.Spoil("TASKS", "tasks.kind2") })
		c.must(c.nc.FlushTimeout(patience))
		if c.there(c.stored[c.task("t2")][0]) || !c.there(c.stored[c.task("t8")][0]) {
			c.must(errors.New("the broker lost other messages than it should have"))
		}
	},
	may:   all(of("t0", is("published")), of("t2", all(is("removed"), says("no worker ever had it"))), of("t8", is("published"))),
	never: of("t2", all(isNot("completed", "exhausted", "terminated"), silent("by an operator"))),
}, {
	name: "the broker forgets that a message was acknowledged, and it waits again",
	on:   forgetful("an acknowledgement"),
	mode: live,
	act: func(c *clients) {
		c.doneAndForgotten()
		c.meanwhile(c.memory.SetBack)
		c.isBack("done")
	},
	may:   all(of("held", all(is("delivered", "published"), unblamed)), of("done", all(is("published"), holds("completed", "published"), says("that record is gone, so that a later delivery may run it again"), gapSays("the broker forgot"), unblamed))),
	never: of("done", isNot("removed", "exhausted", "outcome_unknown")),
}, {
	name: "the broker forgets that a message was acknowledged, and it is done again",
	on:   forgetful("an acknowledgement, and gives it again"),
	mode: live,
	act: func(c *clients) {
		worker := c.doneAndForgotten()
		c.meanwhile(c.memory.SetBack)
		c.isBack("done")
		c.untilStateIs("done", "published") // Else it would be done twice before Fleetglass looks.
		c.pull(worker)                      // "held"
		c.ack(c.pull(worker))
	},
	may:   all(of("held", all(is("delivered", "processing"), unblamed)), of("done", all(is("completed"), holds("completed", "completed"), unblamed))),
	never: of("done", isNot("removed", "exhausted", "outcome_unknown")),
}, {
	name: "the broker forgets that a message was acknowledged while Fleetglass is down",
	on:   forgetful("an acknowledgement while it is down"),
	mode: live,
	act: func(c *clients) {
		c.doneAndForgotten()
		c.works(2 * time.Second) // The store is told once a second what the stream has.
		back := make(chan error, 1)
		go func() { back <- c.glass.interrupt(c.ctx, 12*time.Second) }()
		c.until("Fleetglass is down", c.glass.gone)
		c.meanwhile(c.memory.SetBack)
		c.isBack("done")
		c.must(<-back)
	},
	may:   all(of("held", all(is("delivered", "published"), unblamed)), of("done", all(is("published"), holds("completed", "published"), says("that record is gone, so that a later delivery may run it again"), unblamed))),
	never: of("done", isNot("removed", "exhausted", "outcome_unknown")),
}}
