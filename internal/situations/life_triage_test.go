//go:build linux

package situations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// In worlds that Fleetglass watches somebody decides about dead messages through it, one at a time or many at once: retries them as they are or edited, now or later,
// discards, lets wait, and takes back. What it publishes then the clients learn from the broker alone, which republishes what it stored.

// decision is what somebody asked for about a dead message, and Fleetglass granted.
type decision struct {
	of        *mail
	action    string
	operation string
	kind      string // For the census.
	withdrawn bool   // A retry that was cancelled before it was due: it publishes nothing.
}

// tells lists the statuses of a dead letter after each action. A retry that its message overtook is open again.
var tells = map[string][]string{
	"retry": {"retried", "open"}, "discard": {"discarded"}, "defer": {"deferred"}, "reopen": {"open"}, "failed": {"open", "retried", "discarded", "deferred"},
}

// tap lets the clients hear what the stream stores.
func (w *life) tap() {
	if w.glass == nil {
		return
	}
	sub, err := w.nc.SubscribeSync("obs.pub." + w.agent + ".>")
	w.must(err)
	w.taps = sub
}

// hear takes up what Fleetglass published.
func (w *life) hear() {
	for w.taps != nil {
		m, err := w.taps.NextMsg(time.Millisecond)
		if errors.Is(err, nats.ErrTimeout) {
			return
		}
		w.must(err)
		if m.Header.Get("X-Triage-Action") != "" {
			w.sentByGlass(m)
		}
	}
}

func (w *life) sentByGlass(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	w.must(err)
	of := slices.IndexFunc(w.letters, func(o *mail) bool { return fmt.Sprintf("%s:%d", o.stream, o.seq) == m.Header.Get("X-Retry-Of") })
	if of < 0 {
		w.must(fmt.Errorf("fleetglass publishes %d, a retry of %q, which nobody published", seq, m.Header.Get("X-Retry-Of")))
	}
	was := w.letters[of]
	sent := &mail{task: was.task, kind: was.kind, key: was.key, retries: was, byGlass: true, letter: letter{m.Header.Get("Nats-Stream"), seq}, unwanted: w.nobodyTakes(was.kind), watched: w.nobodyWorks(was.kind)}
	if n, ok := keyVersion(m.Header.Get("X-Idempotency-Key"), w.task(was.task)); ok {
		sent.key = n
	}
	w.grows(sent, m.Header.Get("Nats-TTL"))
	w.note("fleetglass published %s:%d, a retry of %d, key %d", sent.stream, sent.seq, was.seq, sent.key)
	w.adopt(sent)
}

// mailSoon is the message of a sequence that a worker was given: of one that Fleetglass published the broker may tell a moment later.
func (w *life) mailSoon(seq uint64) (of *mail) {
	for deadline := time.Now().Add(patience); of == nil && time.Now().Before(deadline); {
		if w.hear(); w.taps == nil {
			return w.mailAt(seq)
		}
		of = w.mailAt(seq)
	}
	return of
}

// decide lets somebody act on a message that may be dead.
func (w *life) decide() {
	m := pick(w.random, slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return !w.mayBeDead(m) }))
	if w.glass == nil || m == nil || w.nobodyWorks(m.kind) || !w.listed(m) {
		return
	}
	action := pick(w.random, []string{"retry", "retry", "retry", "discard", "defer", "reopen"})
	params, kind := w.params(action), action
	if action == "retry" && w.random.IntN(2) == 0 {
		params["as"] = "edited"
		params["payload"] = map[string]any{"taskId": w.task(m.task), "assignee": w.agent, "type": m.kind, "payload": "edited"}
		kind = "edited"
	}
	if action == "retry" {
		w.crowds(m.kind)
	}
	if params["delay_ms"] == later {
		kind += " later"
	}
	status, operation := w.asks("/dlq/"+url.PathEscape(m.entry())+"/actions", map[string]any{"action": action, "reason": "it is tried", "params": params})
	w.note("somebody asks for %s of %d: %d", kind, m.seq, status)
	if status != http.StatusAccepted {
		return
	}
	w.know(func() {
		w.decided = append(w.decided, decision{of: m, action: action, operation: operation, kind: kind})
	})
	if params["delay_ms"] != later {
		w.awaitEnd(operation)
	}
}

// later is how many milliseconds a retry waits that can be cancelled for some seconds.
const later = 5000

// params are what an action takes. A retry waits for a while now and then, where its message is not in the way of another one then.
func (w *life) params(action string) map[string]any {
	switch action {
	case "retry":
		delay := 0
		if w.mayWait() && w.random.IntN(2) == 0 {
			delay = later
		}
		return map[string]any{"delay_ms": delay, "as": "unchanged", "force": true, "force_reason": "the clients want it so"}
	case "discard":
		return map[string]any{"because": "obsolete"}
	case "defer":
		return map[string]any{"to": "human"}
	}
	return map[string]any{}
}

