//go:build linux

package situations

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gaps weaken only what they can concern.
var gaps = []situation{{
	name: "the acknowledgement of one task is lost, and another's lines were all seen",
	on:   land{name: "a lost line"},
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers()
		for _, name := range []string{"", "lost"} {
			c.publish(publish{task: name})
			c.ack(c.pull(worker))
		}
		line := c.lastLine("OBS_ACK", "$JS.ACK.TASKS."+c.agent+"-task-worker.>")
		c.deleteFrom("OBS_ACK", line)
		c.publish(publish{task: "later"})
		c.ack(c.pull(worker))
		c.works(time.Second)
	},
	may: all(is("completed"), noGap, of("later", all(is("completed"), noGap)), of("lost", all(is("outcome_unknown"), gapNamesOne("OBS_ACK")))),
}, {
	name: "somebody writes an entry about what a worker has, and the line of its acknowledgement is lost",
	on:   land{name: "a lost line beside an entry"},
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers(wait(time.Minute))
		first := c.publish(publish{})
		m := c.pull(worker)
		_, err := c.js.PublishMsg(c.ctx, &nats.Msg{Subject: "genbrain.dlq." + c.agent + ".permanent", Header: nats.Header{
			"X-DLQ-Stream": {first.stream}, "X-DLQ-Seq": {strconv.FormatUint(first.seq, 10)}, "X-DLQ-Path": {"terminated"}, "X-DLQ-Reason": {"somebody says so"},
		}})
		c.must(err)
		c.works(3 * time.Second)
		c.heartbeat(m)
		c.ack(m)
		c.deleteFrom("OBS_ACK", c.lastLine("OBS_ACK", "$JS.ACK.TASKS."+c.agent+"-task-worker.>"))
		c.publish(publish{task: "later"})
		c.ack(c.pull(worker))
		c.works(time.Second)
	},
	may:   all(is("outcome_unknown"), finds("entry_unproved"), of("later", is("completed"))),
	never: isNot("dead_lettered", "terminated", "exhausted"),
}, {
	name: "the line by which a worker gave a message up is lost, and the broker's word of it is not",
	on:   land{name: "a lost termination"},
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{})
		c.term(c.pull(worker), "impossible_task")
		c.deleteFrom("OBS_ACK", c.lastLine("OBS_ACK", "$JS.ACK.TASKS."+c.agent+"-task-worker.>"))
		c.works(time.Second)
	},
	may:   all(is("terminated"), causeIs("impossible_task"), silent("removed")),
	never: isNotOnceStored("completed", "removed", "exhausted"),
}, {
	name: "the line of a heartbeat is lost, without which the lease would have run out",
	on:   land{name: "a lost heartbeat"},
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers(wait(30*time.Second), atOnce(2))
		c.publish(publish{})
		m := c.pull(worker)
		c.heartbeat(m)
		c.works(28 * time.Second)
		c.heartbeat(m)
		c.deleteFrom("OBS_ACK", c.lastLine("OBS_ACK", "$JS.ACK.TASKS."+c.agent+"-task-worker.>"))
		c.publish(publish{task: "later"})
		c.ack(c.pull(worker))
	},
	may:   all(is("processing"), attempts(0, 1, 1), of("later", is("completed"))),
	never: all(isNot("failed", "exhausted", "completed"), neverStale("stale", "presumed_dead")),
}, {
	name: "a consumer takes a subject only after it went past a message of it",
	on:   land{name: "a subject that is taken late"}, // It is looked at for long.
	act: func(c *clients) {
		narrow := func(cfg *jetstream.ConsumerConfig) { cfg.FilterSubject = "genbrain.agents." + c.agent + ".tasks.other" }
		worker := c.workers(narrow)
		c.publish(publish{})
		c.publish(publish{task: "other", kind: "other"})
		c.ack(c.pull(worker))
		c.workers()
	},
	may:    all(is("outcome_unknown"), noAttempt(0), says("nobody delivers it again"), silent("next free worker"), of("other", is("completed"))),
	never:  all(isNot("exhausted", "completed"), noAttempt(0)),
	settle: 30 * time.Second,
}, {
	name: "every line about a message is lost, and its agent reported about it",
	on:   land{name: "every line lost"},
	mode: afterwards,
	act: func(c *clients) {
		worker := c.workers()
		c.publish(publish{})
		m := c.pull(worker)
		c.report(c.agent, "claimed", "", map[string]any{"attempt": 1})
		c.ack(m)
		for stream, subject := range map[string]string{"OBS_PUB": "obs.pub." + c.agent + ".>", "OBS_ACK": "$JS.ACK.TASKS." + c.agent + "-task-worker.>"} {
			c.deleteFrom(stream, c.lastLine(stream, subject))
		}
		c.works(time.Second)
	},
	may:    all(is("outcome_unknown"), isListed, silent("publish it again")),
	never:  all(isNot("completed", "published", "removed"), silent("publish it again")),
	settle: 15 * time.Second,
}}

// isListed holds where the list of tasks has the task.
func isListed(s story) error {
	var page struct{ Data []struct{} }
	if err := s.glass.ask(s.ctx, "/api/v1/tasks?q="+url.QueryEscape(s.told().TaskID), &page); err != nil {
		return err
	}
	if len(page.Data) != 1 {
		return fmt.Errorf("the list has it %d times", len(page.Data))
	}
	return nil
}

// gapNamesOne holds where the task shows a gap of a source, and the list of gaps names one sequence as lost there.
func gapNamesOne(source string) claim {
	return func(s story) error {
		if t := s.told(); len(t.Gaps) != 1 || t.Gaps[0].Source != source {
			return fmt.Errorf("it shows not one gap of %s: %+v", source, t.Gaps)
		}
		var list struct {
			Data []struct {
				Source  string
				FromSeq string `json:"from_seq"`
				ToSeq   string `json:"to_seq"`
			}
		}
		if err := s.glass.ask(s.ctx, "/api/v1/gaps", &list); err != nil {
			return err
		}
		if len(list.Data) != 1 || list.Data[0].Source != source || list.Data[0].FromSeq == "" || list.Data[0].FromSeq != list.Data[0].ToSeq {
			return fmt.Errorf("the gap of %s does not name what was lost: %+v", source, list.Data)
		}
		return nil
	}
}

// noGap holds where the task shows no gap.
func noGap(s story) error {
	if n := len(s.told().Gaps); n > 0 {
		return errors.New("its own lines were all seen, and it shows a gap")
	}
	return nil
}

// lastLine waits for a captured line of the row and returns where the last one is.
func (c *clients) lastLine(stream, subject string) uint64 {
	var seq uint64
	c.until("the line is captured", func() bool {
		s, err := c.js.Stream(c.ctx, stream)
		c.must(err)
		info, err := s.Info(c.ctx, jetstream.WithSubjectFilter(subject))
		c.must(err)
		if len(info.State.Subjects) < len(c.stored) {
			return false
		}
		for name := range info.State.Subjects {
			m, err := s.GetLastMsgForSubject(c.ctx, name)
			c.must(err)
			seq = max(seq, m.Sequence)
		}
		return true
	})
	return seq
}
