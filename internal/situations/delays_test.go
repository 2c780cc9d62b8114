//go:build linux

package situations

import "time"

// forADay hands a message back, not to be delivered again before a day has passed.
const forADay = `-NAK {"delay": 86400000000000}`

// shortly is how long the broker keeps a message that was handed back for a day, once its consumer waits no longer. All rows that come afterwards wait for it.
const shortly = 30 * time.Second

// takenAgain is true of a message that a worker took again, and of one whose wait has run out too: on a busy machine the answers are asked for later.
var takenAgain = all(is("redelivered", "failed"), attempts(0, 2, 2))

// delays are messages that were handed back for a while: what the broker delivers all the same is seen.
var delays = []situation{{
	name: "a message is handed back for a day, and its consumer is created again",
	act: func(c *clients) {
		c.publish(publish{})
		c.answer(c.pull(c.workers()), forADay)
		c.works(2 * time.Second)
		c.deleteConsumer()
		c.pull(c.workers())
	},
	may: is("delivered"),
}, {
	name: "a message is handed back for a day, and its consumer is given less time",
	on:   patient,
	act: func(c *clients) {
		c.publish(publish{})
		c.answer(c.pull(c.workers(wait(24*time.Hour))), forADay)
		c.works(2 * time.Second)
		c.pull(c.workers(wait(shortly)))
	},
	may: takenAgain,
}, {
	name: "a message is handed back for a day, and its consumer, which may hold several, is given less time",
	act: func(c *clients) {
		c.publish(publish{})
		c.answer(c.pull(c.workers(wait(24*time.Hour), atOnce(10))), forADay)
		c.seen()
		c.pull(c.workers(wait(shortly), atOnce(10)))
	},
	mode:   live, // Who comes later cannot know what the wait was, and has the broker's time alone.
	may:    all(is("redelivered"), attempts(0, 2, 2)),
	settle: 15 * time.Second,
}, {
	name: "a message is handed back for a day, and its worker sends a heartbeat all the same",
	on:   patient,
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(wait(2 * time.Second))
		m := c.pull(worker)
		c.answer(m, forADay)
		c.works(time.Second)
		c.heartbeat(m) // The broker forgets the delay.
		c.pull(c.workers(wait(shortly)))
	},
	may: takenAgain,
}, {
	name: "one message is handed back for a day, and the worker takes another",
	act:  besideADelay("+WPI"),
	may:  all(is("delivered", "processing"), attempts(0, 1, 1), of("day", is("failed"))),
}, {
	name: "one message is handed back for a day, and the worker takes another twice",
	act:  besideADelay("-NAK"),
	mode: live,
	may:  all(is("redelivered"), attempts(0, 2, 2), of("day", all(is("failed"), attempts(0, 1, 1)))),
}, {
	name: "one message is handed back for a day, the worker takes another twice, and nobody looked",
	act:  besideADelay("-NAK"),
	mode: afterwards, // Which of the two the last delivery was cannot be known: the consumer may have been changed meanwhile.
	may:  all(is("redelivered", "failed"), either(is("redelivered"), says("if none has it already")), of("day", all(is("failed"), attempts(0, 1, 1)))),
}, {
	name: "two messages are handed back at once, and one of them is taken again",
	act: func(c *clients) {
		worker := c.workers(atOnce(10))
		c.publish(publish{})
		c.publish(publish{task: "b"})
		a, b := c.pull(worker), c.pull(worker)
		c.works(time.Second)
		c.answer(a, "-NAK")
		c.answer(b, "-NAK")
		c.pull(worker)
	},
	may:   all(is("failed"), says("if none has it already"), of("b", all(is("failed"), says("if none has it already")))),
	never: of("b", isNot("redelivered")),
}}

// besideADelay lets a worker that may hold several messages hand one back for a day, answer another, and take what is there.
func besideADelay(answer string) func(*clients) {
	return func(c *clients) {
		worker := c.workers(atOnce(10))
		c.works(time.Second) // The consumer is known by then.
		c.publish(publish{task: "day"})
		c.answer(c.pull(worker), forADay)
		c.publish(publish{})
		c.answer(c.pull(worker), answer)
		c.seen()
		if answer == "-NAK" {
			c.pull(worker)
			return
		}
		c.works(time.Second)
		c.inTime(c.tryPull(worker, time.Second) == nil, "the lease of the other ran out")
	}
}
