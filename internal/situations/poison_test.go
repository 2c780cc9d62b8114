//go:build linux

package situations

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// statuses are headers by which the broker itself ends a pull, holds one up, or says that it has no message.
var statuses = []nats.Header{
	{"Status": {"100"}, "Description": {"Idle Heartbeat"}}, {"Status": {"404"}, "Description": {"No Messages"}}, {"Status": {"408"}, "Description": {"Request Timeout"}},
	{"Status": {"409"}, "Description": {"Consumer Deleted"}}, {"Status": {"503"}},
}

// unseen makes capture refuse a message, so that it is read from its stream.
func unseen(header nats.Header) nats.Header {
	out := nats.Header{"Nats-Expected-Stream": {"TASKS"}}
	for name, values := range header {
		out[name] = values
	}
	return out
}

// poison is what an agent sends so that a client takes it for the broker's word.
var poison = []situation{{
	name: "messages without a body have the headers of the broker's status",
	on:   land{name: "statuses"},
	act: func(c *clients) {
		c.publish(publish{})
		m := c.pull(c.workers())
		for _, header := range statuses {
			for _, subject := range []string{"genbrain.agents." + c.agent + "other.tasks.status", "genbrain.lifecycle." + c.agent + ".completed", "$KV.task-idempotency." + c.task("")} {
				c.send(&nats.Msg{Subject: subject, Header: header}, "")
			}
		}
		c.publish(publish{task: "later"})
		c.send(&nats.Msg{Subject: m.Reply(), Header: statuses[0]}, "") // An empty answer acknowledges.
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), of("later", is("completed")), ready),
	never: everReady(),
}, {
	name: "what is read from the stream has the broker's headers, and none of them is true",
	on:   land{name: "headers of the broker"},
	act: func(c *clients) {
		for i, header := range statuses {
			m := c.message(publish{task: fmt.Sprint("status", i), header: unseen(header)})
			c.send(m, "")
		}
		c.publish(publish{task: "again", header: unseen(nats.Header{"Nats-Sequence": {"1"}})})
		c.publish(publish{task: "other", header: unseen(nats.Header{
			"Nats-Sequence": {"1"}, "Nats-Subject": {"genbrain.agents.0mallory.tasks.x"}, "Nats-Time-Stamp": {"2001-01-01T00:00:00Z"}, "Nats-Stream": {"OTHER"},
		})})
		c.publish(publish{task: "odd", header: unseen(nats.Header{"Nats-Sequence": {"x"}, "Nats-Time-Stamp": {"x"}})})
		c.publish(publish{})
	},
	may: all(is("published"), eachOf([]string{"status0", "status1", "status2", "status3", "status4", "again", "other", "odd"}, is("published")), ready,
		of("other", func(s story) error {
			if m := s.message(0); m == nil || m.Subject != "genbrain.agents."+s.told().Agent+".tasks.work" || time.Since(m.PublishedAt) > time.Hour {
				return fmt.Errorf("the publisher's headers are believed: %+v", m)
			}
			return nil
		})),
	never: everReady(),
}, {
	name: "bodies, headers and subjects are odd",
	on:   land{name: "odd texts"},
	act: func(c *clients) {
		for i, body := range []string{strings.Repeat("[", 10_000), strings.Repeat(`{"taskId":`, 10_000), `{"taskId":"a","taskId":"b"}`, "\xff\xfe\x00{}", `{"taskId":1e999}`} {
			m := c.message(publish{task: fmt.Sprint("body", i)})
			for _, subject := range []string{
				m.Subject, "genbrain.lifecycle." + c.agent + ".completed", "$KV.task-idempotency." + c.task(""), "genbrain.dlq." + c.agent + ".permanent",
				"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.TASKS.x", "$JS.EVENT.ADVISORY.STREAM.CREATED.TASKS",
			} {
				c.send(&nats.Msg{Subject: subject, Header: m.Header}, body)
			}
		}
		c.send(c.message(publish{task: "header0", header: nats.Header{"X-Big": {strings.Repeat("x", 60<<10)}}}), "{}")
		c.send(c.message(publish{task: "header1", header: nats.Header{"X-Task-Type": {"\xff\xfe\x01"}, "traceparent": {"\xff"}}}), "{}")
		for i, subject := range []string{"genbrain.agents.a\xffb.tasks.\xff", "genbrain.agents.<b>.tasks.'\"", "genbrain.agents." + strings.Repeat("x", 300) + ".tasks." + strings.Repeat("y", 900)} {
			m := c.message(publish{task: fmt.Sprint("subject", i)})
			m.Subject = subject
			c.send(m, "{}")
		}
		c.publish(publish{})
	},
	may: all(is("published"), eachOf([]string{"body0", "body1", "body2", "body3", "body4", "header0", "header1", "subject0", "subject1", "subject2"}, is("published")),
		ready, quarantines),
	never: everReady(),
}, {
	name: "an advisory about the stream has a malformed header",
	on:   land{name: "malformed advisories"},
	act: func(c *clients) {
		for _, action := range []string{"CREATED", "DELETED"} {
			c.sendRaw("$JS.EVENT.ADVISORY.STREAM."+action+".TASKS", "NATS/1.0\r\nno colon here\r\n\r\n", "{}")
		}
		c.publish(publish{})
		c.ack(c.pull(c.workers()))
	},
	may:   all(is("completed"), ready),
	never: everReady(),
}}
