package collectors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// losses finds lines of a shard that the capture stream discarded before they were read. The sequences of a durable that reads a shard skip the
// lines of other shards, so they do not tell. But nothing is discarded before the stream's first sequence passes it: while that is not beyond
// what was read, nothing was lost.
//
// Every line up to read.Seq was stored, or is in a gap that was reported. A look asks for the durable first and for the stream then. Where the
// stream's first line is no later than the one behind read.Seq, all later ones were there when the durable said how far it is, so that
// acknowledgements alone moved it. Where it is later, what is in between is a gap.
type losses struct {
	read  readTo
	saved uint64 // read.Seq as the store knows it.
	last  uint64 // Where the stream ended at a look a while ago.
	at    lifecycle.Micros
	until lifecycle.Micros // Store time of the latest line committed, at the look before.
	upTo  uint64           // Its sequence.
}

// readTo is up to where nothing of a shard is unread, as the store keeps it.
type readTo struct {
	Stream string           `json:"stream"` // With its epoch.
	Seq    uint64           `json:"seq"`
	At     lifecycle.Micros `json:"at"` // Lines behind it were stored no earlier.
}

// look is what the broker says of a shard and its stream.
type look struct {
	floor       uint64 // Of the durable.
	idle        bool   // Nothing waits for it.
	first, last uint64 // Of the stream.
	firstAt, at lifecycle.Micros
}

// saveShare is the share of the lines in the stream after which what was read is saved anew: who was away for less than the others take to be
// discarded finds no gap where there is none.
const saveShare = 8

// next takes one look in. It returns the gap that it shows, if there is one.
func (l losses) next(v look, source string, s fleet.Shard) (losses, *lifecycle.Gap) {
	var gap *lifecycle.Gap
	if v.first > l.read.Seq+1 {
		to := max(v.firstAt, l.read.At)
		gap = &lifecycle.Gap{
			Source: source, From: cmp.Or(l.read.At, to), To: to, FromSeq: l.read.Seq + 1, ToSeq: v.first - 1,
			Reason: fmt.Sprintf("%d lines were discarded, and those of shard %d of %d among them may not have been read", v.first-1-l.read.Seq, s.Index, s.Of),
		}
		l.read.Seq, l.read.At = v.first-1, gap.To
	}
	if v.floor > l.read.Seq {
		l.read.Seq = v.floor
	}
	if l.upTo <= l.read.Seq {
		l.read.At = max(l.read.At, l.until)
	}
	if l.at.Add(fleet.LateCount) > v.at {
		return l, gap
	}
	if v.idle && l.last > l.read.Seq { // What was there a while ago and does not wait was read.
		l.read.Seq, l.read.At = l.last, l.at
	}
	l.last, l.at = v.last, v.at
	return l, gap
}

// due reports whether what was read should be saved.
func (l losses) due(v look) bool {
	return (l.read.Seq-min(l.saved, l.read.Seq))*saveShare > v.last+1-min(v.first, v.last+1)
}

// lossMark is the name of what the store keeps of a shard.
func (c *Collector) lossMark(s fleet.Shard) string { return c.markOf(s) + ":read" }

// beginLosses finds what was read of a shard when a session begins, and what was lost since. A durable that others handed over to may find it in
// what the store keeps of them.
func (c *Collector) beginLosses(ctx context.Context, stream lifecycle.StreamID, consumer jetstream.Consumer) error {
	start := consumer.CachedInfo().Config.OptStartSeq
	if c.shard.Whole() && (start == 0 || consumer.CachedInfo().Delivered.Consumer > 0) {
		return nil
	}
	read, err := c.readBefore(ctx, stream)
	if err != nil {
		return err
	}
	c.losses = losses{read: read, saved: read.Seq}
	if read.Stream == "" { // Nobody has read it, or not since the store keeps that.
		c.losses.read = readTo{Stream: stream.String(), Seq: start - min(start, 1)}
	}
	if err := c.lookForLosses(ctx, consumer); err != nil {
		return err
	}
	if c.shard.Whole() { // From here on the sequences tell.
		c.holes.stream = max(c.holes.stream, c.losses.read.Seq)
	}
	return nil
}

