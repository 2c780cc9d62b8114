package decision

import "fleetglass/lifecycle"

// KeyRequest reserves an idempotency key for a call that changes something, before anything happens.
type KeyRequest struct {
	Key         string           // Required. Token, method, path and the caller's key, as one text.
	Fingerprint string           // Required. Of the canonical request.
	Now         lifecycle.Micros // Required.
	Until       lifecycle.Micros // Required. When somebody else may take over, because the one who runs the call died.
}

// KeyStatus is what a reservation found.
type KeyStatus string

// The answers to a reservation.
const (
	KeyReserved  KeyStatus = "reserved"  // The caller runs the request now.
	KeyRunning   KeyStatus = "running"   // Somebody else runs it.
	KeyCompleted KeyStatus = "completed" // It was run; the reply is kept.
	KeyReused    KeyStatus = "reused"    // The key stands for another request.
)

// KeyState is the answer to a reservation.
type KeyState struct {
	Status KeyStatus
	Token  uint64 // Of a reservation: who completes with an older one is refused.
	Reply  []byte // Of a completed request.
}

// KeptKey is what stands under a key.
type KeptKey struct {
	Fingerprint string
	Token       uint64
	Until       lifecycle.Micros // When the reservation ends; zero when the request was completed.
	Reply       []byte
}

// Answer says what a reservation finds; k is nil where nothing stands under the key. The store writes the reservation where the status is
// KeyReserved.
func (k *KeptKey) Answer(r KeyRequest) KeyState {
	switch {
	case k == nil:
		return KeyState{Status: KeyReserved, Token: 1}
	case k.Fingerprint != r.Fingerprint:
		return KeyState{Status: KeyReused}
	case !k.Until.Known():
		return KeyState{Status: KeyCompleted, Reply: k.Reply}
	case k.Until > r.Now:
		return KeyState{Status: KeyRunning}
	}
	return KeyState{Status: KeyReserved, Token: k.Token + 1} // Who reserved it before died.
}

// CheckHolder reports, as ErrTakenOver, that the key is no longer reserved with the token. completed says that it was completed with it.
func (k *KeptKey) CheckHolder(token uint64) (completed bool, err error) {
	if k == nil || k.Token != token {
		return false, ErrTakenOver
	}
	return !k.Until.Known(), nil
}
