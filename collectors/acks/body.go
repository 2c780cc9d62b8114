package acks

import (
	"bytes"
	"encoding/json"
	"time"

	"fleetglass/lifecycle"
)

// Body is what the body of an acknowledgement says.
type Body struct {
	Kind   lifecycle.Kind // Acked, Nacked, Terminated or Heartbeat.
	Delay  time.Duration  // Asked for by a nak; zero for none, or one that the broker cannot read.
	Reason string         // Of a termination.
}

var (
	ack      = []byte("+ACK")
	ok       = []byte("+OK") // Deprecated, but the broker still takes it for an acknowledgement.
	nak      = []byte("-NAK")
	progress = []byte("+WPI")
	next     = []byte("+NXT")
	term     = []byte("+TERM")
)

// ParseBody reads a body exactly as the broker does (processAck in its consumer.go): empty, +ACK and +OK acknowledge; whatever begins
// with +NXT acknowledges and asks for more; whatever begins with -NAK hands back; +WPI extends; whatever begins with +TERM
// terminates. Anything else, other case and trailing space included, has no effect on the broker, and is not ok.
func ParseBody(body []byte) (Body, bool) {
	switch {
	case len(body) == 0, bytes.Equal(body, ack), bytes.Equal(body, ok), bytes.HasPrefix(body, next):
		return Body{Kind: lifecycle.Acked}, true
	case bytes.HasPrefix(body, nak):
		return Body{Kind: lifecycle.Nacked, Delay: delay(body[len(nak):])}, true
	case bytes.Equal(body, progress):
		return Body{Kind: lifecycle.Heartbeat}, true
	case bytes.HasPrefix(body, term):
		return Body{Kind: lifecycle.Terminated, Reason: string(bytes.TrimSpace(body[len(term):]))}, true
	}
	return Body{}, false
}

// delay reads {"delay": nanoseconds} or a Go duration. What the broker cannot read is a plain nak to it.
func delay(arg []byte) time.Duration {
	arg = bytes.TrimSpace(arg)
	if len(arg) == 0 {
		return 0
	}
	if arg[0] != '{' {
		d, err := time.ParseDuration(string(arg))
		if err != nil {
			return 0
		}
		return max(d, 0)
	}
	var options struct {
		Delay time.Duration `json:"delay"`
	}
	if json.Unmarshal(arg, &options) != nil {
		return 0
	}
	return max(options.Delay, 0)
}
