package main

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"sync"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/collectors/advisories"
	"fleetglass/collectors/publishes"
	"fleetglass/collectors/reports"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// captures prepares the collectors of the capture streams: one of each for every shard, or one where the streams are whole. It returns what the other
// sources are prepared with.
func captures(ctx context.Context, n int, shared collectors.Config) ([]collector, collectors.Config, []error) {
	var parts [5]shardedCollector
	var errs []error
	var rest collectors.Config
	turn := uint64(0)
	if n > 1 {
		var err error
		if turn, err = takeTurn(ctx, shared); err != nil {
			return nil, rest, []error{err}
		}
	}
	for _, shard := range fleet.Shards(n) {
		own, err := shardConfig(shared, shard)
		errs = append(errs, err)
		own.Rank = rank(shard, turn)
		for i, prepare := range captureCollectors {
			c, err := prepare(own)
			parts[i], errs = append(parts[i], c), append(errs, err)
		}
		if shard.Index == 0 {
			rest = own
		}
	}
	all := make([]collector, len(parts))
	for i, p := range parts {
		if all[i] = p; len(p) == 1 {
			all[i] = p[0]
		}
	}
	if n > 1 {
		barrier, err := publishBarrier(shared, fleet.Shards(n))
		rest.Barrier, errs = barrier, append(errs, err)
	}
	rest.Shard = fleet.Shard{}
	return all, rest, errs
}

// captureCollectors prepare what reads the capture streams.
var captureCollectors = [5]func(collectors.Config) (collector, error){
	func(c collectors.Config) (collector, error) { return publishes.New(publishes.Config{Config: c}) },
	func(c collectors.Config) (collector, error) {
		return publishes.NewAttempts(publishes.AttemptsConfig{Config: c})
	},
	func(c collectors.Config) (collector, error) { return acks.New(c) },
	func(c collectors.Config) (collector, error) { return advisories.New(c) },
	func(c collectors.Config) (collector, error) { return reports.New(c) },
}

// shardConfig is what the collectors of one shard share: its streams are committed together, and wait for its own publishes.
func shardConfig(shared collectors.Config, shard fleet.Shard) (collectors.Config, error) {
	barrier, err := publishBarrier(shared, []fleet.Shard{shard})
	shared.Shard, shared.Barrier, shared.Coordinator = shard, barrier, collectors.NewBatchCoordinator(shared.Appender)
	return shared, err
}

func publishBarrier(shared collectors.Config, shards []fleet.Shard) (*collectors.PublishBarrier, error) {
	return collectors.NewPublishBarrier(collectors.PublishBarrierConfig{
		JetStream: shared.JetStream, Stream: fleet.CapturePub, Durable: collectors.DurableName(shared.Durable, publishes.SourceStored), Shards: shards,
	})
}

// turnMark is where the store counts how often a program began to read shards.
const turnMark = "capture:turn"

// takeTurn counts this start. Two that count at the same time may get the same number: they then prefer the same shards, and nothing else follows.
func takeTurn(ctx context.Context, shared collectors.Config) (uint64, error) {
	text, err := shared.Watermarks.Watermark(ctx, turnMark)
	if err != nil {
		return 0, fmt.Errorf("read turn: %w", err)
	}
	turn, _ := strconv.ParseUint(text, 10, 64) // Of no number it is zero.
	_, err = shared.Appender.Append(ctx, lifecycle.Batch{Watermarks: map[string]string{turnMark: strconv.FormatUint(turn+1, 10)}})
	if err != nil {
		return 0, fmt.Errorf("take turn: %w", err)
	}
	return turn, nil
}

// rank is how late a replica wants a shard, from 0 to 9: it wants its first shard most, and the others in a circle from there. The first shards of
// replicas that start one after the other lie far apart: at n shards 0, n/2, n/4, 3n/4 and so on.
func rank(s fleet.Shard, turn uint64) uint8 {
	if s.Whole() {
		return 0
	}
	n := uint64(s.Of)
	first := bits.Reverse64(turn%n) >> (64 - bits.TrailingZeros64(n))
	return uint8((uint64(s.Index) + n - first) % n * 10 / n)
}

// shardedCollector reads all shards of one capture stream, and is one part of the program.
type shardedCollector []collector

// Run reads until ctx is done.
func (s shardedCollector) Run(ctx context.Context) error {
	var all sync.WaitGroup
	failed := make(chan error, len(s))
	for _, c := range s {
		all.Go(func() { failed <- c.Run(ctx) })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// Health is one part over all shards.
func (s shardedCollector) Health() []health.Part {
	var parts []health.Part
	for _, c := range s {
		parts = append(parts, c.Health()...)
	}
	return []health.Part{health.Join(parts[0].Name, parts[0].Kind, parts)}
}
