package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// ConsumerRef names a durable consumer of a stream.
type ConsumerRef struct{ Stream, Name string }

// Sight is how the broker said that a consumer was, after lines that name it were read. The zero value says that it does not exist.
type Sight struct {
	CreatedAt    lifecycle.Micros
	AloneSince   lifecycle.Micros // No other consumer of its name lived since then; not after CreatedAt.
	DeliveredSeq uint64           // Everything up to this stream sequence that its filters match was delivered.
	Deliveries   uint64           // How many deliveries it made.
	Answered     uint64           // All its deliveries up to this one were answered, and
	AnsweredSeq  uint64           // everything up to this stream sequence was.
	ForAll       bool             // An answer to a message is one to all that it delivered before.
	Sole         bool             // It hands out one message at a time, and awaits an answer.
	Measured     bool             // The broker sends metrics of its acknowledgements.
	Filters      []string         // The subjects that it takes; nil for all.
}

// canHaveMade reports whether the broker can have accepted an answer to a delivery of a message that was sent at a time: the consumer that the answer
// names existed, had delivered the message, and had made as many deliveries. Of the last the broker takes no notice, but only somebody who was not given
// the message, or who writes what is not so, names a later one.
func (s Sight) canHaveMade(seq, delivery uint64, at lifecycle.Micros) bool {
	return s.CreatedAt.Known() && s.CreatedAt <= at && s.made(seq, delivery) && !s.overlooks(seq, delivery)
}

// overlooks reports whether the broker took no notice of an answer to a delivery of a message: where one answers all before it, it does not of one to a delivery that
// was made before another that was answered (docs/broker-facts.md).
func (s Sight) overlooks(seq, delivery uint64) bool {
	return s.ForAll && delivery <= s.Answered && seq > s.AnsweredSeq
}

// made reports whether one of its deliveries can have been that one of a message. Where it hands out one message at a time, those that are not answered are
// all of the message that it delivered last.
func (s Sight) made(seq, delivery uint64) bool {
	answered := s.Sole && s.DeliveredSeq == seq && delivery <= s.Answered
	return s.DeliveredSeq >= seq && s.Deliveries >= delivery && !answered
}

// Standing says how an answer to a delivery of a consumer stands by what the broker said of that consumer. Where it was not asked, as for streams of another
// domain or an earlier incarnation, nothing is doubted. An answer that ends the message for its consumer tells who else is still to answer it.
func (s Streams) Standing(k lifecycle.MessageKey, consumer string, delivery uint64, at, publishedAt lifecycle.Micros, ends bool) lifecycle.Standing {
	standing := s.Shared(k, consumer)
	sight, asked := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	if asked && s.lives(k) && !sight.canHaveMade(k.Seq, delivery, at) {
		standing.Unproved, standing.SaidAt = true, publishedAt
	}
	standing.Own = s.TakesOwn(k, consumer)
	if standing.Apart && ends {
		standing.Beside = s.beside(k, consumer)
	}
	standing.Former = s.OfFormer(k, consumer, delivery, at, publishedAt)
	return standing
}

// OfFormer reports whether an answer that was sent at a time can only be one to a delivery of a consumer that lived before the one of its name that lives now,
// when the message was stored already: the living one was there, and did not make that delivery.
func (s Streams) OfFormer(k lifecycle.MessageKey, consumer string, delivery uint64, at, publishedAt lifecycle.Micros) bool {
	sight, asked := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	return s.denied(asked && s.lives(k) && sight.CreatedAt.Known() && sight.CreatedAt <= at && sight.AloneSince > publishedAt && !sight.made(k.Seq, delivery))
}

// TakesOwn reports whether a consumer takes the tasks of its agent alone, so that it says nothing about a message for another.
func (s Streams) TakesOwn(k lifecycle.MessageKey, consumer string) bool {
	sight := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	agent := fleet.AgentOfWorker(consumer)
	if agent == "" || len(sight.Filters) == 0 || !s.lives(k) {
		return false
	}
	return !slices.ContainsFunc(sight.Filters, func(filter string) bool { return !fleet.SubjectCovers(s.Contract.TaskSubject(agent, ">"), filter) })
}

