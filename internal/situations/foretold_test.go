//go:build linux

package situations

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// next lets a worker ask a consumer for a message, and now and then compares what it is given with what the answers say just before.
func (w *life) next(by *crew) jetstream.Msg {
	if w.glass == nil || w.mode != live || w.random.IntN(3) > 0 {
		return w.tryPull(by, 300*time.Millisecond)
	}
	w.seen()
	return w.foretold(by)
}

// foretold lets a worker ask, and notes where the broker does not do next what the answers say.
func (w *life) foretold(by *crew) jetstream.Msg {
	named, stored := w.known()
	s, err := w.glass.read(w.ctx, named, stored)
	w.must(err)
	m := w.tryPull(by, 300*time.Millisecond)
	if w.renewed || *withForgery {
		return m
	}
	w.hear()
	for _, of := range w.letters {
		s.task = of.task
		said := s.messageAt(of.letter)
		if said == nil || w.generations(of.task) > 1 { // The answers about a task are about one of its messages.
			continue
		}
		words, given := s.told().words(), m != nil && w.seqOf(m) == of.seq
		err := error(nil)
		switch {
		case given:
			err = said.isNext(by, words)
		case m == nil && strings.Contains(words, "next free worker of "+by.name) && w.there(of.letter): // That it has gone is told some seconds later.
			err = errors.New("a worker asked, and was given nothing")
		}
		if err != nil {
			w.surprised = errors.Join(w.surprised, fmt.Errorf("the next step of %s:%d is not as it was told; %s, lease %+v: %w\n\t%s", of.stream, of.seq, said.State, said.Lease, err, s))
		}
	}
	return m
}

// lastAsked lets a worker of each consumer ask when everything was judged.
func (w *life) lastAsked() {
	for _, by := range w.crews() {
		if !by.sent() && by.awaits() {
			w.foretold(by)
		}
	}
	w.must(w.surprised)
}

// isNext errors where the answers about a message that a worker was given now say that it is not next.
func (m *seenMessage) isNext(by *crew, words string) error {
	for _, never := range []string{
		"no attempt is left", "this is the last attempt", "nothing happens by itself", "nothing to do", "its consumer is gone", "no consumer takes it", "its consumer is paused",
		"somebody must decide", "no worker is subscribed",
	} {
		if strings.Contains(words, never) {
			return fmt.Errorf("a worker was given it, and the answers say %q", never)
		}
	}
	if l := m.Lease; l != nil && l.DeadlineAt != nil && l.Consumer == by.name && !l.AtLatest && time.Until(*l.DeadlineAt) > deedSlack {
		return errors.New("a worker was given it before the deadline of its lease")
	}
	return nil
}
