package brokersync

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// fields are the key=value parts of a line. What cannot be parsed is noted.
type fields struct {
	values map[string]string
	err    error
}

func parseFields(parts []string) *fields {
	f := &fields{values: map[string]string{}}
	for _, p := range parts {
		name, value, _ := strings.Cut(p, "=")
		f.values[name] = value
	}
	return f
}

func (f *fields) take(name string) (string, bool) {
	v, ok := f.values[name]
	delete(f.values, name)
	return v, ok
}

func (f *fields) number(name string, otherwise int) int {
	v, ok := f.take(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	f.note(err)
	return n
}

func (f *fields) duration(name string, otherwise time.Duration) time.Duration {
	v, ok := f.take(name)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	f.note(err)
	return d
}

// instant is a time since the beginning; zero where it is not given.
func (f *fields) instant(name string) lifecycle.Micros {
	if _, ok := f.values[name]; !ok {
		return 0
	}
	return at(f.duration(name, 0))
}

// place is <consumer sequence>/<stream sequence>.
func (f *fields) place(name string) (cseq, seq uint64) {
	v, ok := f.take(name)
	if !ok {
		return 0, 0
	}
	_, err := fmt.Sscanf(v, "%d/%d", &cseq, &seq)
	f.note(err)
	return cseq, seq
}

func (f *fields) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// done errors when something could not be parsed or is not known.
func (f *fields) done() error {
	for name := range f.values {
		f.note(fmt.Errorf("field %q is not known", name))
	}
	return f.err
}

// apply carries out one line of a scenario. poll says that it asks for a poll.
func (w *world) apply(line string) (poll bool, err error) {
	parts := strings.Fields(line)
	verb, parts := parts[0], parts[1:]
	switch verb {
	case "look", "poll":
		d, err := time.ParseDuration(parts[0])
		if !w.looked {
			w.seen.At = at(d)
			w.look = w.glance()
		}
		w.slow = w.looked
		w.looked = verb == "look"
		return verb == "poll", err
	case "replica":
		if w.replica = parts[0]; w.states[w.replica].Consumers == nil {
			w.states[w.replica] = NewState(w.consumersStored())
		}
		return false, nil
	case "starts-again":
		w.states[w.replica] = NewState(w.consumersStored())
		return false, nil
	case "broker-starts-again":
		w.seen.Server += "again"
		return false, nil
	case "captured":
		seq, err := strconv.ParseUint(parts[0], 10, 64)
		w.published(seq)
		return false, err
	case "message", "gone":
		return false, w.message(verb == "gone", parts)
	case "knows":
		return false, w.line(parts)
	case "consumer":
		return false, w.consumer(parts[0], parseFields(parts[1:]))
	case "no-consumer":
		delete(w.consumers, parts[0])
		return false, nil
	case "deleted":
		d, err := time.ParseDuration(parts[1])
		w.deleted.Last[parts[0]] = at(d)
		return false, err
	case "updated":
		d, err := time.ParseDuration(parts[0])
		w.updated.Last = at(d)
		return false, err
	case "stream":
		return false, w.stream(parseFields(parts))
	case "stored-up-to":
		return false, w.storedUpTo(parts)
	case "lost":
		return false, w.lost(parts)
	case "captured-since":
		d, err := time.ParseDuration(parts[0])
		w.begun = at(d)
		return false, err
	case "no-capture":
		w.absent[parts[0]] = true
		return false, nil
	}
	return false, fmt.Errorf("directive %q is not known", verb)
}

// message stores a message, or takes it away. The store knows it unless its publish line was lost.
func (w *world) message(gone bool, parts []string) error {
	seq, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return err
	}
	if gone {
		delete(w.stored, seq)
		return nil
	}
	f := parseFields(parts[1:])
	subject, given := f.take("subject")
	if !given {
		subject = "genbrain.agents.a.tasks.blog"
	}
	_, lost := f.take("lost")
	w.stored[seq], w.storedAt[seq], w.ttls[seq] = subject, at(f.duration("at", 0)), f.duration("ttl", 0)
	w.seen.LastSeq = max(w.seen.LastSeq, seq)
	if w.subjects[seq] = subject; !lost {
		w.published(seq)
	}
	return f.done()
}

// published takes in the publish line of a message.
func (w *world) published(seq uint64) {
	agent, _, _ := fleet.NewContract("").ParseTaskSubject(w.subjects[seq])
	w.join(lifecycle.Event{
		Kind: lifecycle.Published, At: w.storedAt[seq], Agent: agent, Message: lifecycle.MessageKey{Stream: w.seen.Stream, Seq: seq},
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{Subject: w.subjects[seq]}, Publication: lifecycle.Publication{TTL: w.ttls[seq]}},
	})
}