// mayWait reports whether the clients know what becomes of a message that Fleetglass publishes at a time that they do not know: nothing makes room for it, and it is
// kept whoever takes it.
func (w *life) mayWait() bool {
	cfg := w.land.streams[0]
	return cfg.MaxMsgsPerSubject == 0 && cfg.Retention != jetstream.InterestPolicy
}

// mayBeDead reports whether a message may have a dead letter about which the clients know how it is retried.
func (w *life) mayBeDead(m *mail) bool {
	return m.task != "foreign" && !m.acked && (m.terminated || m.had >= w.fewest)
}

// entry is the id of the dead letter that a message may have.
func (m *mail) entry() string { return entryOf(m.letter) }

// listed reports whether a message is told as dead, now or within moments.
func (w *life) listed(m *mail) bool {
	for deadline := time.Now().Add(1500 * time.Millisecond); time.Now().Before(deadline); pause(w.ctx, sampling) {
		w.hear()
		var entry struct{ Status string }
		if w.glass.ask(w.ctx, "/api/v1/dlq/"+url.PathEscape(m.entry()), &entry) == nil {
			return true
		}
	}
	return false
}

// asks sends a request, and notes why it is refused.
func (w *life) asks(path string, body map[string]any) (status int, operation string) {
	status, operation, why := w.call(path, body)
	if why != "" {
		w.note("fleetglass answers %d: %s", status, why)
	}
	return status, operation
}

// awaitEnd waits until an operation is over.
func (w *life) awaitEnd(id string) (o operation) {
	var last error
	w.untilThere("operation "+id+" ends", func() (over bool) {
		w.hear()
		o, last = w.outcome(w.ctx, id)
		if w.ctx.Err() == nil && last != nil || !o.over() {
			w.outlook = fmt.Sprintf("operation %s: %+v, %v", id, o, last)
		}
		return last == nil && o.over()
	})
	return o
}

// untilThere waits for something that Fleetglass does. Who claims it and is killed keeps it for ten seconds, so that one that is killed every other second gets nowhere on a
// busy machine: after a while it is spared.
func (w *life) untilThere(what string, holds func() bool) {
	spare := time.AfterFunc(10*time.Second, func() { w.glass.spared.Add(1) })
	defer func() {
		if !spare.Stop() {
			w.glass.spared.Add(-1)
		}
	}()
	w.until(what, holds)
}

// decidedOnce holds when each retry that was granted published one message at most, which its operation names, and a dead letter is as was decided last.
func (w *life) decidedOnce(ctx context.Context) error {
	named, sent := map[*mail]int{}, map[*mail]int{}
	last := map[*mail]decision{}
	for _, d := range w.decided {
		if last[d.of] = d; d.action != "retry" {
			continue
		}
		o, err := w.outcome(ctx, d.operation)
		seq := o.sent(d.of.entry())
		switch {
		case err != nil || !o.over():
			return fmt.Errorf("the retry of %d is not over: %w", d.of.seq, err)
		case seq != 0 && d.withdrawn:
			return fmt.Errorf("a retry of %d was cancelled, and is said to be message %d", d.of.seq, seq)
		case seq != 0 && !slices.ContainsFunc(w.letters, func(m *mail) bool { return m.byGlass && m.seq == seq && m.retries == d.of }):
			return fmt.Errorf("a retry of %d is said to be message %d, which the stream never stored", d.of.seq, seq)
		case seq != 0:
			named[d.of]++
		case o.Status == "succeeded" && !d.withdrawn && !strings.HasPrefix(d.kind, "many"):
			return fmt.Errorf("a retry of %d succeeded, and no message is named", d.of.seq)
		}
	}
	for _, m := range w.letters {
		if m.byGlass {
			sent[m.retries]++
		}
	}
	for _, m := range w.letters {
		if sent[m] != named[m] {
			return fmt.Errorf("%d was published again %d times, and the operations name %d messages", m.seq, sent[m], named[m])
		}
	}
	for m, d := range last {
		var entry struct{ Status string }
		err := w.glass.ask(ctx, "/api/v1/dlq/"+url.PathEscape(m.entry()), &entry)
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
		tells := tells[d.action]
		if d.withdrawn {
			tells = []string{"open"}
		}
		if err == nil && !slices.Contains(tells, entry.Status) {
			return fmt.Errorf("%s of %d was granted, and its dead letter is %s", d.kind, m.seq, entry.Status)
		}
	}
	return nil
}
