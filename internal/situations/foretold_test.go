//go:build linux

package situations

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// askedFor is how long a worker waits for a message.
const askedFor = 300 * time.Millisecond

// next lets a worker ask a consumer for a message, and now and then compares what it is given with what the answers say just before.
func (w *life) next(by *crew) jetstream.Msg {
	if w.glass == nil || w.mode != live || w.random.IntN(3) > 0 {
		return w.tryPull(by, askedFor)
	}
	w.seen()
	return w.foretold(by)
}

// foretold lets a worker ask, and notes where the broker does not do next what the answers say.
func (w *life) foretold(by *crew) jetstream.Msg {
	s := w.told()
	if w.stands(s) != nil { // The broker may have gone on since Fleetglass looked.
		w.seen()
		s = w.told()
		w.surprised = errors.Join(w.surprised, w.stands(s))
	}
	m := w.tryPull(by, askedFor)
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
		case given && time.Since(w.unpaused).Abs() > askedFor: // A pause that ends meanwhile was told.
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

// told is what Fleetglass says of the world's tasks now.
func (w *life) told() story {
	named, stored := w.known()
	s, err := w.glass.read(w.ctx, named, stored)
	w.must(err)
	return s
}

// saidOfConsumers are what the answers say of a consumer, whose name comes first, and whether that holds of what the broker says just after. One that does not
// exist has no name.
var saidOfConsumers = []struct {
	words *regexp.Regexp
	holds func(c jetstream.ConsumerInfo) bool
}{
	{regexp.MustCompile(`consumer (\S+) does not exist now`), func(c jetstream.ConsumerInfo) bool { return c.Name == "" }},
	{regexp.MustCompile(`until consumer (\S+) resumes`), func(c jetstream.ConsumerInfo) bool { return c.Paused }},
	{regexp.MustCompile(`consumer (\S+) holds all that it may`), func(c jetstream.ConsumerInfo) bool { return c.Name != "" && c.NumAckPending >= c.Config.MaxAckPending }},
	{regexp.MustCompile(`subscribes to what consumer (\S+) delivers`), func(c jetstream.ConsumerInfo) bool { return c.Config.DeliverSubject != "" && !c.PushBound }},
	{regexp.MustCompile(`next free worker of (\S+?)[.;]`), func(c jetstream.ConsumerInfo) bool { return c.Name != "" && !c.Paused }},
}

// stands errors where the answers say of a consumer what the broker does not say of it, or of a record that is not in its store that it will be found.
func (w *life) stands(s story) (wrong error) {
	leaving := slices.ContainsFunc(w.letters, func(m *mail) bool { return !m.expires.IsZero() && time.Since(m.expires).Abs() < 2*time.Second }) // A look may have come before it.
	for _, of := range w.letters {
		s.task = of.task
		if s.messageAt(of.letter) == nil {
			continue
		}
		words := s.told().words()
		if strings.Contains(words, "will find it and skip the work") && w.generations(of.task) == 1 {
			found, err := w.records.has(w.ctx, w.task(of.task), of.key)
			if w.must(err); !found {
				wrong = errors.Join(wrong, fmt.Errorf("whoever is given %s:%d again finds no record\n\t%s", of.stream, of.seq, s))
			}
		}
		for _, said := range saidOfConsumers {
			name := said.words.FindStringSubmatch(words)
			if name == nil {
				continue
			}
			info, err := w.consumerInfo(name[1])
			if w.must(err); !said.holds(info) && !leaving && time.Since(w.unpaused).Abs() > deedSlack {
				wrong = errors.Join(wrong, fmt.Errorf("%q is said of %s:%d, and the broker has %+v of that consumer\n\t%s", name[0], of.stream, of.seq, info, s))
			}
		}
	}
	return wrong
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
