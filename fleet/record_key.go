package fleet

import (
	"encoding/base64"
	"strconv"
	"strings"
)

const (
	// keyRunes may be part of a key in a bucket.
	keyRunes = "-/_=.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// versionMark stands between a task id and its version.
	versionMark = "/="
)

// RecordKey is the key in the bucket of the record of a task: the task id itself, or = and its base64url form where the id is not fit
// to be a key. The versions of a task after the first, whose idempotency key is <task id>-<version>, have records of their own.
func RecordKey(taskID, idempotencyKey string) string {
	key := taskID
	if !plainKey(taskID) {
		key = "=" + encodeKey(taskID)
	}
	version, ok := strings.CutPrefix(idempotencyKey, taskID+"-")
	if n, err := strconv.Atoi(version); !ok || err != nil || n < 2 {
		return key
	}
	return key + versionMark + version
}

func plainKey(id string) bool {
	odd := strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(keyRunes, r) })
	dots := strings.HasPrefix(id, ".") || strings.HasSuffix(id, ".") || strings.Contains(id, "..")
	return id != "" && !odd && !dots && id[0] != '=' && !strings.Contains(id, versionMark)
}

func encodeKey(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// VersionOfRecordKey is the idempotency key of the version whose record has that key; empty for the first, which shares its key with records of other keys.
func VersionOfRecordKey(key string) string {
	if _, version, ok := strings.Cut(key, versionMark); ok {
		return TaskOfRecordKey(key) + "-" + version
	}
	return ""
}

// TaskOfRecordKey is the task id that [RecordKey] made the key from. A key that it did not make stands for itself.
func TaskOfRecordKey(key string) string {
	id, _, _ := strings.Cut(key, versionMark)
	encoded, ok := strings.CutPrefix(id, "=")
	if !ok {
		return id
	}
	plain, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(plain) == 0 {
		return key
	}
	return string(plain)
}
