//go:build linux

package situations

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// restored is for a row that deletes its stream: nobody else has it.
func restored(of string) land { return land{name: "a restored stream: " + of} }

// backups are of streams that an operator restores: what was done since is waiting again, and what was published since is gone.
var backups = []situation{{
	name: "a stream is restored from a backup, and its messages are done again",
	on:   restored("done again"),
	act: func(c *clients) {
		worker := c.workers()
		for _, task := range []string{"done", "since", "waiting"} {
			c.publish(publish{task: task})
		}
		c.ack(c.pull(worker)) // "done"
		c.works(time.Second)
		backup := c.backUp()
		c.ack(c.pull(worker)) // "since"
		c.publish(publish{task: "lost"})
		c.works(time.Second)
		c.seen() // An acknowledgement is proved by a look before its stream goes.
		c.must(c.js.DeleteStream(c.ctx, "TASKS"))
		c.works(2 * time.Second)
		c.restore(backup)
		c.publish(publish{task: "after"})
		c.seen()
		worker, err := c.js.Consumer(c.ctx, "TASKS", c.agent+"-task-worker")
		c.must(err)
		c.ack(c.pull(worker)) // "since", once more
	},
	may: all(
		of("done", all(is("completed"), holds("completed"))),
		of("since", all(is("completed"), holds("completed", "completed"))),
		of("waiting", all(is("published"), holds("outcome_unknown", "published"), says("It waits for a worker"))),
		of("lost", is("outcome_unknown", "removed")),
		of("after", all(is("published"), says("It waits for a worker"))),
	),
	never: all(
		of("waiting", isNot("completed", "terminated", "exhausted")),
		of("lost", isNot("completed", "terminated", "exhausted")),
		of("after", isNotOnceStored("completed", "terminated", "exhausted", "removed", "outcome_unknown")),
	),
	mode: live,
}, {
	name:  "a stream is restored from a backup before anybody looks, and messages wait in it",
	since: 15, // Before, a restored stream keeps its time of creation.
	on:    restored("seen afterwards"),
	act:   restoredUnseen,
	may:   all(doneAndPublishedAgain, of("waiting", all(is("published"), holds("outcome_unknown", "published")))),
	never: of("waiting", isNot("completed", "terminated", "exhausted")),
}, {
	// The broker loses that advisory itself where it does not come to send it before the stream is gone.
	name:  "a stream is restored from a backup before anybody looks, and no advisory tells that it was deleted",
	since: 15,
	on:    restored("not known to be deleted"),
	mode:  afterwards,
	act: func(c *clients) {
		restoredUnseen(c)
		events, err := c.js.Stream(c.ctx, "OBS_EVT")
		c.must(err)
		c.must(events.Purge(c.ctx, jetstream.WithPurgeSubject("$JS.EVENT.ADVISORY.STREAM.DELETED.TASKS")))
	},
	may:   all(doneAndPublishedAgain, of("waiting", all(is("published"), holds("outcome_unknown", "published")))),
	never: of("waiting", isNot("completed", "terminated", "exhausted")),
}, {
	name:  "a stream is deleted, its mirror takes its place, and the worker goes on there",
	since: 12, // Before, a mirror stays one.
	on:    mirrored("and works on"),
	act: func(c *clients) {
		worked := c.failsOver()
		cfg := worker(c.agent)
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, worked.seq+1
		c.ack(c.pull(c.consumerOn("TASKS_STANDBY", cfg))) // "waiting"
		c.publish(publish{task: "after"})
	},
	may: all(
		of("done", all(is("outcome_unknown"), holds("completed", "outcome_unknown"), says("is the same work and is completed"))), // Nobody delivers its copy.
		of("waiting", is("completed")),
		of("after", all(is("published"), says("It waits for a worker"))),
	),
	never: all(
		of("done", all(isNot("removed"), silent("publish it again"))),
		of("waiting", all(isNot("removed"), silent("publish it again"))),
	),
}, {
	name:  "a stream is deleted, its mirror takes its place, and all is given to workers again",
	since: 12, // Before, a mirror stays one.
	on:    mirrored("and begins anew"),
	act: func(c *clients) {
		c.failsOver()
		c.ack(c.pull(c.consumerOn("TASKS_STANDBY", worker(c.agent)))) // "done", once more
	},
	may: all(
		of("done", all(is("completed"), holds("completed", "completed"))),
		of("waiting", all(is("published"), says("It waits for a worker"))),
	),
	never: all(
		of("done", all(isNot("removed", "outcome_unknown"), silent("publish it again"))),
		of("waiting", all(isNot("removed", "completed", "terminated", "exhausted"), silent("publish it again"))),
	),
}}

