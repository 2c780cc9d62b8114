package dlqtriage

import (
	"slices"
	"strings"
	"unicode/utf8"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// HeldRequest asks for an action on a message in flight.
type HeldRequest struct {
	Message     lifecycle.MessageKey // Required.
	Action      ActionKind           // Required. One of [HeldKinds].
	Reason      string               // Required. 3 to 2,000 characters; of reconcile it is the note.
	Force       bool                 // In spite of what could be accepted; see [ObstacleCode.Forcible].
	ForceReason string               // Required with Force.
	Actor       decision.Actor       // Required.
	Key         string               // Required. Names the request, as [Request.Key] does.
	Revision    *uint64              // Optional. The revision of the lease that the actor saw; another one is refused as changed.
}

// check reports all that is wrong with the request itself.
func (r HeldRequest) check() error {
	var unknown error
	if !slices.Contains(HeldKinds(), r.Action) {
		unknown = refusePart(RefusedAction, "/action", "There is no such action on a message in flight. Choose release, quarantine or reconcile.")
	}
	n := utf8.RuneCountInString(strings.TrimSpace(r.ForceReason))
	unsaid := refuseIf(r.Force && (n < minReason || n > maxReason), "force_reason", "is needed with force: why you force it, in 3 to 2,000 characters")
	return together(unknown, checkReason(r.Reason), unsaid)
}

// HeldPreview is what an action on a message in flight would do.
type HeldPreview struct {
	Held
	Eligible bool
	Blocked  []Obstacle // What stands in the way and is not forced.
	Effects  []string   // What would happen, in sentences.
	Warning  string     // Why the work may be done twice; empty where nothing speaks for it.
}

func (h Held) preview(r HeldRequest) HeldPreview {
	v := HeldPreview{Held: h, Blocked: unforced(h.Obstacles(r.Action), r.Force), Effects: h.effects(r.Action)}
	v.Eligible = len(v.Blocked) == 0
	if r.Action == ActionRelease {
		v.Warning = "Its worker may still be at work. Fleetglass cannot stop it: only a fencing token or an idempotency key keeps two workers from having one effect each."
	}
	return v
}

// effects says what an action does, in sentences.
func (h Held) effects(a ActionKind) []string {
	switch a {
	case ActionRelease:
		return []string{"The broker is told, in the worker's place, that the attempt is handed back.", "As the following attempt, " + h.givenOut("") + "."}
	case ActionQuarantine:
		return []string{"The message is copied to the dead-letter queue, as quarantined.", "Then it is deleted from its stream: the broker frees the slot, and an answer of its worker has no effect."}
	}
	return []string{"The attempt is marked as resolved, with your name and your note. Nothing counts as wrong with it any more.",
		"Nothing is told to the broker: without an answer it goes on as before. It is no completion."}
}
