//go:build linux

package randomfleets

import (
	"slices"
	"sync"
	"time"
)

// hold is one delivery as its worker knows it.
type hold struct {
	attempt  int
	wait     time.Duration // In force for this attempt.
	last     bool          // The consumer gives no further attempt.
	from     time.Time     // When the worker got it.
	beats    []time.Time   // Heartbeats, each after it was sent.
	answerAt time.Time     // Just before the answer was sent; zero where there is none.
	sentAt   time.Time     // Just after the broker had it.
	answer   string        // ack, nak, term.
	delay    time.Duration // Of the nak.
	down     bool          // Its worker died: nobody pulls for a while.
}

// deadline is when the lease ends by the broker's rule, as the worker computes it: the last delivery or heartbeat in time, plus the wait in force.
func (h hold) deadline() time.Time {
	end := h.from.Add(h.wait)
	for _, beat := range h.beats {
		if beat.Before(end) {
			end = beat.Add(h.wait)
		}
	}
	return end
}

// message is what its workers know of one message.
type message struct {
	id    string
	agent *agent
	holds []hold
}

// ended reports whether an answer ended the message before a time, or may have.
func (m message) ended(by time.Time) bool {
	return slices.ContainsFunc(m.holds, func(h hold) bool {
		return (h.answer == "ack" || h.answer == "term") && h.answerAt.Before(by)
	})
}

// attribution is how long it may take until the board shows a message that nothing but the state of its consumer tells of: while several are in hand, what tells
// which delivery is whose is waited for.
const attribution = time.Second + 200*time.Millisecond // With two polls.

// heldThroughout is the delivery that was in a worker's hands all the time between two moments, unanswered and with an attempt to come, or within its deadline.
func (m message) heldThroughout(from, to time.Time) (hold, bool) {
	if m.ended(to) || len(m.holds) == 0 {
		return hold{}, false
	}
	h := m.holds[len(m.holds)-1]
	if m.agent.hands > 1 && m.holds[0].from.Add(attribution).After(from) {
		return hold{}, false
	}
	answered := !h.answerAt.IsZero() && h.answerAt.Before(to)
	over := h.last && !h.deadline().After(to) // The broker drops it with the next pull, which this worker does not see.
	return h, h.from.Before(from) && !answered && !over
}

// heldAtSomeTime reports whether some delivery was in a worker's hands, or overdue and unanswered, at some time between two moments.
func (m message) heldAtSomeTime(from, to time.Time) bool {
	for _, h := range m.holds {
		if h.from.Before(to) && (h.sentAt.IsZero() || h.sentAt.After(from)) && !m.endedBefore(from) {
			return true
		}
	}
	return false
}

// endedBefore reports whether the broker surely had an answer that ends the message before a time.
func (m message) endedBefore(t time.Time) bool {
	return slices.ContainsFunc(m.holds, func(h hold) bool {
		return (h.answer == "ack" || h.answer == "term") && !h.sentAt.IsZero() && h.sentAt.Before(t)
	})
}

// ledger is the workers' truth of a fleet.
type ledger struct {
	mu       sync.Mutex
	messages map[string]*message
	again    []redelivery
	forecast map[string]forecast // By message and attempt.
}

// forecast is when the board said that an attempt would be followed by the next one.
type forecast struct {
	asOf  time.Time // It accounts for what happened until then.
	at    time.Time
	exact bool // It counts from a time that the broker gave.
	naked bool // The attempt was handed back.
}

// moved reports whether the worker sent a heartbeat that the forecast may not know of.
func (f forecast) moved(h hold) bool {
	return slices.ContainsFunc(h.beats, func(beat time.Time) bool { return beat.After(f.asOf) })
}

// redelivery compares a forecast with what happened.
type redelivery struct {
	id     string
	agent  *agent
	before hold
	got    time.Time
	said   forecast
	known  bool // There was a forecast.
}

func newLedger() *ledger {
	return &ledger{messages: map[string]*message{}, forecast: map[string]forecast{}}
}

// takes notes a delivery.
func (l *ledger) takes(a *agent, id string, h hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.messages[id]
	if m == nil {
		m = &message{id: id, agent: a}
		l.messages[id] = m
	}
	if n := len(m.holds); n > 0 && m.holds[n-1].attempt == h.attempt-1 {
		before := m.holds[n-1]
		said, known := l.forecast[forecastKey(id, before.attempt)]
		l.again = append(l.again, redelivery{id, a, before, h.from, said, known})
	}
	m.holds = append(m.holds, h)
}

// note changes what is known of an attempt.
func (l *ledger) note(id string, attempt int, change func(*hold)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.messages[id]
	for i := range m.holds {
		if m.holds[i].attempt == attempt {
			change(&m.holds[i])
		}
	}
}

// died marks what an agent's dead worker still had.
func (l *ledger) died(a *agent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if n := len(m.holds); m.agent == a && n > 0 {
			m.holds[n-1].down = true
		}
	}
}

// copied is the truth as it is now.
func (l *ledger) copied() []message {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]message, 0, len(l.messages))
	for _, m := range l.messages {
		c := *m
		c.holds = slices.Clone(m.holds)
		for i := range c.holds {
			c.holds[i].beats = slices.Clone(c.holds[i].beats)
		}
		out = append(out, c)
	}
	return out
}

func (l *ledger) foretell(id string, attempt int, f forecast) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forecast[forecastKey(id, attempt)] = f
}