// line is an event that the store knows.
func (w *world) line(parts []string) error {
	seq, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(parts[2])
	if err != nil {
		return err
	}
	f := parseFields(parts[3:])
	consumer, _ := f.take("consumer")
	_, unproved := f.values["said"]
	_, undelivered := f.take("undelivered")
	unproved = unproved || undelivered // The broker's own word does not say when the message was stored.
	_, former := f.take("former")
	_, watches := f.take("watches")
	var beside []string
	if other, given := f.take("beside"); given {
		beside = []string{other}
	}
	reason := ""
	if _, deleted := f.take("deleted"); deleted {
		reason = lifecycle.BrokerDeleted
	}
	apart := w.seen.Kept && consumer != "" && !watches
	w.join(lifecycle.Event{
		Kind: lifecycle.Kind(parts[0]), At: at(d), Provenance: lifecycle.Observed, Attempt: f.number("n", 0), ConsumerSeq: uint64(f.number("cseq", 0)),
		Message: lifecycle.MessageKey{Stream: w.seen.Stream, Seq: seq}, Consumer: consumer, Detail: lifecycle.Detail{
			Ending: lifecycle.Ending{Delay: f.duration("delay", 0), Undelivered: undelivered, Reason: reason}, Standing: lifecycle.Standing{Unproved: unproved, Former: former, Watches: watches, Apart: apart, Beside: beside, SaidAt: f.instant("said")},
		},
	})
	return f.done()
}

// all is the number of messages that a consumer is still to deliver where it looked at none after the last one that it delivered.
const all = math.MaxInt

// consumer replaces the state of a consumer.
func (w *world) consumer(name string, f *fields) error {
	c := Consumer{ConsumerState: lifecycle.ConsumerState{
		Stream: w.seen.Stream, Name: name, CreatedAt: at(f.duration("created", -time.Hour)), AckWait: f.duration("ack_wait", time.Second),
		MaxDeliver: f.number("max_deliver", 3), MaxAckPending: f.number("max_ack_pending", 1), AckPending: f.number("pending", 0),
		Redelivered: f.number("redelivered", 0), Pending: uint64(f.number("num_pending", all)), DeliveredAt: f.instant("last"),
		ObservedAt: f.instant("seen"), PausedUntil: f.instant("paused-until"),
	}}
	c.Paused, c.Filters = c.PausedUntil.Known(), []string{"genbrain.agents.a.tasks.>"}
	if steps, given := f.take("backoff"); given {
		for _, step := range strings.Split(steps, ",") {
			d, err := time.ParseDuration(step)
			f.note(err)
			c.Backoff = append(c.Backoff, d)
		}
	}
	_, c.Watches = f.take("watches")
	_, c.ForAll = f.take("for-all")
	_, c.Unanswered = f.take("unanswered")
	if filter, given := f.take("filter"); given {
		c.Filters = strings.Split(filter, ",")
	}
	c.FloorCSeq, c.FloorSeq = f.place("floor")
	c.DeliveredCSeq, c.DeliveredSeq = f.place("delivered")
	w.consumers[name] = c
	return f.done()
}

// stream changes the stream.
func (w *world) stream(f *fields) error {
	w.seen.Limits.MaxAge = f.duration("max_age", w.seen.Limits.MaxAge)
	w.seen.Limits.MaxPerSubject = int64(f.number("max_per_subject", int(w.seen.Limits.MaxPerSubject)))
	w.seen.LastSeq, w.seen.FirstSeq = uint64(f.number("last", int(w.seen.LastSeq))), uint64(f.number("first", int(w.seen.FirstSeq)))
	w.rules.PageSize = f.number("page", w.rules.PageSize)
	_, w.walked = f.take("walked")
	_, w.seen.Full = f.take("full")
	if _, kept := f.take("kept"); kept {
		w.seen.Kept = true
	}
	if _, interest := f.take("interest"); interest {
		w.seen.Kept, w.seen.Interest = true, true
	}
	_, w.seen.Absent = f.take("deleted")
	w.seen.Removed = f.instant("removed")
	if epoch := f.instant("again"); epoch.Known() {
		why := GoneReplaced
		if w.seen.Removed.Known() {
			why = GoneStream
		}
		w.seen.Earlier = append(w.seen.Earlier, Earlier{w.seen.Stream, epoch, why})
		w.seen.Removed = 0
		w.seen.Stream.Epoch, w.seen.Created = epoch, epoch
		w.seen.FirstSeq, w.seen.LastSeq = 1, 0
		clear(w.stored)
		clear(w.consumers)
	}
	return f.done()
}

// lost says that lines of a capture stream were lost from one time until another.
func (w *world) lost(parts []string) error {
	from, err := time.ParseDuration(parts[1])
	if err != nil {
		return err
	}
	to, err := time.ParseDuration(parts[2])
	w.gaps = slices.Insert(w.gaps, 0, lifecycle.Gap{Source: parts[0], From: at(from), To: at(to)})
	return err
}

// storedUpTo says how far the lines of the capture streams are stored.
func (w *world) storedUpTo(parts []string) error {
	d, err := time.ParseDuration(parts[0])
	streams := []string{"OBS_ACK", "OBS_EVT", "OBS_PUB"}
	if len(parts) > 1 {
		streams = parts[1:]
	}
	for _, name := range streams {
		w.drainedTo[name] = at(d)
	}
	return err
}
