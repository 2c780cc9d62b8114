package deadletters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// streams are those that take dead-letter entries.
type streams struct {
	readable []string
	mixed    []string                         // Of the readable ones, those that take other subjects too.
	emptied  []string                         // They drop a line once it is acknowledged: reading would destroy what others need.
	infos    map[string]*jetstream.StreamInfo // Of the readable ones.
	at       lifecycle.Micros                 // When they were looked for, by the broker's clock; zero when not known.
}

func (s streams) has(name string) bool { return slices.Contains(s.readable, name) }

// observed are the streams whose messages entries speak of.
func observed() []string { return []string{fleet.StreamTasks} }

// find looks for the streams by their subjects. It errors when the broker does not answer.
func (c *Collector) find(ctx context.Context) (streams, error) {
	out := streams{infos: map[string]*jetstream.StreamInfo{}}
	lister := c.cfg.JetStream.StreamNames(ctx, jetstream.WithStreamListSubject(c.cfg.Contract.DLQSubjects()))
	var names []string
	for name := range lister.Name() {
		names = append(names, name)
	}
	if err := lister.Err(); err != nil {
		return out, fmt.Errorf("list streams of dead letters: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := c.look(ctx, name)
		switch {
		case err != nil:
			return out, err
		case info == nil:
		case info.Config.Retention != jetstream.LimitsPolicy:
			out.emptied = append(out.emptied, name)
		default:
			out.readable, out.infos[name] = append(out.readable, name), info
			if !c.cfg.Contract.OnlyEntries(info.Config.Subjects) {
				out.mixed = append(out.mixed, name)
			}
		}
	}
	for _, name := range observed() {
		info, err := c.look(ctx, name)
		if err != nil {
			return out, err
		}
		if info != nil {
			out.at = lifecycle.MicrosOf(info.TimeStamp)
		}
	}
	return out, nil
}

// look asks for a stream; nil where there is none.
func (c *Collector) look(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	stream, err := c.cfg.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at stream %s: %w", name, err)
	}
	return stream.CachedInfo(), nil
}
