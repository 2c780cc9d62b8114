package lifecycle

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// StreamID names one incarnation of one stream. Advisories and acknowledgements carry no account and no domain prefix, so the
// observer adds them; a stream that was deleted and created again starts its sequences anew, so its later incarnations carry
// the time of their creation.
type StreamID struct {
	Account string // Empty for the account Fleetglass is configured for.
	Domain  string // JetStream domain; empty for the default.
	Name    string // Stream name as configured on the broker.
	Epoch   Micros // Creation time of a later incarnation; zero for the first one known.
}

// String is the textual form, [[account/]domain/]name[~epoch]. [ParseStreamID] reads it back.
func (s StreamID) String() string {
	text := s.Name
	switch {
	case s.Account != "":
		text = s.Account + "/" + s.Domain + "/" + text
	case s.Domain != "":
		text = s.Domain + "/" + text
	}
	if s.Epoch != 0 {
		text += "~" + strconv.FormatInt(int64(s.Epoch), 10)
	}
	return text
}

// ParseStreamID reads the form that [StreamID.String] writes. It errors on an empty name or too many parts.
func ParseStreamID(text string) (StreamID, error) {
	var s StreamID
	rest := text
	if i := strings.LastIndexByte(rest, '~'); i >= 0 {
		if n, err := strconv.ParseInt(rest[i+1:], 10, 64); err == nil && n > 0 {
			s.Epoch, rest = Micros(n), rest[:i]
		}
	}
	parts := strings.Split(rest, "/")
	switch len(parts) {
	case 1:
		s.Name = parts[0]
	case 2:
		s.Domain, s.Name = parts[0], parts[1]
	case 3:
		s.Account, s.Domain, s.Name = parts[0], parts[1], parts[2]
	}
	if s.Name == "" {
		return StreamID{}, fmt.Errorf("parse stream %q: want [[account/]domain/]name", text)
	}
	return s, nil
}

// Compare orders streams by account, domain, name and incarnation.
func (s StreamID) Compare(o StreamID) int {
	return cmp.Or(cmp.Compare(s.Account, o.Account), cmp.Compare(s.Domain, o.Domain), cmp.Compare(s.Name, o.Name), cmp.Compare(s.Epoch, o.Epoch))
}

// MessageKey identifies one stored message: what the broker calls a sequence, in the stream that it belongs to.
type MessageKey struct {
	Stream StreamID
	Seq    uint64 // Stream sequence, from 1; zero means "no stored message" (a publish attempt, a report about a task).
}

// IsZero reports whether the key names no stored message.
func (k MessageKey) IsZero() bool { return k.Seq == 0 }

// String is <stream>:<seq>, also the task id of a message that carries none (SPEC 1).
func (k MessageKey) String() string { return k.Stream.String() + ":" + strconv.FormatUint(k.Seq, 10) }

// PathID is the key, written so that it can stand in the path of an address.
func (k MessageKey) PathID() string {
	return strings.ReplaceAll(k.String(), "/", ".") // Neither a stream's name nor a domain has a dot.
}

// Compare orders keys totally: by stream, then sequence.
func (k MessageKey) Compare(o MessageKey) int {
	return cmp.Or(k.Stream.Compare(o.Stream), cmp.Compare(k.Seq, o.Seq))
}

// cameBack reports whether two messages, which were stored at two times, are one that its stream had before and has again: it was restored from a backup, or its broker
// forgot that it had left.
func (k MessageKey) cameBack(at Micros, o MessageKey, oAt Micros) bool {
	return k.Stream.Name == o.Stream.Name && k.Stream.Epoch != o.Stream.Epoch && k.Seq == o.Seq && at == oAt
}

// ParseMessageKey reads the form that [MessageKey.String] writes.
func ParseMessageKey(text string) (MessageKey, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return MessageKey{}, fmt.Errorf("parse message key %q: want stream:seq", text)
	}
	stream, err := ParseStreamID(text[:i])
	if err != nil {
		return MessageKey{}, err
	}
	seq, err := strconv.ParseUint(text[i+1:], 10, 64)
	if err != nil || seq == 0 {
		return MessageKey{}, fmt.Errorf("parse message key %q: sequence must be a positive number", text)
	}
	return MessageKey{Stream: stream, Seq: seq}, nil
}

// MarshalText makes keys readable in JSON, as values and as map keys.
func (k MessageKey) MarshalText() ([]byte, error) {
	if k.IsZero() {
		return nil, nil
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *MessageKey) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*k = MessageKey{}
		return nil
	}
	p, err := ParseMessageKey(string(b))
	if err == nil {
		*k = p
	}
	return err
}
