package alerts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// State is how an alert stands.
type State string

// The states of an alert.
const (
	StatePending      State = "pending"      // Its finding does not last long enough yet: nobody is shown it.
	StateFiring       State = "firing"       // It is so, and nobody has said anything about it.
	StateAcknowledged State = "acknowledged" // It is so, and somebody said that they look after it. That ends when it is resolved.
	StateSilenced     State = "silenced"     // It is so, and a silence keeps it from receivers.
	StateResolved     State = "resolved"     // It is not so any more.
)

// States lists the states that people are shown, in the order of the board.
func States() []State { return []State{StateFiring, StateAcknowledged, StateSilenced, StateResolved} }

// Alert is a finding that lasted, and what people said about it. One rule and key has one alert: when it comes back, it is the same one with
// a higher recurrence.
type Alert struct {
	ID       string           `json:"id"`
	Rule     RuleID           `json:"rule"`
	Key      string           `json:"key"`
	Severity Severity         `json:"severity"`
	Title    string           `json:"title"`
	What     string           `json:"what"`
	Why      string           `json:"why"`
	Next     string           `json:"next"`
	Harm     Harm             `json:"harm,omitempty"`
	Do       Action           `json:"do,omitzero"`
	Labels   Labels           `json:"labels"`
	TaskID   string           `json:"task_id,omitempty"`
	Page     string           `json:"page,omitempty"`
	Count    int64            `json:"count"`
	Since    lifecycle.Micros `json:"since,omitempty"`    // Since when it is so, as far as is known.
	Deadline lifecycle.Micros `json:"deadline,omitempty"` // Of a lease.

	PendingAt  lifecycle.Micros `json:"pending_at,omitempty"`  // Since when its finding is seen without that the alert fires; zero while it does.
	StartedAt  lifecycle.Micros `json:"started_at,omitempty"`  // When it began to fire, the last time; zero for never.
	LastSeenAt lifecycle.Micros `json:"last_seen_at"`          // When its finding was last noted, to within [SeenEvery].
	SeenBy     string           `json:"seen_by,omitempty"`     // The replica that noted it, of whose parts the alert is; empty where all replicas see it.
	ResolvedAt lifecycle.Micros `json:"resolved_at,omitempty"` // Zero while it is so.
	Recurrence int              `json:"recurrence"`            // How often it came back.
	Told       bool             `json:"told"`                  // Receivers heard, or will hear, that it fires, and not yet that it is resolved.

	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"`
}

// Version names the alert as it fires and is looked after: what a decision about it rests on. What is noted while it goes on, such as a count, leaves
// it as it is.
func (a Alert) Version() string {
	sum := sha256.New()
	fmt.Fprint(sum, a.StartedAt, a.ResolvedAt)
	if by := a.Acknowledged; by != nil {
		fmt.Fprintf(sum, " %q %d %q", by.By, by.At, by.Note)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Acknowledgement says who looks after an alert.
type Acknowledgement struct {
	By   string           `json:"by"`
	At   lifecycle.Micros `json:"at"`
	Note string           `json:"note"`
}

// SeenEvery is how often it is noted that an alert is still so.
const SeenEvery = 15 * time.Second

// AlertID is the id of the alert of a rule and key.
func AlertID(rule RuleID, key string) string {
	sum := sha256.Sum256([]byte(string(rule) + "\x00" + key))
	return string(rule) + "-" + hex.EncodeToString(sum[:6])
}

// Active reports whether the alert fires, whatever people said about it.
func (a Alert) Active() bool { return a.StartedAt.Known() && !a.ResolvedAt.Known() }

// Standing is an alert with its state at one instant.
type Standing struct {
	Alert
	State   State
	Silence *Silence // The one that mutes it and ends last; nil unless it is silenced.
}

// At says how the alert stands at an instant, among these silences.
func (a Alert) At(now lifecycle.Micros, silences []Silence) Standing {
	a.Harm = cmp.Or(a.Harm, responseTo(a.Rule).harm) // One that was stored before alerts had a harm has none.
	out := Standing{Alert: a, State: StateFiring}
	switch {
	case !a.StartedAt.Known():
		out.State = StatePending
	case a.ResolvedAt.Known():
		out.State = StateResolved
	default:
		if s := muting(silences, a, now); s != nil {
			out.State, out.Silence = StateSilenced, s
		} else if a.Acknowledged != nil {
			out.State = StateAcknowledged
		}
	}
	return out
}

// take copies what a finding says now.
func (a *Alert) take(f Finding, title string) {
	a.Severity, a.Title, a.What, a.Why, a.Next, a.Labels = f.Severity, title, f.What, f.Why, f.Next, f.Labels
	a.Harm, a.Do = f.Harm, f.Do
	a.TaskID, a.Page, a.Count, a.Deadline = f.TaskID, f.Page, f.Count, f.Deadline
	if f.Since.Known() {
		a.Since = f.Since
	}
}
