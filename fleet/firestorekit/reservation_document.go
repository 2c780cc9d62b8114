package firestorekit

import (
	"crypto/rand"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Fields of a reservation that not every one has.
const (
	fieldKey        = "idempotencyKey"
	fieldHash       = "payloadHash"
	fieldToken      = "fencingToken" // Not in the first version of a holder: the time of that one is its token.
	fieldCompletion = "completion"
)

// reservationFields is a reservation as Firestore keeps it. When it was last written is Firestore's own knowledge, and the beginning of
// its lease.
func reservationFields(c fleet.Claim, claimID string, deleteAt time.Time) fields {
	f := fields{
		"taskId": c.TaskID, "owner": c.Owner, "leaseMillis": max(1, c.Lease.Milliseconds()), "claimId": claimID,
		"renewedAt": firestore.ServerTimestamp, fieldDeleteAt: deleteAt,
	}
	f.put(fieldKey, c.IdempotencyKey)
	f.put(fieldHash, c.PayloadHash)
	return f
}

// held is what Firestore has about a key.
type held struct {
	owner, payloadHash, claimID string
	token                       uint64
	written                     time.Time
	expiresAt                   lifecycle.Micros // By Firestore's clock.
	deleteAt                    time.Time        // Likewise. From then on nothing holds any more.
	completion                  *fleet.Record    // Once confirmed.
}

// readHeld reads a reservation; it is nil where there is none. It errors when it is not one.
func readHeld(doc *firestore.DocumentSnapshot) (*held, error) {
	if !doc.Exists() {
		return nil, nil
	}
	data := doc.Data()
	h := &held{written: doc.UpdateTime}
	h.owner, _ = data["owner"].(string)
	h.claimID, _ = data["claimId"].(string)
	h.payloadHash, _ = data[fieldHash].(string)
	h.deleteAt, _ = data[fieldDeleteAt].(time.Time)
	lease, _ := data["leaseMillis"].(int64)
	if h.owner == "" || lease <= 0 {
		return nil, fmt.Errorf("read reservation %s: no owner or leaseMillis", doc.Ref.ID)
	}
	h.token, h.expiresAt = tokenOf(doc.UpdateTime), expiry(doc.UpdateTime, time.Duration(lease)*time.Millisecond)
	if token, stated := data[fieldToken].(int64); stated {
		h.token = uint64(token)
	}
	if completion, ok := data[fieldCompletion].(map[string]any); ok {
		r, err := readRecord(completion)
		if err != nil {
			return nil, fmt.Errorf("read reservation %s: %w", doc.Ref.ID, err)
		}
		h.completion = &r
	}
	return h, nil
}

// expiry is when a lease ends that began with a write, in whole milliseconds.
func expiry(written time.Time, lease time.Duration) lifecycle.Micros {
	return lifecycle.MicrosOf(written.Truncate(time.Millisecond).Add(lease))
}

// tokenOf is the fencing token of whoever made the write.
func tokenOf(written time.Time) uint64 { return uint64(written.UnixMicro()) }

// forgotten reports whether the reservation is past its retention: as if a policy had deleted it.
func (h *held) forgotten(now time.Time) bool { return !h.deleteAt.IsZero() && !now.Before(h.deleteAt) }

// revision is the version of a document in the form of [fleet.Reservation].
func revision(written time.Time) uint64 { return uint64(written.UnixNano()) }

// version demands that a document is as it was at a revision.
func version(revision uint64) firestore.Precondition {
	return firestore.LastUpdateTime(time.Unix(0, int64(revision)))
}

// newClaimID makes an id by which a claim knows its own reservation again when the answer to its write was lost.
func newClaimID() string { return rand.Text() }
