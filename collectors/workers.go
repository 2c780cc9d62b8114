package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// A stream that keeps its messages gives each of them to every consumer that takes its subject. Who answers one is not alone: what another consumer of the
// workers is still to answer is not over. So the broker is asked for all of them, before an answer is told (ADR 73).

// Worker is one of the workers' consumers of a stream that keeps its messages, as the broker said that it was.
type Worker struct {
	Name    string
	Filters []string // The subjects that it takes; nil for all.
	Held    []string // The subjects that it took before, where its workers may still have messages of them.
	Floor   uint64   // It awaits no answer to this stream sequence or one before.
}

// mayHave reports whether it may deliver, or may have delivered, a message of a consumer with the given filters.
func (w Worker) mayHave(filters []string) bool {
	return fleet.FiltersMeet(w.Filters, filters) || len(w.Held) > 0 && fleet.FiltersMeet(w.Held, filters)
}

// MaxBeside bounds the consumers that are named beside the end of a message.
const MaxBeside = 32

// beside are the workers' consumers that may take a message which one of them answers, and that have not answered it, by name.
func (s Streams) beside(k lifecycle.MessageKey, consumer string) (out []string) {
	sight := s.Sights[ConsumerRef{k.Stream.Name, consumer}]
	if !sight.CreatedAt.Known() { // What it took is not known.
		return nil
	}
	for _, w := range s.Workers[k.Stream.Name] {
		if w.Name != consumer && w.Floor < k.Seq && w.mayHave(sight.Filters) && len(out) < MaxBeside {
			out = append(out, w.Name)
		}
	}
	return out
}

// workersFor is how long a list of consumers counts while their number is the same. An older floor only names one more that has answered meanwhile.
const workersFor = time.Second

// listedWorkers are the workers' consumers of a stream, and for how many consumers of which incarnation they were listed.
type listedWorkers struct {
	at    time.Time
	epoch lifecycle.Micros
	count int
	all   []Worker
}

// workersOf lists the workers' consumers of the streams of the given consumers that keep their messages and have several. It errors when the broker does not
// answer.
func (n *IncarnationResolver) workersOf(ctx context.Context, live map[string]LastSeq, refs map[ConsumerRef]bool) (map[string][]Worker, error) {
	var out map[string][]Worker
	for ref := range refs {
		last, lives := live[ref.Stream]
		if _, done := out[ref.Stream]; done || !lives || !last.Kept || last.Consumers < 2 {
			continue
		}
		all, err := n.listWorkers(ctx, ref.Stream, last)
		if err != nil {
			return nil, fmt.Errorf("list the workers' consumers of %s: %w", ref.Stream, err)
		}
		if out == nil {
			out = map[string][]Worker{}
		}
		out[ref.Stream] = all
	}
	return out, nil
}

func (n *IncarnationResolver) listWorkers(ctx context.Context, name string, last LastSeq) ([]Worker, error) {
	n.workersMu.Lock()
	defer n.workersMu.Unlock()
	if known := n.workers[name]; known.epoch == last.Epoch && known.count == last.Consumers && time.Since(known.at) < workersFor {
		return known.all, nil
	}
	asked := time.Now()
	stream, err := n.cfg.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Worker
	holding := map[string]*jetstream.ConsumerInfo{}
	lister := stream.ListConsumers(ctx)
	for info := range lister.Info() {
		if !n.cfg.Contract.IsWorker(info.Name) || fleet.IsCopier(info) {
			continue
		}
		all = append(all, Worker{Name: info.Name, Filters: filtersOf(info.Config), Floor: info.AckFloor.Stream})
		if info.NumAckPending > 0 {
			holding[info.Name] = info
		}
	}
	if err := lister.Err(); err != nil {
		return nil, err
	}
	held, err := n.held(ctx, name, holding)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Held = held[all[i].Name]
	}
	slices.SortFunc(all, func(a, b Worker) int { return cmp.Compare(a.Name, b.Name) })
	n.workers[name] = listedWorkers{at: asked, epoch: last.Epoch, count: last.Consumers, all: all}
	return all, nil
}

// held are the subjects that consumers took when the store heard of them, and take no more, of consumers whose workers have messages.
func (n *IncarnationResolver) held(ctx context.Context, stream string, holding map[string]*jetstream.ConsumerInfo) (map[string][]string, error) {
	if n.cfg.Consumers == nil || len(holding) == 0 {
		return nil, nil
	}
	stored, err := n.cfg.Consumers.Consumers(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string][]string{}
	for _, c := range stored {
		info := holding[c.Name]
		if info == nil || c.Stream.Name != stream || c.Made() != lifecycle.MicrosOf(info.Created) {
			continue
		}
		if !slices.Equal(c.Filters, filtersOf(info.Config)) {
			held[c.Name] = append(held[c.Name], c.Filters...)
		}
		if c.Refiltered.Strays {
			held[c.Name] = append(held[c.Name], c.Refiltered.Filters...)
		}
	}
	return held, nil
}
