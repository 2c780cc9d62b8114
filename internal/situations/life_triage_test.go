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

// In worlds that Fleetglass watches somebody decides about dead messages through it: retries them as they are or edited, discards, lets wait, and takes back.
// What it publishes then the clients learn from the broker alone, which republishes what it stored.

// decision is what somebody asked for about a dead message, and Fleetglass granted.
type decision struct {
	of        *mail
	action    string
	operation string
}

// tells lists the statuses of a dead letter after each action. A retry that its message overtook is open again.
var tells = map[string][]string{
	"retry": {"retried", "open"}, "discard": {"discarded"}, "defer": {"deferred"}, "reopen": {"open"},
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
	if n, ok := version(m.Header.Get("X-Idempotency-Key"), w.task(was.task)); ok {
		sent.key = n
	}
	if age := w.land.streams[0].MaxAge; age > 0 {
		sent.expires = time.Now().Add(age)
	}
	if ttl, err := strconv.Atoi(m.Header.Get("Nats-TTL")); err == nil {
		sent.expires = time.Now().Add(time.Duration(ttl) * time.Second)
	}
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
	m := pick(w.random, slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return m.task == "foreign" || m.acked || !m.terminated && m.had < w.fewest }))
	if w.glass == nil || m == nil || w.nobodyWorks(m.kind) || !w.listed(m) {
		return
	}
	action := pick(w.random, []string{"retry", "retry", "retry", "discard", "defer", "reopen"})
	params := map[string]any{}
	switch action {
	case "retry":
		params = map[string]any{"delay_ms": 0, "as": "unchanged", "force": true, "force_reason": "the clients want it so"}
		if w.random.IntN(2) == 0 {
			params["as"] = "edited"
			params["payload"] = map[string]any{"taskId": w.task(m.task), "assignee": w.agent, "type": m.kind, "payload": "edited"}
		}
		w.crowds(m.kind)
	case "discard":
		params["because"] = "obsolete"
	case "defer":
		params["to"] = "human"
	}
	status, operation := w.ask(m.entry(), map[string]any{"action": action, "reason": "it is tried", "params": params})
	w.note("somebody asks for %s of %d (%v): %d", action, m.seq, params["as"], status)
	if status != http.StatusAccepted {
		return
	}
	w.know(func() { w.decided = append(w.decided, decision{m, action, operation}) })
	w.until("the action ends", func() bool {
		w.hear()
		over, _, err := w.outcome(operation)
		return err == nil && over
	})
}

// entry is the id of the dead letter that a message may have.
func (m *mail) entry() string { return fmt.Sprintf("%s:%d", m.stream, m.seq) }

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

// ask sends a request about a dead letter until it is answered: Fleetglass may be killed meanwhile, but not each time.
func (w *life) ask(entry string, body map[string]any) (status int, operation string) {
	text, err := json.Marshal(body)
	w.must(err)
	key := nats.NewInbox()
	w.glass.up.RLock()
	base := w.glass.base
	w.glass.up.RUnlock()
	tries := 0
	w.until("fleetglass answers", func() bool {
		if tries++; tries > 1 {
			w.glass.up.RLock()
			defer w.glass.up.RUnlock()
		}
		r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, base+"/api/v1/dlq/"+url.PathEscape(entry)+"/actions", bytes.NewReader(text))
		w.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var done struct{ ID string }
		if err := json.NewDecoder(answer.Body).Decode(&done); err != nil {
			return false
		}
		status, operation = answer.StatusCode, done.ID
		return status < http.StatusInternalServerError && status != http.StatusTooManyRequests
	})
	return status, operation
}

// outcome is how an operation ended, and the message that it published; zero for none.
func (w *life) outcome(id string) (over bool, sent uint64, err error) {
	var o struct {
		Status string
		Items  []struct{ Message *struct{ Seq string } }
	}
	if err := w.glass.ask(w.ctx, "/api/v1/operations/"+url.PathEscape(id), &o); err != nil {
		return false, 0, err
	}
	for _, i := range o.Items {
		if i.Message != nil {
			sent, _ = strconv.ParseUint(i.Message.Seq, 10, 64)
		}
	}
	return slices.Contains([]string{"succeeded", "failed", "cancelled"}, o.Status), sent, nil
}

// decidedOnce holds when each retry that was granted published one message at most, which its operation names, and a dead letter is as was decided last.
func (w *life) decidedOnce(ctx context.Context) error {
	granted, sent := map[*mail]int{}, map[*mail]int{}
	last := map[*mail]decision{}
	for _, d := range w.decided {
		last[d.of] = d
		if d.action != "retry" {
			continue
		}
		granted[d.of]++
		over, seq, err := w.outcome(d.operation)
		switch {
		case err != nil || !over:
			return fmt.Errorf("the retry of %d is not over: %w", d.of.seq, err)
		case seq != 0 && !slices.ContainsFunc(w.letters, func(m *mail) bool { return m.byGlass && m.seq == seq }):
			return fmt.Errorf("a retry of %d is said to be message %d, which the stream never stored", d.of.seq, seq)
		}
	}
	for _, m := range w.letters {
		if m.byGlass {
			sent[m.retries]++
		}
	}
	for m, n := range sent {
		if n > granted[m] {
			return fmt.Errorf("%d was published again %d times, and %d retries of it were granted", m.seq, n, granted[m])
		}
	}
	for m, d := range last {
		var entry struct{ Status string }
		err := w.glass.ask(ctx, "/api/v1/dlq/"+url.PathEscape(m.entry()), &entry)
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
		if err == nil && !slices.Contains(tells[d.action], entry.Status) {
			return fmt.Errorf("%s of %d was granted, and its dead letter is %s", d.action, m.seq, entry.Status)
		}
	}
	return nil
}
