package firestorekit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// recordFields is a record as Firestore keeps it: in the names of the contract, its times as whole milliseconds.
func recordFields(r fleet.Record) fields {
	f := fields{"taskId": r.TaskID, "agentId": r.AgentID, "completedAt": int64(r.CompletedAt) / 1000}
	f.put("idempotencyKey", r.IdempotencyKey)
	f.put("resultSummary", r.ResultSummary)
	f.put("payloadHash", r.PayloadHash)
	if r.NatsStreamSeq != 0 {
		f["natsStreamSeq"] = int64(r.NatsStreamSeq)
	}
	if r.ExpiresAt.Known() {
		f["expiresAt"], f[fieldDeleteAt] = int64(r.ExpiresAt)/1000, r.ExpiresAt.Time()
	}
	return f
}

// completionOf reads a record leniently; it is nil where the document states no completion. One that has a result or a status but no time
// completed when it was created. It errors when the document cannot be read.
func completionOf(doc *firestore.DocumentSnapshot) (*fleet.Record, error) {
	data := doc.Data()
	if !statesCompletion(data) {
		return nil, nil
	}
	if id, _ := data["taskId"].(string); strings.TrimSpace(id) == "" {
		data["taskId"] = doc.Ref.ID
	}
	r, err := readRecord(data)
	if err != nil {
		return nil, err
	}
	if !timed(data["completedAt"]) {
		r.CompletedAt = lifecycle.MicrosOf(doc.CreateTime)
	}
	return &r, nil
}

// statesCompletion tells a record from what agents of other makes write to reserve a task.
func statesCompletion(data map[string]any) bool {
	result, _ := data["resultSummary"].(string)
	state, _ := data["status"].(string)
	return timed(data["completedAt"]) || result != "" || strings.EqualFold(state, "completed")
}

// timed reports whether a value states a time, readable or not.
func timed(v any) bool {
	switch v {
	case nil, int64(0), float64(0), "", "0":
		return false
	}
	return true
}

func readRecord(data map[string]any) (fleet.Record, error) {
	known := fields{}
	for _, name := range []string{
		"taskId", "idempotencyKey", "agentId", "completedAt", "resultSummary", "natsStreamSeq", "expiresAt", "payloadHash",
	} {
		if v := data[name]; writable(v) {
			known[name] = v
		}
	}
	body, err := json.Marshal(known)
	if err != nil {
		return fleet.Record{}, fmt.Errorf("read idempotency record: %w", err)
	}
	return fleet.ReadRecord(body)
}

// writable reports whether JSON has a form of a value that a record may have.
func writable(v any) bool {
	switch x := v.(type) {
	case string, int64, time.Time:
		return true
	case float64:
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return false
}

// instant reads a time as programs write it, a number, text or a timestamp; unknown where it is none.
func instant(v any) lifecycle.Micros {
	if at, ok := v.(time.Time); ok {
		return lifecycle.MicrosOf(at)
	}
	if !writable(v) {
		return 0
	}
	return fleet.ParseInstant(fmt.Sprint(v))
}

// asRead is a record as it reads back: with whole milliseconds and bounded texts. It errors for one that states no time of completion.
func asRead(r fleet.Record) (fleet.Record, error) {
	if r.CompletedAt < 1000 {
		return fleet.Record{}, errors.New("a completion needs a time")
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fleet.Record{}, err
	}
	return fleet.ReadRecord(body)
}
