//go:build linux

package situations

import (
	"errors"
	"time"

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
		c.works(time.Second)
	},
	may: all(is("completed"), noGap, of("lost", isNot("exhausted", "published"))),
}}

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