// mirrored is for a row whose stream has a mirror that takes its place: nobody else has them.
func mirrored(of string) land {
	return land{name: "a mirror takes the place of its stream, " + of, streams: []jetstream.StreamConfig{
		{Name: "TASKS", Subjects: []string{allTasks}, Retention: jetstream.LimitsPolicy, AllowDirect: true},
		{Name: "TASKS_STANDBY", Mirror: &jetstream.StreamSource{Name: "TASKS"}, AllowDirect: true},
	}}
}

// failsOver does one of two tasks, loses their stream, and has its mirror take tasks in its place. It says where the message of the one that was done is.
func (c *clients) failsOver() letter {
	worker := c.workers()
	done := c.publish(publish{task: "done"})
	last := c.publish(publish{task: "waiting"})
	c.ack(c.pull(worker))
	c.until("the mirror has both", func() bool {
		s, err := c.js.Stream(c.ctx, "TASKS_STANDBY")
		c.must(err)
		return s.CachedInfo().State.LastSeq >= last.seq
	})
	c.seen() // An acknowledgement is proved by a look before its stream goes.
	c.must(c.js.DeleteStream(c.ctx, "TASKS"))
	c.works(2 * time.Second) // The mirror is seen without its stream.
	_, err := c.js.UpdateStream(c.ctx, jetstream.StreamConfig{Name: "TASKS_STANDBY", Subjects: []string{allTasks}, AllowDirect: true})
	c.must(err)
	_, err = fleet.Provision(c.ctx, c.js, fleet.Streams{Contract: fleet.NewContract("")})
	c.must(err)
	return done
}

// restoredUnseen does one of two tasks after a backup, and restores the stream.
func restoredUnseen(c *clients) {
	worker := c.workers()
	c.publish(publish{task: "done"})
	c.publish(publish{task: "waiting"})
	backup := c.backUp()
	c.ack(c.pull(worker))
	c.works(time.Second)
	c.seen() // As above.
	c.must(c.js.DeleteStream(c.ctx, "TASKS"))
	c.works(2 * time.Second)
	c.restore(backup)
}

// doneAndPublishedAgain holds where what was done is there once more.
var doneAndPublishedAgain = of("done", all(is("published"), holds("completed", "published"), says("is the same work and is completed, so it may be done twice")))

// holds says how all messages of the task are, the oldest first: a message that a backup brought is another one than it was.
func holds(states ...string) claim {
	return func(s story) error {
		var got []string
		if t := s.told(); t != nil {
			for _, m := range t.Messages {
				got = append(got, m.State)
			}
		}
		if !slices.Equal(got, states) {
			return fmt.Errorf("its messages are %v, not %v", got, states)
		}
		return nil
	}
}

// backUp saves the stream of tasks with its consumers.
func (c *clients) backUp() testkit.Backup {
	b, err := testkit.BackUp(c.ctx, c.js, "TASKS")
	c.must(err)
	return b
}

// restore makes the stream of tasks again, as it was saved.
func (c *clients) restore(b testkit.Backup) { c.must(b.Restore(c.ctx, c.js)) }