// NeverDelivered reports whether the broker's state proves that a consumer has not delivered a message, or made fewer deliveries than one of it is said to be.
// No other consumer of its name may have lived since the given time.
func (s Streams) NeverDelivered(k lifecycle.MessageKey, consumer string, at lifecycle.Micros, delivery uint64) bool {
	sight, asked := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	if !asked || !s.lives(k) || !sight.CreatedAt.Known() || sight.AloneSince > at {
		return false
	}
	return s.denied(!sight.made(k.Seq, delivery))
}

// Unmeasured reports whether the broker sends no metrics of a consumer's acknowledgements.
func (s Streams) Unmeasured(k lifecycle.MessageKey, consumer string) bool {
	sight, asked := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	return s.denied(asked && s.lives(k) && sight.CreatedAt.Known() && !sight.Measured)
}

// Shared says whether a consumer shares a message with others: the stream is no work queue. It only watches, or what it does is its own.
func (s Streams) Shared(k lifecycle.MessageKey, consumer string) lifecycle.Standing {
	watches := s.Watches(k, consumer)
	return lifecycle.Standing{Watches: watches, Apart: !watches && s.lives(k) && s.LastSeq[k.Stream.Name].Kept}
}

// Watches reports whether a consumer only watches: the stream is no work queue, and the consumer is not named as a worker's.
func (s Streams) Watches(k lifecycle.MessageKey, consumer string) bool {
	return s.lives(k) && s.LastSeq[k.Stream.Name].Kept && !s.Contract.IsWorker(consumer)
}

// lives reports whether a message is of the incarnation of its stream that was looked at.
func (s Streams) lives(k lifecycle.MessageKey) bool {
	live, known := s.LastSeq[k.Stream.Name]
	return known && !s.Elsewhere(k) && live.Epoch == k.Stream.Epoch
}

// Elsewhere reports whether a message is of another account or domain.
func (s Streams) Elsewhere(k lifecycle.MessageKey) bool {
	return k.Stream.Account != s.Contract.Account || k.Stream.Domain != s.Contract.Domain
}

// askedAtOnce is about how many consumers the broker is asked at a time: each answer of a busy one takes its time, and there may be hundreds. A list of them would
// have five seconds for all its pages.
const askedAtOnce = 16

// sights asks the broker about consumers of the streams that live. It errors when the broker does not answer.
func (n *IncarnationResolver) sights(ctx context.Context, live map[string]LastSeq, refs map[ConsumerRef]bool) (map[ConsumerRef]Sight, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	out := make(map[ConsumerRef]Sight, len(refs))
	var all sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, askedAtOnce)
	for ref := range refs {
		if _, lives := live[ref.Stream]; !lives {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			s, err := n.sight(ctx, ref)
			if err != nil {
				fail(fmt.Errorf("ask for consumer %s of %s: %w", ref.Name, ref.Stream, err))
			}
			mu.Lock()
			defer mu.Unlock()
			out[ref] = s
		})
	}
	all.Wait()
	return out, context.Cause(ctx)
}

// sight asks about one consumer.
func (n *IncarnationResolver) sight(ctx context.Context, ref ConsumerRef) (Sight, error) {
	info, err := leader.Consumer(ctx, n.cfg.JetStream, ref.Stream, ref.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrInvalidConsumerName) {
		return Sight{}, nil
	}
	if err != nil {
		return Sight{}, err
	}
	return n.sightOf(ctx, ref, info)
}

func (n *IncarnationResolver) sightOf(ctx context.Context, ref ConsumerRef, info *jetstream.ConsumerInfo) (Sight, error) {
	s := Sight{
		CreatedAt: lifecycle.MicrosOf(info.Created), DeliveredSeq: info.Delivered.Stream, Deliveries: info.Delivered.Consumer, Answered: info.AckFloor.Consumer,
		AnsweredSeq: info.AckFloor.Stream, ForAll: info.Config.AckPolicy == jetstream.AckAllPolicy,
		Sole: info.Config.MaxAckPending == 1 && info.NumAckPending == 1, Measured: info.Config.SampleFrequency != "", Filters: filtersOf(info.Config),
	}
	var err error
	s.AloneSince, err = n.aloneSince(ctx, ref, s.CreatedAt, lifecycle.MicrosOf(info.TimeStamp))
	return s, err
}