// readBefore is up to where everything of the capture stream was read, whatever number of shards it was cut into: the furthest that is true.
func (c *Collector) readBefore(ctx context.Context, stream lifecycle.StreamID) (best readTo, err error) {
	if best, err = c.readOf(ctx, c.shard, stream); err != nil {
		return best, err
	}
	for n := 1; n <= fleet.MaxShards; n *= 2 {
		all, err := c.readOfAll(ctx, fleet.Shards(n), stream)
		if err != nil {
			return best, err
		}
		if all.Seq > best.Seq {
			best = all
		}
	}
	return best, nil
}

// readOfAll is the least of what was read of some shards; zero where that is not known of each.
func (c *Collector) readOfAll(ctx context.Context, shards []fleet.Shard, stream lifecycle.StreamID) (least readTo, err error) {
	for i, s := range shards {
		one, err := c.readOf(ctx, s, stream)
		if err != nil || one.Stream == "" {
			return readTo{}, err
		}
		if i == 0 || one.Seq < least.Seq {
			least = one
		}
	}
	return least, nil
}

// readOf is what the store keeps of one shard, or of a stream that was read whole; zero where it keeps nothing of this incarnation of the stream.
func (c *Collector) readOf(ctx context.Context, s fleet.Shard, stream lifecycle.StreamID) (r readTo, err error) {
	if s.Whole() {
		p, err := c.positionOf(ctx, s)
		r = readTo{Stream: p.Stream, Seq: p.Seq, At: p.At}
		return r.of(stream), err
	}
	text, err := c.cfg.Watermarks.Watermark(ctx, c.lossMark(s))
	if err != nil || text == "" {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("decode what was read %q: %w", text, err)
	}
	return r.of(stream), nil
}

// of is r where it is about this incarnation of a stream, and else nothing.
func (r readTo) of(stream lifecycle.StreamID) readTo {
	if r.Stream != stream.String() {
		return readTo{}
	}
	return r
}

// findLosses looks for lines of a shard that were lost. What fails is tried again at the next look.
func (c *Collector) findLosses(ctx context.Context, consumer jetstream.Consumer) {
	if c.shard.Whole() {
		return
	}
	if err := c.lookForLosses(ctx, consumer); err != nil && ctx.Err() == nil {
		c.cfg.Logger.Warn("lost lines could not be looked for", "error", err)
	}
}

// lookForLosses looks once, and stores the gap that it finds.
func (c *Collector) lookForLosses(ctx context.Context, consumer jetstream.Consumer) error {
	v, created, err := c.lookAt(ctx, consumer)
	if err != nil {
		return err
	}
	if id := c.name; created != 0 {
		if id.Epoch = created; id.String() != c.losses.read.Stream { // Another incarnation: the session will end.
			return nil
		}
	}
	next, gap := c.losses.next(v, c.name.String(), c.shard)
	next.upTo, next.until = c.status.reached()
	var b lifecycle.Batch
	if gap != nil {
		b.Gaps = append(b.Gaps, *gap)
	}
	if gap != nil || next.due(v) {
		text, err := json.Marshal(next.read)
		if err != nil {
			return err
		}
		if !c.shard.Whole() {
			b.Watermarks = map[string]string{c.lossMark(c.shard): string(text)}
		}
		if _, err := c.cfg.Appender.Append(ctx, b); err != nil {
			return fmt.Errorf("store what was read: %w", err)
		}
		next.saved = next.read.Seq
	}
	c.losses = next
	return nil
}

// lookAt asks the broker, in the order that [losses] needs.
func (c *Collector) lookAt(ctx context.Context, consumer jetstream.Consumer) (v look, created lifecycle.Micros, err error) {
	info, err := consumer.Info(ctx)
	if err != nil {
		return v, 0, err
	}
	stream, err := c.cfg.JetStream.Stream(ctx, c.src.Stream)
	if err != nil {
		return v, 0, err
	}
	s := stream.CachedInfo()
	v = look{
		floor: info.AckFloor.Stream, idle: info.NumPending == 0 && info.NumAckPending == 0,
		first: s.State.FirstSeq, last: s.State.LastSeq, at: lifecycle.MicrosOf(s.TimeStamp), firstAt: lifecycle.MicrosOf(s.TimeStamp),
	}
	if s.State.Msgs > 0 {
		v.firstAt = lifecycle.MicrosOf(s.State.FirstTime.Add(-time.Microsecond))
	}
	return v, lifecycle.MicrosOf(s.Created), nil
}
