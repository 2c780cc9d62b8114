package api

import (
	"strconv"
	"strings"

	"fleetglass/internal/httperr"
)

// entryTag is the entity tag of a dead letter: the revision of what was decided about it, then what else the answer holds. If-Match compares
// the revision alone: what collectors see of the message meanwhile must not refuse an operator (ADR 16).
func entryTag(revision uint64, content ...any) string {
	return `W/"` + strconv.FormatUint(revision, 10) + "-" + strings.Trim(entityTag(content...), `W/"`) + `"`
}

// revisionIn is the revision that If-Match names; nil where it names none. A tag that is not of a dead letter matches nothing.
func revisionIn(header string) (*uint64, error) {
	if header == "" || header == "*" {
		return nil, nil
	}
	digits, _, cut := strings.Cut(strings.Trim(strings.TrimPrefix(strings.TrimSpace(header), "W/"), `"`), "-")
	revision, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !cut {
		return nil, httperr.New(httperr.EntryChanged, err).WithDetail("If-Match is not the entity tag of a dead letter. Send the ETag that GET /api/v1/dlq/{id} answers.").WithField("/header/If-Match", "is not the entity tag of a dead letter")
	}
	return &revision, nil
}
