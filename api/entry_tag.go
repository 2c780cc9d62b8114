package api

import (
	"strconv"
	"strings"
)

// entryTag is the entity tag of a dead letter: the revision of what was decided about it, then what else the answer holds. If-Match compares
// the revision alone: what collectors see of the message meanwhile must not refuse an operator (ADR 16).
func entryTag(revision uint64, content ...any) string {
	return `W/"` + strconv.FormatUint(revision, 10) + "-" + strings.Trim(entityTag(content...), `W/"`) + `"`
}

// entryTags are the tags of dead letters.
var entryTags = ifMatch{what: "the entity tag of a dead letter", from: "Send the ETag that GET /api/v1/dlq/{id} answers.", read: func(tag string) (uint64, bool) {
	digits, _, cut := strings.Cut(tag, "-")
	revision, err := strconv.ParseUint(digits, 10, 64)
	return revision, cut && err == nil
}}

// leaseTags are the revisions of leases: a lease has no entity tag of its own.
var leaseTags = ifMatch{what: "the revision of a lease", from: "Send the revision that GET /api/v1/in-flight lists.", read: func(tag string) (uint64, bool) {
	revision, err := strconv.ParseUint(tag, 10, 64)
	return revision, err == nil
}}
