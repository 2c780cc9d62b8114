package acks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// Subject is what the subject of an acknowledgement says.
type Subject struct {
	Domain      string // As sent by brokers that use the long form; "_" for none. Empty in the short form, which does not say it.
	Stream      string
	Consumer    string
	Deliveries  int
	Seq         uint64           // Stream sequence.
	ConsumerSeq uint64           // Consumer sequence of the delivery.
	PublishedAt lifecycle.Micros // When the message was stored, exactly as the broker knows it.
}

// maxDeliveries bounds the delivery count that is believed.
const maxDeliveries = 1 << 31

// ParseSubject reads both forms of the subject (NATS.md, "Acknowledgements"): nine tokens, or eleven and more with domain and account
// hash. It errors where a token cannot be a broker's: such a line is nobody's acknowledgement.
func ParseSubject(subject string) (Subject, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 || tokens[0] != "$JS" || tokens[1] != "ACK" {
		return Subject{}, errors.New("subject is not an acknowledgement's")
	}
	var s Subject
	rest := tokens[2:]
	switch {
	case len(tokens) == 9:
	case len(tokens) >= 11:
		s.Domain, rest = tokens[2], tokens[4:]
		if s.Domain == "" {
			return Subject{}, errors.New("subject has an empty domain")
		}
	default:
		return Subject{}, fmt.Errorf("subject has %d tokens, want 9, or 11 and more", len(tokens))
	}
	s.Stream, s.Consumer = rest[0], rest[1]
	if err := collectors.CheckConsumer(s.Consumer); err != nil {
		return Subject{}, err
	}
	numbers := [5]uint64{}
	for i, name := range [...]string{"delivery count", "stream sequence", "consumer sequence", "publish time", "pending count"} {
		n, err := number(rest[2+i])
		if err != nil {
			return Subject{}, fmt.Errorf("%s %q: %w", name, clip(rest[2+i]), err)
		}
		numbers[i] = n
	}
	if numbers[0] == 0 || numbers[0] > maxDeliveries {
		return Subject{}, fmt.Errorf("delivery count %d is not between 1 and 2^31", numbers[0])
	}
	if numbers[2] == 0 || numbers[2] > collectors.MaxSequence {
		return Subject{}, fmt.Errorf("consumer sequence %d is not between 1 and 2^53", numbers[2])
	}
	if numbers[0] > numbers[2] {
		return Subject{}, fmt.Errorf("delivery %d of a message cannot be the consumer's delivery %d", numbers[0], numbers[2])
	}
	s.Deliveries, s.Seq, s.ConsumerSeq = int(numbers[0]), numbers[1], numbers[2]
	s.PublishedAt = lifecycle.Micros(numbers[3] / 1000)
	return s, nil
}

// number reads digits only, as the broker does, but refuses what it would let wrap around.
func number(token string) (uint64, error) {
	if token == "" || strings.Trim(token, "0123456789") != "" {
		return 0, errors.New("not a number")
	}
	n, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return 0, errors.New("too large")
	}
	return uint64(n), nil
}

func clip(s string) string { return s[:min(len(s), 64)] }
