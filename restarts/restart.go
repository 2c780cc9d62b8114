package restarts

import (
	"encoding/json"
	"time"

	"fleetglass/lifecycle"
)

// Cause is what went away.
type Cause string

// The causes.
const (
	CauseFleetglass Cause = "fleetglass" // Fleetglass did not run. Workers need not have noticed.
	CauseBroker     Cause = "broker"     // Another process of the broker answers since.
	CauseWorkers    Cause = "workers"    // Several leases ran out that one moment can explain. Nobody saw the workers go: it is inferred.
)

// Causes lists the causes.
func Causes() []Cause { return []Cause{CauseFleetglass, CauseBroker, CauseWorkers} }

// Words name what went away, for people.
func (c Cause) Words() string {
	switch c {
	case CauseFleetglass:
		return "Fleetglass"
	case CauseBroker:
		return "the broker"
	}
	return "their workers"
}

// Provenance is how it is known that it went away.
func (c Cause) Provenance() lifecycle.Provenance {
	switch c {
	case CauseFleetglass:
		return lifecycle.Recorded
	case CauseBroker:
		return lifecycle.Broker
	}
	return lifecycle.Inferred
}

// Fate is how it became known what became of a victim.
type Fate string

// The fates.
const (
	FateAlive     Fate = "alive"     // Its attempt goes on: a heartbeat came afterwards.
	FateAnswered  Fate = "answered"  // Its attempt was answered after all.
	FateDelivered Fate = "delivered" // The broker delivered it again.
	FateDead      Fate = "dead"      // It is in the dead-letter queue.
	FateDecided   Fate = "decided"   // Somebody decided about it.
	FateGone      Fate = "gone"      // It left its stream without an answer.
	FateForgotten Fate = "forgotten" // Nothing is kept of it any more.
)

// Meaning is one sentence for people.
func (f Fate) Meaning() string {
	switch f {
	case FateAlive:
		return "its attempt goes on"
	case FateAnswered:
		return "its attempt was answered"
	case FateDelivered:
		return "delivered again"
	case FateDead:
		return "in the dead-letter queue"
	case FateDecided:
		return "somebody decided about it"
	case FateGone:
		return "it left its stream"
	case FateForgotten:
		return "nothing is kept of it any more"
	}
	return "not known yet"
}

// Restart is something that went away with messages in hand.
type Restart struct {
	ID      string `json:"id"`
	Version uint64 `json:"version"` // How often it was stored.
	Cause   Cause  `json:"cause"`

	// It went away after From and no later than To. For Fleetglass and the broker To is when it was there again. From is zero where nothing says it.
	From lifecycle.Micros `json:"from,omitempty"`
	To   lifecycle.Micros `json:"to"`

	NoticedAt lifecycle.Micros `json:"noticed"`
	Victims   []Victim         `json:"victims"`           // The messages in hand, at most [MaxVictims].
	Beyond    int              `json:"beyond,omitempty"`  // How many more there were, which nobody follows.
	Partial   bool             `json:"partial,omitempty"` // Not all leases were known then: there may have been more.
	EndedAt   lifecycle.Micros `json:"ended,omitempty"`   // When the last victim was resolved; zero while one is not.
}

// MaxVictims is how many messages of one restart are followed.
const MaxVictims = 1000

// Victim is one attempt that was in hand.
type Victim struct {
	TaskID   string               `json:"-"` // Stored byte by byte.
	Message  lifecycle.MessageKey `json:"message"`
	Agent    string               `json:"agent,omitempty"`
	Type     string               `json:"type,omitempty"`
	Consumer string               `json:"consumer,omitempty"`
	Attempt  int                  `json:"attempt"`
	LastSign lifecycle.Micros     `json:"sign,omitempty"`     // Its delivery or latest heartbeat that was known then.
	Deadline lifecycle.Micros     `json:"deadline,omitempty"` // Zero where none was known.

	Fate       Fate             `json:"fate,omitempty"`     // Empty until it is known what became of it.
	ResolvedAt lifecycle.Micros `json:"resolved,omitempty"` // When that happened, not when it was noticed.
}

// storedVictim is a victim as it is stored: ids of tasks are any bytes, which a text of JSON would not keep.
type storedVictim struct {
	plainVictim
	Task []byte `json:"task"`
}

type plainVictim Victim

// MarshalJSON implements [json.Marshaler].
func (v Victim) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedVictim{plainVictim(v), []byte(v.TaskID)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Victim) UnmarshalJSON(text []byte) error {
	var stored storedVictim
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	*v = Victim(stored.plainVictim)
	v.TaskID = string(stored.Task)
	return nil
}

// Over reports whether it is known of every victim what became of it.
func (r *Restart) Over() bool { return r.EndedAt.Known() }

// Count is how many messages were in hand.
func (r *Restart) Count() int { return len(r.Victims) + r.Beyond }

// Open counts the victims of which it is not known yet what became of them.
func (r *Restart) Open() (n int) {
	for i := range r.Victims {
		if r.Victims[i].Fate == "" {
			n++
		}
	}
	return n
}

// Agents are those whose messages were in hand, each once, in the order of the victims.
func (r *Restart) Agents() (out []string) {
	known := map[string]bool{}
	for i := range r.Victims {
		if a := r.Victims[i].Agent; !known[a] {
			known[a] = true
			out = append(out, a)
		}
	}
	return out
}

// RecoveryTime is how long it took from the restart until the last victim was resolved; until now where one is not. Where the workers went away
// it is the shortest time that it can have been: it counts from the latest moment at which they can have gone.
func (r *Restart) RecoveryTime(now lifecycle.Micros) time.Duration {
	if r.Over() {
		now = r.EndedAt
	}
	return max(0, now.Sub(r.To))
}

// close notes the end where the last victim is resolved.
func (r *Restart) close() {
	if r.Open() > 0 {
		return
	}
	r.EndedAt = r.To
	for i := range r.Victims {
		r.EndedAt = max(r.EndedAt, r.Victims[i].ResolvedAt)
	}
}
