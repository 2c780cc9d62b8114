package collectors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// A collector acknowledges what its store has committed. So where a durable is acknowledged beyond what the store has, somebody read it for another
// store: this one was made anew or restored from a backup, or a second Fleetglass with a store of its own reads the same durable. Where nobody else reads
// now, what the capture stream still keeps is read again: events are told apart by their ids, so nothing counts twice. Where somebody does, this one
// does not begin. Where both have begun, each gets a part of the lines, and neither knows which: that is a gap, and the part is down.
//
// A durable that an operator resets beyond the end of its stream passes the lines that come next. It is made anew too.

// storedMark is the name under which the store keeps up to where lines of an incarnation of the capture stream are stored ([lifecycle.Batch.Reached]).
func (c *Collector) storedMark(stream string) string { return c.mark() + ":stored:" + stream }

// storedUpTo is the highest line of the capture stream that was committed to the store, by whatever replica; zero where it does not say.
func (c *Collector) storedUpTo(ctx context.Context, stream lifecycle.StreamID) (uint64, error) {
	text, err := c.cfg.Watermarks.Watermark(ctx, c.storedMark(stream.String()))
	if err != nil || text == "" {
		return 0, err
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("decode up to where lines are stored: %w", err)
	}
	return seq, nil
}

// knows reports whether the store has anything of an incarnation of the capture stream, under whatever number of shards, and up to where all of it.
func (c *Collector) knows(ctx context.Context, stream lifecycle.StreamID) (known bool, upTo uint64, err error) {
	own, err := c.positionOf(ctx, c.shard)
	if err != nil {
		return false, 0, err
	}
	all, err := c.readBefore(ctx, stream)
	return own.Stream == stream.String() || all.Stream != "", all.Seq, err
}

// readsEvery reports whether the durable takes every line of its stream: only then is it acknowledged no further than the lines that it delivered.
func (c *Collector) readsEvery() bool { return c.shard.Whole() && c.src.Subject == "" }

