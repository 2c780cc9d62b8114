package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// entityTag is a weak tag of an answer: equal for equal content, whatever the encoding on the wire. Bytes stand for themselves, anything
// else for its JSON.
func entityTag(content ...any) string {
	sum := sha256.New()
	for _, part := range content {
		b, encoded := part.([]byte)
		if !encoded {
			var err error
			if b, err = json.Marshal(part); err != nil {
				return "" // What cannot be written is reported when it is.
			}
		}
		sum.Write(b)
	}
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12]) + `"`
}

// matches reports whether one of the tags of If-None-Match is tag, compared weakly (RFC 9110, 13.1.2).
func matches(header []string, tag string) bool {
	if tag == "" {
		return false
	}
	for _, line := range header {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
