package dlqtriage

import (
	"testing"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

func TestARetryIsPublishedOnlyByTheMessageThatFleetglassStored(t *testing.T) {
	t.Parallel()
	d := Delivery{Of: "TASKS:4", Message: Message{Headers: map[string]string{fleet.HeaderMsgID: "T:r1"}}}
	for name, tt := range map[string]struct {
		stored lifecycle.StoredFacts
		want   bool
	}{
		"Fleetglass stored it":              {lifecycle.StoredFacts{MsgID: "T:r1", RetryOf: "TASKS:4", Publisher: fleet.PublisherFleetglass}, true},
		"somebody stored it under its id":   {lifecycle.StoredFacts{MsgID: "T:r1", RetryOf: "TASKS:4"}, false},
		"another message of its task":       {lifecycle.StoredFacts{MsgID: "T:r2", RetryOf: "TASKS:4", Publisher: fleet.PublisherFleetglass}, false},
		"under its id, of another dead one": {lifecycle.StoredFacts{MsgID: "T:r1", RetryOf: "TASKS:3", Publisher: fleet.PublisherFleetglass}, false},
	} {
		key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 41}
		got, found := d.Published(lifecycle.TaskRecord{Messages: []lifecycle.MessageFacts{{Key: key, Stored: &tt.stored}}})
		if found != tt.want || found && got != key {
			t.Errorf("%s: found %v (%v), want %v", name, found, got, tt.want)
		}
	}
}
