package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fleetglass/lifecycle"
)

// reservationMark ends the keys of reservations. It is no version, so that no record has such a key.
const reservationMark = versionMark + "held"

// ReservationKey is the key in the bucket of the reservation of a task. Reservations stand beside the records and not in their place:
// whoever finds a record may rely on it that the task completed, and the end of a reservation never looks like the end of a record.
func ReservationKey(taskID, idempotencyKey string) string {
	return RecordKey(taskID, idempotencyKey) + reservationMark
}

// IsReservationKey reports whether a key of the bucket is one that [ReservationKey] makes.
func IsReservationKey(key string) bool { return strings.HasSuffix(key, reservationMark) }

// reservationValue is a reservation as it is stored.
type reservationValue struct {
	TaskID         string          `json:"taskId"`
	IdempotencyKey string          `json:"idempotencyKey,omitempty"`
	Owner          string          `json:"owner"`
	PayloadHash    string          `json:"payloadHash,omitempty"`
	Token          uint64          `json:"fencingToken,omitempty"` // Left out in the first revision of a holder: that revision is its token.
	ExpiresAt      json.RawMessage `json:"expiresAt"`              // Milliseconds.
	Completion     *Record         `json:"completion,omitempty"`   // Once confirmed. From then on nothing changes.
}

func (r Reservation) value(completion *Record) ([]byte, error) {
	c := r.Claim
	return json.Marshal(reservationValue{c.TaskID, c.IdempotencyKey, c.Owner, c.PayloadHash, r.Token, millis(r.ExpiresAt), completion})
}

// storedReservation is what a revision of the bucket says about a key.
type storedReservation struct {
	Reservation
	completion *Record
}

func readReservation(body []byte, revision uint64) (storedReservation, error) {
	var v struct {
		reservationValue
		Completion json.RawMessage `json:"completion"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return storedReservation{}, fmt.Errorf("read reservation: %w", err)
	}
	if v.TaskID == "" || v.Owner == "" {
		return storedReservation{}, errors.New("read reservation: no taskId or owner")
	}
	var until Instant
	_ = until.UnmarshalJSON(v.ExpiresAt) // Never errors.
	s := storedReservation{Reservation: Reservation{
		Claim: Claim{TaskID: v.TaskID, IdempotencyKey: v.IdempotencyKey, Owner: v.Owner, PayloadHash: v.PayloadHash},
		Token: v.Token, ExpiresAt: lifecycle.Micros(until), Revision: revision,
	}}
	if s.Token == 0 {
		s.Token = revision
	}
	if len(v.Completion) > 0 && string(v.Completion) != "null" {
		r, err := ReadRecord(v.Completion)
		if err != nil {
			return storedReservation{}, fmt.Errorf("read reservation: %w", err)
		}
		s.completion = &r
	}
	return s, nil
}

// contradicts reports whether two fingerprints of one key are known and differ.
func contradicts(a, b string) bool { return a != "" && b != "" && a != b }

// asRead is a record as it reads back: with whole milliseconds and bounded texts.
func asRead(r Record) (Record, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Record{}, err
	}
	return ReadRecord(body)
}
