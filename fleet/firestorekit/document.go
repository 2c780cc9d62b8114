package firestorekit

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/firestore"
)

// Collections of a fleet. The log of an agent's side effects is agent-state/<agent>/idempotency-log.
const (
	RecordCollection      = "task-idempotency"
	ReservationCollection = "task-reservations"
	agentCollection       = "agent-state"
	logCollection         = "idempotency-log"
)

// fieldDeleteAt is the field of a document, a timestamp, by which a policy of Firestore can delete it: the numbers of the contract
// cannot drive one. Without the policy nothing is deleted, and nothing depends on it.
const fieldDeleteAt = "deleteAt"

// versionMark stands between a task id and its version.
const versionMark = "~="

// DocumentID is the id of the documents of a task, its record and its reservation: the task id itself, or = and its base64url form where
// the id is not fit to be one. The versions of a task after the first, whose idempotency key is <task id>-<version>, have documents of
// their own.
func DocumentID(taskID, idempotencyKey string) string {
	id := taskID
	if !plainID(id) {
		id = "=" + base64.RawURLEncoding.EncodeToString([]byte(id))
	}
	version, ok := strings.CutPrefix(idempotencyKey, taskID+"-")
	if n, err := strconv.Atoi(version); !ok || err != nil || n < 2 {
		return id
	}
	return id + versionMark + version
}

// plainID reports whether Firestore takes a text as an id, and whether no other text can become it.
func plainID(id string) bool {
	taken := strings.HasPrefix(id, "=") || strings.Contains(id, versionMark)
	odd := id == "" || id == "." || id == ".." || strings.Contains(id, "/") || !utf8.ValidString(id)
	reserved := strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__")
	return !taken && !odd && !reserved
}

func (s store) record(taskID, idempotencyKey string) *firestore.DocumentRef {
	return s.client.Collection(RecordCollection).Doc(DocumentID(taskID, idempotencyKey))
}

func (s store) reservation(taskID, idempotencyKey string) *firestore.DocumentRef {
	return s.client.Collection(ReservationCollection).Doc(DocumentID(taskID, idempotencyKey))
}

// fields is the content of a document.
type fields map[string]any

// put adds a text where there is one.
func (f fields) put(name, text string) {
	if text != "" {
		f[name] = text
	}
}

// replace lists the updates after which a document has exactly these fields, and those of the others that it may have are gone.
func (f fields) replace(others ...string) []firestore.Update {
	var out []firestore.Update
	for name, v := range f {
		out = append(out, firestore.Update{Path: name, Value: v})
	}
	for _, name := range others {
		if _, has := f[name]; !has {
			out = append(out, firestore.Update{Path: name, Value: firestore.Delete})
		}
	}
	return out
}
