package testkit

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Captured is one message of a capture stream, in a form that golden files keep.
type Captured struct {
	Seq     uint64              `json:"seq"`
	Time    time.Time           `json:"time"`
	Subject string              `json:"subject"`
	Headers map[string][]string `json:"headers,omitempty"`
	Body    string              `json:"body"`
}

// Capture waits until the stream holds n messages and returns all of them, in order.
func Capture(t testing.TB, js jetstream.JetStream, stream string, n uint64) []Captured {
	t.Helper()
	var last uint64
	Eventually(t, 10*time.Second, func() error {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return err
		}
		if last = s.CachedInfo().State.LastSeq; last < n {
			return errors.New(stream + " holds fewer messages than expected")
		}
		return nil
	})
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Captured, 0, last)
	for seq := uint64(1); seq <= last; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatalf("%s:%d: %v", stream, seq, err)
		}
		out = append(out, Captured{Seq: m.Sequence, Time: m.Time, Subject: m.Subject, Headers: m.Header, Body: string(m.Data)})
	}
	return out
}

var longNumber = regexp.MustCompile(`\d{13,}`)

// Form is what stays the same of a captured message from one run to the next: instants, random ids and durations are replaced.
func (c Captured) Form() string {
	body := c.Body
	var object map[string]any
	if strings.HasPrefix(body, `{"type"`) && json.Unmarshal([]byte(body), &object) == nil {
		for _, name := range []string{"id", "timestamp", "ack_time"} {
			if _, there := object[name]; there {
				object[name] = "*"
			}
		}
		if b, err := json.Marshal(object); err == nil {
			body = string(b)
		}
	}
	headers := map[string][]string{}
	for name, values := range c.Headers {
		if name == "Nats-Time-Stamp" {
			values = []string{"*"}
		}
		headers[name] = values
	}
	h, err := json.Marshal(headers)
	if err != nil {
		return err.Error()
	}
	return longNumber.ReplaceAllString(c.Subject, "T") + " " + string(h) + " " + body
}
