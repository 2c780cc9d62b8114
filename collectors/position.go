package collectors

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// position is how far a source was read, kept in the store beside what was read. The durable on the broker is what work is divided
// by; this only tells, after a restart, whether the capture stream or the durable was lost in the meantime.
type position struct {
	Stream string           `json:"stream,omitempty"` // With its epoch.
	Seq    uint64           `json:"seq,omitempty"`    // Highest line committed.
	At     lifecycle.Micros `json:"at,omitempty"`     // Its store time.
	Blind  lifecycle.Micros `json:"blind,omitempty"`  // Since when the capture stream is missing; zero when it is there.

	Restored uint64           `json:"restored,omitempty"` // Lines up to this one that are older than the stream, or than what it forgot, were read before.
	Forgot   lifecycle.Micros `json:"forgot,omitempty"`   // The broker forgot lines that were stored before this time, and gives their numbers to others; zero for never.
}

// cameBack reports whether a line was read before: it came back with a backup, or is older than what the broker forgot.
func (c *Collector) cameBack(line Line) bool {
	return line.Seq <= c.restored && line.At < line.Source.Epoch
}

func (c *Collector) mark() string { return c.markOf(c.shard) }

// markOf is the mark of one shard.
func (c *Collector) markOf(s fleet.Shard) string { return "capture:" + c.name.String() + s.Suffix() }

func (c *Collector) loadPosition(ctx context.Context) error {
	if c.loaded {
		return nil
	}
	pos, err := c.latestPosition(ctx)
	if err != nil {
		return err
	}
	c.pos, c.loaded = pos, true
	return nil
}

// latestPosition is the position of this shard. That of the first shard also says how the capture stream was, so the latest of the first shards of
// all numbers of shards counts.
func (c *Collector) latestPosition(ctx context.Context) (latest position, err error) {
	if c.shard.Index > 0 {
		return c.positionOf(ctx, c.shard)
	}
	for n := 1; n <= fleet.MaxShards; n *= 2 {
		p, err := c.positionOf(ctx, fleet.Shards(n)[0])
		if err != nil {
			return latest, err
		}
		if own := fleet.Shards(n)[0] == c.shard; !own {
			p.Seq = 0 // It says how far that shard was read.
		}
		if max(p.At, p.Blind) >= max(latest.At, latest.Blind) {
			latest = p
		}
		if !fleet.IsSharded(c.src.Stream) {
			break
		}
	}
	return latest, nil
}

// positionOf is the position of one shard; zero where there is none.
func (c *Collector) positionOf(ctx context.Context, s fleet.Shard) (p position, err error) {
	text, err := c.cfg.Watermarks.Watermark(ctx, c.markOf(s))
	if err != nil {
		return p, fmt.Errorf("read position: %w", err)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return p, fmt.Errorf("decode position %q: %w", text, err)
		}
	}
	return p, nil
}

// watermarks is p as a batch carries it.
func (c *Collector) watermarks(p position) map[string]string {
	text, err := json.Marshal(p)
	if err != nil { // Cannot happen: strings and numbers only.
		return nil
	}
	return map[string]string{c.mark(): string(text)}
}

// save stores a position and gaps without any line.
func (c *Collector) save(ctx context.Context, p position, gaps ...lifecycle.Gap) error {
	if _, err := c.cfg.Appender.Append(ctx, lifecycle.Batch{Gaps: gaps, Watermarks: c.watermarks(p)}); err != nil {
		return fmt.Errorf("store position: %w", err)
	}
	c.pos = p
	return nil
}

// blind notes that the capture stream is missing: a gap that is open until it is there again.
func (c *Collector) blind(ctx context.Context) error {
	if c.pos.Blind.Known() || c.src.Optional || c.shard.Index > 0 {
		return nil
	}
	p := c.pos
	if p.Blind = p.At; !p.Blind.Known() {
		p.Blind = lifecycle.MicrosOf(c.cfg.Now())
	}
	return c.save(ctx, p, lifecycle.Gap{Source: c.name.String(), From: p.Blind, Reason: "capture stream " + c.src.Stream + " does not exist"})
}

// found compares the capture stream with the position: a stream that is missing no more, or another one than before, closes a gap.
func (c *Collector) found(ctx context.Context, stream lifecycle.StreamID) error {
	id := stream.String()
	if c.pos.Stream == id && !c.pos.Blind.Known() {
		return nil
	}
	p := position{Stream: id, At: stream.Epoch}
	if c.pos.Stream == id {
		p.Seq, p.At, p.Restored, p.Forgot = c.pos.Seq, c.pos.At, c.pos.Restored, c.pos.Forgot
	} else {
		p.Restored = c.pos.Seq
	}
	var gaps []lifecycle.Gap
	if (c.pos.Blind.Known() || c.pos.Stream != "") && !c.src.Optional && c.shard.Index == 0 {
		from := c.pos.At
		if c.pos.Blind.Known() {
			from = c.pos.Blind
		}
		gaps = append(gaps, lifecycle.Gap{Source: c.name.String(), From: from, To: max(stream.Epoch, from),
			Reason: "capture stream " + c.src.Stream + " was missing and was created again"})
	}
	return c.save(ctx, p, gaps...)
}
