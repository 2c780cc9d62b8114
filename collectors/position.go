package collectors

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetglass/lifecycle"
)

// position is how far a source was read, kept in the store beside what was read. The durable on the broker is what work is divided
// by; this only tells, after a restart, whether the capture stream or the durable was lost in the meantime.
type position struct {
	Stream string           `json:"stream,omitempty"` // With its epoch.
	Seq    uint64           `json:"seq,omitempty"`    // Highest line committed.
	At     lifecycle.Micros `json:"at,omitempty"`     // Its store time.
	Blind  lifecycle.Micros `json:"blind,omitempty"`  // Since when the capture stream is missing; zero when it is there.
}

func (c *Collector) mark() string { return "capture:" + c.name.String() }

func (c *Collector) loadPosition(ctx context.Context) error {
	if c.loaded {
		return nil
	}
	text, err := c.cfg.Watermarks.Watermark(ctx, c.mark())
	if err != nil {
		return fmt.Errorf("read position: %w", err)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &c.pos); err != nil {
			return fmt.Errorf("decode position %q: %w", text, err)
		}
	}
	c.loaded = true
	return nil
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
	if c.pos.Blind.Known() || c.src.Optional {
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
		p.Seq, p.At = c.pos.Seq, c.pos.At
	}
	var gaps []lifecycle.Gap
	if (c.pos.Blind.Known() || c.pos.Stream != "") && !c.src.Optional {
		from := c.pos.At
		if c.pos.Blind.Known() {
			from = c.pos.Blind
		}
		gaps = append(gaps, lifecycle.Gap{Source: c.name.String(), From: from, To: max(stream.Epoch, from),
			Reason: "capture stream " + c.src.Stream + " was missing and was created again"})
	}
	return c.save(ctx, p, gaps...)
}
