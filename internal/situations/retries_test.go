//go:build linux

package situations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// retries are what somebody decides about dead messages through Fleetglass.
var retries = []situation{{
	name: "somebody publishes the retry of a dead message by hand, while one that was decided waits",
	mode: live,
	act: func(c *clients) {
		zero := c.publish(publish{})
		c.term(c.pull(c.workers()), "impossible_task")
		id := c.retries(zero, 5*time.Second)
		c.publish(publish{id: c.task("") + ":r1", header: retryOf(zero, 1), body: "by hand"})
		var o operation
		c.until("the retry is over", func() bool {
			var err error
			o, err = c.outcome(c.ctx, id)
			return err == nil && o.over()
		})
		if seq := o.sent(entryOf(zero)); seq != 0 || o.Status != "failed" {
			c.must(fmt.Errorf("the retry has %s, and is said to be message %d, which somebody else published", o.Status, seq))
		}
	},
	may: all(is("published"), messageIs(1, "published")),
}}

// entryOf is the id of the dead letter that a message may have.
func entryOf(l letter) string { return fmt.Sprintf("%s:%d", l.stream, l.seq) }

// retries asks for a retry of a dead message, and returns the operation.
func (c *clients) retries(l letter, in time.Duration) (operation string) {
	params := map[string]any{"delay_ms": in.Milliseconds(), "as": "unchanged", "force": true, "force_reason": "the clients want it so"}
	c.until("the retry is granted", func() bool {
		status, id, _ := c.call("/dlq/"+url.PathEscape(entryOf(l))+"/actions", map[string]any{"action": "retry", "reason": "it is tried", "params": params})
		operation = id
		return status == http.StatusAccepted
	})
	return operation
}

// call sends a request until it is answered. Fleetglass may be killed meanwhile, but not each time: what it had begun runs again after a minute.
func (c *clients) call(path string, body map[string]any) (status int, operation, why string) {
	text, err := json.Marshal(body)
	c.must(err)
	key := nats.NewInbox()
	c.glass.up.RLock()
	base := c.glass.base
	c.glass.up.RUnlock()
	tries := 0
	answered := func() bool {
		if tries++; tries > 1 {
			c.glass.up.RLock()
			defer c.glass.up.RUnlock()
		}
		r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, base+"/api/v1"+path, bytes.NewReader(text))
		c.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var done struct{ ID, Code, Detail string }
		if err := json.NewDecoder(answer.Body).Decode(&done); err != nil {
			return false
		}
		status, operation, why = answer.StatusCode, done.ID, done.Detail
		return status < http.StatusInternalServerError && status != http.StatusTooManyRequests && done.Code != "idempotency_in_progress"
	}
	for deadline := time.Now().Add(2 * time.Minute); !answered(); pause(c.ctx, sampling) {
		if time.Now().After(deadline) {
			c.must(errors.New("fleetglass does not answer"))
		}
	}
	return status, operation, why
}

// operation is what is said of an operation.
type operation struct {
	Status string
	Items  []struct { // What became of each dead letter.
		EntryID string `json:"entry_id"`
		Status  string
		Message *struct{ Seq string }
	}
}

// over reports whether nothing more comes of it.
func (o operation) over() bool {
	return slices.Contains([]string{"succeeded", "failed", "cancelled"}, o.Status)
}

// sent is the message that it published for a dead letter; zero for none.
func (o operation) sent(entry string) (seq uint64) {
	for _, i := range o.Items {
		if i.EntryID == entry && i.Message != nil {
			seq, _ = strconv.ParseUint(i.Message.Seq, 10, 64)
		}
	}
	return seq
}

// waits reports whether it is to publish a message for a dead letter.
func (o operation) waits(entry string) bool {
	for _, i := range o.Items {
		if i.EntryID == entry {
			return i.Status == "queued"
		}
	}
	return !o.over()
}

func (c *clients) outcome(ctx context.Context, id string) (o operation, err error) {
	path := "/api/v1/operations/" + url.PathEscape(id)
	if err := c.glass.ask(ctx, path, &o); err != nil {
		return o, err
	}
	page := struct{ Data any }{&o.Items}
	return o, c.glass.ask(ctx, path+"/items", &page)
}