// acknowledgedElsewhere is the gap of lines that were acknowledged for another store, without a reason; zero for none. info must have been asked for before the
// call: whoever acknowledged for this store had committed by then.
func (c *Collector) acknowledgedElsewhere(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) (none lifecycle.Gap, err error) {
	floor := info.AckFloor.Stream
	stored, err := c.storedUpTo(ctx, id)
	if err != nil || floor <= stored {
		return none, err
	}
	known, upTo, err := c.knows(ctx, id)
	if err != nil || (known && !c.readsEvery()) {
		return none, err
	}
	if known { // What is before the durable's start others had read for this store, shard by shard.
		stored = max(stored, upTo, info.Config.OptStartSeq-min(info.Config.OptStartSeq, 1))
	}
	stream, err := c.cfg.JetStream.Stream(ctx, c.src.Stream)
	if err != nil {
		return none, fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	kept := stream.CachedInfo().State
	if floor <= stored || kept.FirstSeq > floor { // It may have passed lines that were discarded.
		return none, nil
	}
	if keeps, err := c.keepsAny(ctx, stored+1, floor); err != nil || !keeps { // Likewise lines that their own time to live removed.
		return none, err
	}
	own, err := c.positionOf(ctx, c.shard)
	if err != nil {
		return none, err
	}
	since, until := lifecycle.MicrosOf(kept.FirstTime), lifecycle.MicrosOf(info.TimeStamp)
	if own.Stream == id.String() {
		since = cmp.Or(own.At, since)
	}
	return lifecycle.Gap{Source: c.name.String(), From: min(since, until), To: until, FromSeq: stored + 1, ToSeq: floor}, nil
}

// keepsAny reports whether the capture stream still has a line from one sequence to another. To whoever may not ask for lines it may.
func (c *Collector) keepsAny(ctx context.Context, from, to uint64) (bool, error) {
	stream, err := leader.Find(ctx, c.cfg.JetStream, c.src.Stream)
	if err != nil {
		return false, fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	next, err := stream.NextMsg(ctx, from, ">")
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case isRefused(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look for lines of %s from %d on: %w", c.src.Stream, from, err)
	}
	return next.Sequence <= to, nil
}

// because is the gap with its reason.
func because(gap lifecycle.Gap, why string) lifecycle.Gap {
	gap.Reason = fmt.Sprintf("lines up to %d were acknowledged and are not in this store: %s", gap.ToSeq, why)
	return gap
}

// catchUp makes the durable anew where the store lacks lines that were acknowledged: all that the capture stream keeps is read again. It errors while
// somebody with another store reads the durable, so that nothing is taken from them. Where the observer may not make durables, the lines are a gap until
// somebody else has made it anew.
func (c *Collector) catchUp(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) (jetstream.Consumer, error) {
	id, info := c.incarnation(stream), consumer.CachedInfo()
	found, err := c.acknowledgedElsewhere(ctx, id, info)
	if err != nil {
		return nil, err
	}
	lacking, err := c.lackingGap(ctx, id)
	if err != nil {
		return nil, err
	}
	now, err := stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for stream %s: %w", c.src.Stream, err)
	}
	ahead := info.AckFloor.Stream > now.State.LastSeq
	switch {
	case found.Source == "" && lacking.Source == "" && !ahead:
		return consumer, nil
	case info.Delivered.Consumer == 0 && info.Config.OptStartSeq == 0 && info.Delivered.Stream < max(now.State.FirstSeq, 1): // Somebody made it anew, or reset it to the beginning.
		return consumer, c.mend(ctx, stream, lacking.ToSeq, lacking)
	}
	if found.Source != "" {
		if err := c.alone(ctx, consumer); err != nil {
			return nil, err
		}
	}
	upTo := min(max(found.ToSeq, lacking.ToSeq), now.State.LastSeq)
	made, err := c.readAnew(ctx, stream, info.Name)
	switch {
	case err == nil:
		c.cfg.Logger.Warn("the store lacks lines that were acknowledged, or the durable was reset beyond the end of its stream: the stream is read anew", "up_to", upTo, "acknowledged", info.AckFloor.Stream)
		return made, c.mend(ctx, stream, upTo, lacking)
	case !isRefused(err):
		return nil, err
	case ahead:
		return nil, fmt.Errorf("%s was reset beyond the end of its stream, so that the lines up to %d would not be read: nats consumer reset %s %s --sequence 1, or delete it and run fleetglass provision --apply",
			info.Name, info.AckFloor.Stream, c.src.Stream, info.Name)
	}
	c.cfg.Logger.Warn("the store lacks lines that were acknowledged; delete the durable and run fleetglass provision --apply to have them read again",
		"durable", info.Name, "up_to", upTo, "error", err)
	if found.Source == "" || c.src.Edited { // Whoever removes single lines moves the durable past lines that nobody read.
		return consumer, nil
	}
	return consumer, c.saveLacking(ctx, id, because(found, "it was made anew or restored from a backup, or somebody else took them"))
}

// errShared says that somebody reads whose lines the store does not get. Who that is the broker does not tell.
func errShared(durable string) error {
	return fmt.Errorf("somebody else reads %s, most likely a second Fleetglass with a store of its own, and each would get a part of the lines: stop one of the two, or give one durables of its own (--reader)", durable)
}

// alone errors where anybody asks for lines of the durable. Whoever reads asks for the next ones while it stores those that it has, so a few looks
// are enough.
func (c *Collector) alone(ctx context.Context, consumer jetstream.Consumer) error {
	for range aloneLooks {
		info, err := consumer.Info(ctx)
		if err != nil {
			return fmt.Errorf("ask who reads: %w", err)
		}
		if info.NumWaiting > 0 {
			return errShared(info.Name)
		}
		if !sleep(ctx, pullWait/aloneLooks) {
			return ctx.Err()
		}
	}
	return nil
}

// aloneLooks is how often the broker is asked whether anybody else reads, within the time for which it keeps a pull.
const aloneLooks = 5

// isRefused reports whether the broker did not do what it was asked. It does not answer whoever may not ask.
func isRefused(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) || errors.Is(err, context.DeadlineExceeded)
}

