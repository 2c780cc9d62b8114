package dlqtriage

import (
	"fmt"
	"strings"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// EntryID is the id of the entry of a message: the [lifecycle.MessageKey.PathID] of its key. [ParseEntryID] reads it back.
func EntryID(k lifecycle.MessageKey) string {
	return k.PathID()
}

// ParseEntryID reads what [EntryID] wrote.
func ParseEntryID(id string) (lifecycle.MessageKey, error) {
	text := id
	for range 2 {
		if i := strings.LastIndexByte(text, '.'); i >= 0 {
			text = text[:i] + "/" + text[i+1:]
		}
	}
	k, err := lifecycle.ParseMessageKey(text)
	if err != nil {
		return lifecycle.MessageKey{}, fmt.Errorf("parse entry id %q: %w", id, err)
	}
	return k, nil
}

// About is what decisions about the entry are about.
func (e Entry) About() decision.Subject { return decision.About(e.Key) }
