package collectors

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Streams resolves what lines call a stream to the incarnation that they speak of. It is a value, one look at what was known after a
// batch was read, so that decoders stay pure.
type Streams struct {
	Contract fleet.Contract          // Names and domain of the fleet.
	Home     string                  // The broker's own JetStream domain, which lines may name although none is configured.
	Known    map[string]Incarnations // By stream name, streams of the configured domain only.
	Copies   map[string]bool         // Streams that hold nothing but copies of other streams' messages: mirrors, and those that only have sources.
	Copied   map[string]bool         // Streams whose messages another stream of the account copies.
	LastSeq  map[string]LastSeq      // By stream name: the live incarnation's last sequence when looked at.
	Sights   map[ConsumerRef]Sight   // How the consumers were that the lines name; without those that were not asked for.
	Workers  map[string][]Worker     // By stream name, of streams that keep their messages: the workers' consumers. Only for lines that are answers.
	Deleted  lifecycle.Micros        // Up to when the store may have deleted what had ended; zero for never.
	There    map[MessageRef]bool     // Messages that lines say have left, and that the stream holds all the same.

	within  lifecycle.StreamID // The incarnation that messages of its name are of, whatever their time; without a name for none.
	denials *denials           // Where it is noted that the state contradicts a line; nil for nowhere.
}

// denials notes whether the broker's state was found to contradict a line.
type denials bool

func (d *denials) any() bool { return d != nil && bool(*d) }

// denied notes a contradiction, and returns whether there is one.
func (s Streams) denied(is bool) bool {
	if is && s.denials != nil {
		*s.denials = true
	}
	return is
}

// LastSeq is the last sequence of the live incarnation of a stream, and how the stream was configured then.
type LastSeq struct {
	Epoch  lifecycle.Micros
	Seq    uint64
	Window time.Duration
	Copies bool // It holds copies of messages that other streams have.
	Kept   bool // It is no work queue: messages stay after an acknowledgement.

	Consumers int              // How many it has.
	First     lifecycle.Micros // When the first message that it holds was stored; zero for none.
}

// At is the incarnation of the stream that lived at the given time. Domain is what the line says: empty or "_" where it says none.
func (s Streams) At(domain, name string, at lifecycle.Micros) lifecycle.StreamID {
	id := s.Contract.StreamID(name)
	if domain != "" && domain != "_" && domain != s.Home && domain != id.Domain {
		id.Domain = domain
		return id
	}
	if id.Epoch = s.Known[name].EpochAt(at); name == s.within.Name {
		id.Epoch = s.within.Epoch
	}
	return id
}

// Within is s for lines that were read from a stream itself: their messages are of that incarnation, also where it was restored and they are older.
func (s Streams) Within(id lifecycle.StreamID) Streams {
	s.within = id
	return s
}

// IsCopy reports whether a message of a stream is the copy of one that another stream has: all messages of a mirror are, and of a stream that
// has sources those whose headers say so.
func (s Streams) IsCopy(stream string, headers map[string][]string) bool {
	if s.Copies[stream] {
		return true
	}
	if !s.LastSeq[stream].Copies {
		return false
	}
	for _, source := range headers[headerStreamSource] {
		from, _, _ := strings.Cut(source, " ")
		from, _, _ = strings.Cut(from, ":") // Behind the name comes what tells several sources of one stream apart.
		if _, observed := s.Known[from]; observed && from != stream {
			return true
		}
	}
	return false
}

// headerStreamSource begins with the stream that a message was copied from.
const headerStreamSource = "Nats-Stream-Source"

// Message is the key of a message that a line names. It errors where the names or the sequence cannot be a broker's.
func (s Streams) Message(domain, name string, at lifecycle.Micros, seq uint64) (lifecycle.MessageKey, error) {
	if err := checkPart("stream", name); err != nil {
		return lifecycle.MessageKey{}, err
	}
	if domain != "" {
		if err := checkPart("domain", domain); err != nil {
			return lifecycle.MessageKey{}, err
		}
	}
	if seq == 0 || seq > MaxSequence {
		return lifecycle.MessageKey{}, fmt.Errorf("stream sequence %d is not between 1 and 2^53", seq)
	}
	return lifecycle.MessageKey{Stream: s.At(domain, name, at), Seq: seq}, nil
}

// Answered is the key of the message that an answer names by its sequence and the time at which it was stored. The error is as that of [Streams.Message].
func (s Streams) Answered(domain, name string, stored lifecycle.Micros, seq uint64, sent lifecycle.Micros) (lifecycle.MessageKey, error) {
	key, err := s.Message(domain, name, stored, seq)
	if err == nil && !s.Elsewhere(key) {
		key.Stream.Epoch = s.Known[name].EpochOfAnswer(seq, stored, sent)
	}
	return key, err
}

// Beyond reports whether the stream had not reached that sequence when it was looked at, after the line was read: such a message
// cannot have been delivered to anybody.
func (s Streams) Beyond(k lifecycle.MessageKey) (last uint64, beyond bool) {
	if s.Elsewhere(k) {
		return 0, false
	}
	l, known := s.LastSeq[k.Stream.Name]
	return l.Seq, s.denied(known && l.Epoch == k.Stream.Epoch && k.Seq > l.Seq)
}

// Unheard reports whether a stream of this account takes no tasks of the fleet, and is not known to have done so before.
func (s Streams) Unheard(k lifecycle.MessageKey) bool {
	_, known := s.Known[k.Stream.Name]
	return s.denied(!s.Elsewhere(k) && s.Known != nil && !known)
}

// CheckStream errors when text cannot be the name of a stream.
func CheckStream(text string) error { return checkPart("stream", text) }

// CheckConsumer errors when text cannot be the name of a consumer.
func CheckConsumer(text string) error { return checkName("consumer", text) }

// checkPart is stricter than [checkName]: the textual form of a key uses the tilde.
func checkPart(what, text string) error {
	if strings.Contains(text, "~") {
		return fmt.Errorf("%s name %q has a tilde", what, storable(text, maxName))
	}
	return checkName(what, text)
}

func checkName(what, text string) error {
	if text == "" || len(text) > maxName || strings.ContainsAny(text, "/\\ \t\r\n\x00") {
		return fmt.Errorf("%s name %q is not one that the broker takes", what, storable(text, maxName))
	}
	return nil
}