// mend notes that lines are read again. A gap of lines that the store lacks is closed by that, but for what the stream keeps no more.
func (c *Collector) mend(ctx context.Context, stream jetstream.Stream, upTo uint64, lacking lifecycle.Gap) error {
	id := c.incarnation(stream)
	b := lifecycle.Batch{Reached: map[string]uint64{c.storedMark(id.String()): upTo}}
	if lacking.Source != "" {
		kept := stream.CachedInfo().State
		lacking.Repaired = kept.FirstSeq <= 1 || lifecycle.MicrosOf(kept.FirstTime) <= lacking.From
		b.Gaps, b.Watermarks = []lifecycle.Gap{lacking}, map[string]string{c.lackingMark(id.String()): ""}
	}
	_, err := c.cfg.Appender.Append(ctx, b)
	return err
}

// readAnew makes the durable again, so that it begins with the first line that the stream keeps.
func (c *Collector) readAnew(ctx context.Context, stream jetstream.Stream, name string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, readAnewWait)
	defer cancel()
	if err := stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("delete durable %s: %w", name, err)
	}
	want := c.cfg.reader(c.src).Config(c.cfg.Contract)
	want.Durable = name
	return stream.CreateOrUpdateConsumer(ctx, want)
}

// readAnewWait is how long the broker may take to make a durable anew. Where it takes longer, the observer is not allowed to ask for it.
const readAnewWait = 3 * time.Second

// findElsewhere looks, beside the reading, for lines that are acknowledged for another store.
func (c *Collector) findElsewhere(ctx context.Context, stream lifecycle.StreamID, info *jetstream.ConsumerInfo) {
	if !c.readsEvery() || c.src.Edited || info.AckFloor.Stream <= c.stored {
		return
	}
	if err := c.lookElsewhere(ctx, stream, info); err != nil && ctx.Err() == nil {
		c.cfg.Logger.Warn("it could not be looked for lines that were acknowledged for another store", "error", err)
	}
}

func (c *Collector) lookElsewhere(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) error {
	found, err := c.acknowledgedElsewhere(ctx, id, info)
	if err != nil {
		return err
	}
	c.stored = info.AckFloor.Stream
	if found.Source == "" {
		return nil
	}
	found = because(found, "somebody else reads the same durable, most likely a second Fleetglass, or it was reset")
	if c.status.sharing() {
		found.From, found.FromSeq = c.shared.From, c.shared.FromSeq
	} else {
		if since := c.status.othersSince(); since.Known() {
			found.From = min(found.From, since)
		}
		c.cfg.Logger.Error("somebody else reads the same durable, most likely a second Fleetglass with a store of its own, or it was reset: a part of the lines is not read", "durable", info.Name)
	}
	c.shared = found
	c.status.shares(info.Name, found.ToSeq, c.cfg.Now())
	return c.saveLacking(ctx, id, found)
}

// lackingMark is the name under which the store keeps such a gap until its lines are read again.
func (c *Collector) lackingMark(stream string) string { return c.mark() + ":lacking:" + stream }

// saveLacking stores such a gap, so that its lines are not found again.
func (c *Collector) saveLacking(ctx context.Context, stream lifecycle.StreamID, gap lifecycle.Gap) error {
	text, err := json.Marshal(gap)
	if err != nil {
		return err
	}
	id := stream.String()
	if _, err := c.cfg.Appender.Append(ctx, lifecycle.Batch{
		Gaps: []lifecycle.Gap{gap}, Watermarks: map[string]string{c.lackingMark(id): string(text)}, Reached: map[string]uint64{c.storedMark(id): gap.ToSeq},
	}); err != nil {
		return fmt.Errorf("store the gap of lines that were acknowledged for another store: %w", err)
	}
	return nil
}

// lackingGap is that gap; zero for none.
func (c *Collector) lackingGap(ctx context.Context, stream lifecycle.StreamID) (gap lifecycle.Gap, err error) {
	text, err := c.cfg.Watermarks.Watermark(ctx, c.lackingMark(stream.String()))
	if err != nil || text == "" {
		return gap, err
	}
	if err := json.Unmarshal([]byte(text), &gap); err != nil {
		return gap, fmt.Errorf("decode the gap of lines that the store lacks: %w", err)
	}
	return gap, nil
}
