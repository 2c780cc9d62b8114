package views

import (
	"strings"

	"fleetglass/lifecycle"
)

// look is how a thing is drawn: a shape, a colour and a word, never a colour alone.
type look struct {
	Icon string // Name of a symbol in the sprite.
	Tone string // run, ok, warn, bad, dead, dup or wait.
	Word string
}

// StateLook gives a state its shape, colour and word.
func StateLook(s lifecycle.State) (icon, tone, word string) {
	l := stateLook(s)
	return l.Icon, l.Tone, l.Word
}

func stateLook(s lifecycle.State) look {
	switch s {
	case lifecycle.StatePublished:
		return look{"published", "wait", "published"}
	case lifecycle.StateDelivered:
		return look{"delivered", "run", "delivered"}
	case lifecycle.StateProcessing:
		return look{"processing", "run", "processing"}
	case lifecycle.StateRedelivered:
		return look{"redelivered", "warn", "redelivered"}
	case lifecycle.StateFailed:
		return look{"failed", "bad", "failed"}
	case lifecycle.StateCompleting:
		return look{"completing", "ok", "completing"}
	case lifecycle.StateCompleted:
		return look{"completed", "ok", "completed"}
	case lifecycle.StateExhausted:
		return look{"exhausted", "bad", "exhausted"}
	case lifecycle.StateTerminated:
		return look{"terminated", "bad", "terminated"}
	case lifecycle.StateRemoved:
		return look{"removed", "wait", "removed"}
	case lifecycle.StateDeadLettered:
		return look{"dead", "dead", "dead-lettered"}
	case lifecycle.StateTriaged:
		return look{"retried", "dup", "triaged"}
	case lifecycle.StateOutcomeUnknown:
		return look{"unknown", "wait", "outcome unknown"}
	}
	return look{"unknown", "wait", string(s)}
}

func staleLook(k lifecycle.StaleKind) look {
	switch k {
	case lifecycle.StalePresumedDead:
		return look{"presumed", "bad", "presumed dead"}
	case lifecycle.StaleLease:
		return look{"stale", "bad", "stale"}
	case lifecycle.StaleZombie:
		return look{"zombie", "bad", "zombie"}
	case lifecycle.StaleStuck:
		return look{"stuck", "warn", "stuck"}
	case lifecycle.StaleWeakAccept:
		return look{"warn", "warn", "weak accept"}
	case lifecycle.StaleExpiring:
		return look{"clock", "warn", "expiring"}
	}
	return look{"processing", "run", "healthy"}
}

// AnomalyWord names an anomaly for people.
func AnomalyWord(c lifecycle.AnomalyCode) string {
	switch c {
	case lifecycle.AnomalyConsumerRecreated:
		return "consumer re-created"
	case lifecycle.AnomalyEffectAfterFailure:
		return "completed, not acked"
	}
	return strings.ReplaceAll(string(c), "_", " ")
}

func provMeaning(p lifecycle.Provenance) string {
	switch p {
	case lifecycle.Observed:
		return "Captured from the broker's traffic."
	case lifecycle.Broker:
		return "From the broker: an advisory, a metric, or the state of a stream or consumer."
	case lifecycle.Recorded:
		return "Read from an idempotency record or a dead-letter entry."
	case lifecycle.Reported:
		return "Reported by the agent, or by somebody in its name."
	case lifecycle.Inferred:
		return "Concluded by Fleetglass from other events."
	}
	return ""
}

func endLook(a lifecycle.Attempt) look {
	switch a.End {
	case lifecycle.EndAcked:
		return look{"completed", "ok", "acked"}
	case lifecycle.EndNacked:
		return look{"failed", "warn", "nak"}
	case lifecycle.EndTerminated:
		return look{"dead", "bad", "terminated"}
	case lifecycle.EndTimedOut:
		return look{"stale", "bad", "timed out"}
	case lifecycle.EndRemoved:
		return look{"unknown", "wait", "removed"}
	}
	return look{"processing", "run", "in hand"}
}

// attemptLook is how an attempt looks within its message: one without an end is in hand only while the message is.
func attemptLook(a lifecycle.Attempt, m lifecycle.MessageTrace) look {
	if a.End == lifecycle.EndOpen && !m.Verdict.State.Open() {
		return look{"unknown", "wait", "end not known"}
	}
	return endLook(a)
}

// StaleLook gives a stale kind its colour and shape.
func StaleLook(k lifecycle.StaleKind) (tone, icon string) {
	l := staleLook(k)
	return l.Tone, l.Icon
}

// StaleWord names what is wrong with a lease for people.
func StaleWord(k lifecycle.StaleKind) string {
	if k == lifecycle.StaleLease {
		return "past deadline"
	}
	return staleLook(k).Word
}

// LayerWord names a layer of the duplicate ledger for people.
func LayerWord(l lifecycle.Layer) string { return layerLook(l).Word }

func layerLook(l lifecycle.Layer) look {
	switch l {
	case lifecycle.LayerStream:
		return look{"duplicates", "dup", "caught by the stream"}
	case lifecycle.LayerIdempotency:
		return look{"recorded", "dup", "caught by record"}
	case lifecycle.LayerExecution:
		return look{"warn", "bad", "reached execution"}
	case lifecycle.LayerUnknown:
		return look{"unknown", "wait", "unknown"}
	case lifecycle.LayerConflict:
		return look{"warn", "bad", "key conflict"}
	case lifecycle.LayerSemantic:
		return look{"retried", "warn", "semantic duplicate"}
	}
	return look{"unknown", "wait", string(l)}
}

func caseMessage(c lifecycle.Case) string {
	if c.Message.IsZero() {
		return "the task"
	}
	return Cut(c.Message.String(), 60)
}
