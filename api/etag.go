package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// entityTag is a weak tag of an answer: equal for equal content, whatever the encoding on the wire.
func entityTag(content any) string {
	b, err := json.Marshal(content)
	if err != nil {
		return "" // What cannot be written is reported when it is.
	}
	sum := sha256.Sum256(b)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
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
