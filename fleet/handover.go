package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LateCount is how long after a line was stored the broker counts it as pending for its durables, at the latest.
const LateCount = time.Second

// HandedOver is the configuration of a durable that does not exist, for r. Where durables of another number of shards have read the stream, it
// starts where they are: what they did not read it reads, whatever number of shards the lines were cut into. It errors where the broker does not say.
func HandedOver(ctx context.Context, js jetstream.JetStream, r Reader, cfg jetstream.ConsumerConfig) (jetstream.ConsumerConfig, error) {
	after, err := newManagerAPI(js).handedOver(ctx, r)
	return startAfter(cfg, after), err
}

// startAfter lets a durable begin behind a sequence; zero changes nothing.
func startAfter(cfg jetstream.ConsumerConfig, after uint64) jetstream.ConsumerConfig {
	if after > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, after+1
	}
	return cfg
}

// handedOver is the sequence after which a durable that does not exist begins to read. Each set of durables reads every line of the stream, in
// whatever form, so all lines up to the position of the slowest of a set are stored. Of several sets the furthest counts. Zero where there is none.
func (a *managerAPI) handedOver(ctx context.Context, r Reader) (after uint64, err error) {
	others, err := a.otherSets(ctx, r)
	if err != nil || len(others) == 0 {
		return 0, err
	}
	last, err := a.lastSeq(ctx, r.Stream)
	if err != nil {
		return 0, err
	}
	select { // What is not pending a while later was read.
	case <-time.After(LateCount):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for _, set := range others {
		read, err := a.readTo(ctx, set, last)
		if err != nil {
			return 0, err
		}
		after = max(after, read)
	}
	return after, nil
}

// otherSets are the complete sets of durables that read the same as r, with another number of shards.
func (a *managerAPI) otherSets(ctx context.Context, r Reader) (sets [][]Reader, err error) {
	if !IsSharded(r.Stream) {
		return nil, nil
	}
	names, err := a.consumers(ctx, r.Stream)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= MaxShards; n *= 2 {
		var set []Reader
		for _, shard := range Shards(n) {
			one := Reader{Stream: r.Stream, Source: r.Source, Shard: shard, By: r.By}
			if shard.Of != r.Shard.Of && slices.Contains(names, one.Durable()) {
				set = append(set, one)
			}
		}
		if len(set) == n {
			sets = append(sets, set)
		}
	}
	return sets, nil
}

// surplusReaders are the durables of other numbers of shards than is wanted.
func (a *managerAPI) surplusReaders(ctx context.Context, s Streams, existing map[string]map[string]any) (out []Reader, err error) {
	for _, r := range captureSources {
		r.By = s.By
		if _, there := existing[r.Stream]; !there {
			continue
		}
		names, err := a.consumers(ctx, r.Stream)
		if err != nil {
			return nil, err
		}
		for other := 1; other <= MaxShards; other *= 2 {
			for _, r.Shard = range Shards(other) {
				if other != max(s.Shards, 1) && slices.Contains(names, r.Durable()) {
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}

// readTo is up to which sequence a set of durables has read everything; last is where the stream ended a while ago. A durable for which nothing
// waits has read all of it, wherever its own last line was.
func (a *managerAPI) readTo(ctx context.Context, set []Reader, last uint64) (uint64, error) {
	least := last
	for _, r := range set {
		var info jetstream.ConsumerInfo
		if err := a.call(ctx, "CONSUMER.INFO."+r.Stream+"."+r.Durable(), nil, &info); err != nil {
			return 0, err
		}
		if info.NumPending > 0 || info.NumAckPending > 0 {
			least = min(least, info.AckFloor.Stream)
		}
	}
	return least, nil
}

func (a *managerAPI) lastSeq(ctx context.Context, stream string) (uint64, error) {
	var info jetstream.StreamInfo
	err := a.call(ctx, "STREAM.INFO."+stream, nil, &info)
	return info.State.LastSeq, err
}

// consumers are the names of a stream's consumers.
func (a *managerAPI) consumers(ctx context.Context, stream string) (names []string, err error) {
	for {
		var page struct {
			Total     int      `json:"total"`
			Consumers []string `json:"consumers"`
		}
		if err := a.call(ctx, "CONSUMER.NAMES."+stream, map[string]int{"offset": len(names)}, &page); err != nil {
			return nil, err
		}
		names = append(names, page.Consumers...)
		if len(page.Consumers) == 0 || len(names) >= page.Total {
			return names, nil
		}
	}
}

func (a *managerAPI) deleteReader(ctx context.Context, r Reader) error {
	err := a.call(ctx, "CONSUMER.DELETE."+r.Stream+"."+r.Durable(), nil, nil)
	if err != nil && !noConsumer(err) {
		return fmt.Errorf("delete durable %s of %s: %w", r.Durable(), r.Stream, err)
	}
	return nil
}
