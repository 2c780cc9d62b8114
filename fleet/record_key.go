package fleet

import (
	"encoding/base64"
	"strings"
)

// TaskOfRecordKey is the task id that [RecordKey] made the key from. A key that it did not make stands for itself.
func TaskOfRecordKey(key string) string {
	encoded, ok := strings.CutPrefix(key, "=")
	if !ok {
		return key
	}
	id, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(id) == 0 {
		return key
	}
	return string(id)
}
