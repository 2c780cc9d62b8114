package brokersync

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/fleet"
)

// answer is what a worker does with a delivery that it has, or had.
func (c *simConsumer) answer() {
	var open []*simDelivery
	for _, d := range c.all() {
		if !d.done {
			open = append(open, d)
		}
	}
	if len(open) == 0 || c.gone || c.unanswered {
		return
	}
	d := open[max(0, len(open)-1-c.r.IntN(3))]
	if c.forAll && (c.pending[d.seq] == nil || d.cseq <= c.floorC) {
		return // What becomes of a late answer to all is not played: the broker notes it in memory alone.
	}
	if slices.Contains(c.former, d) && d.seq <= c.seq && d.cseq <= c.cseq {
		return // Nothing tells it from an answer to the living consumer.
	}
	of := fmt.Sprintf("%d %s n=%d cseq=%d %s", d.seq, short(c.now), d.n, d.cseq, c.sign())
	switch c.r.IntN(7) {
	case 0, 1, 2:
		c.tells(d, fleet.CaptureAck, "knows heartbeat "+of)
		if c.pending[d.seq] != nil {
			c.waits(d.seq, c.now)
			c.moved = c.now + noted
		}
	case 3:
		c.tells(d, fleet.CaptureAck, "knows acked "+of+c.beside(d.seq))
		for seq := range c.pending {
			if c.forAll && seq <= d.seq {
				c.share(seq).acked = true
			}
		}
		c.share(d.seq).acked = true
		c.ends(d)
	case 4:
		c.tells(d, fleet.CaptureAck, "knows terminated "+of+c.beside(d.seq))
		c.tells(d, fleet.CaptureEvt, "knows term_confirmed "+of)
		c.ends(d)
	case 5:
		c.tells(d, fleet.CaptureAck, "knows naked "+of)
		c.handsBack(d, 0)
	case 6:
		delay := c.upTo(2000, 300)
		c.tells(d, fleet.CaptureAck, "knows naked "+of+" delay="+short(delay))
		c.handsBack(d, delay)
	}
}

// tells captures a line about an answer to a delivery. How it stands is told by the consumer as it is when the line is read: at once, or as it is stored. One of a former
// life's worker is read at once: by the time that it is stored the living consumer may have made as many deliveries, and nothing tells them apart.
func (c *simConsumer) tells(d *simDelivery, capture, text string) {
	at, byBroker := c.now, capture == fleet.CaptureEvt
	standing := func() string { return c.standing(d, at, byBroker) }
	if now := standing(); slices.Contains(c.former, d) || c.r.IntN(2) == 0 {
		standing = func() string { return now }
	}
	c.captures(capture, text, standing)
}

// standing says how an answer to a delivery that was sent at a time, or what the broker says of it, stands by the consumer as it is now.
func (c *simConsumer) standing(d *simDelivery, at time.Duration, byBroker bool) string {
	stored, made := c.messages[d.seq].at, d.seq <= c.seq && d.cseq <= c.cseq
	lived := !c.gone && c.created <= at
	switch {
	case lived && made, byBroker && !lived:
		return ""
	case byBroker:
		return " undelivered"
	case !lived:
		return " said=" + short(stored)
	case c.created > stored:
		return " former said=" + short(stored)
	}
	return " undelivered said=" + short(stored)
}

// beside names another workers' consumer that still may have to answer the message.
func (c *simConsumer) beside(seq uint64) string {
	for _, o := range c.workers() {
		if o != c && !o.gone && !c.watches() && o.takes(seq) && o.floorS < seq {
			return " beside=" + o.name
		}
	}
	return ""
}

// ends carries out an answer that ends a message.
func (c *simConsumer) ends(d *simDelivery) {
	d.done = true
	if c.forAll {
		c.settleAll(d.cseq, d.seq)
		return
	}
	if d.seq > c.passed || c.messages[d.seq].gone && c.pending[d.seq] == nil {
		return
	}
	if !c.messages[d.seq].gone {
		c.share(d.seq).accepted = true
		c.releases(d.seq, c)
	}
	c.settle(d.seq)
}

// handsBack carries out a nak.
func (c *simConsumer) handsBack(d *simDelivery, delay time.Duration) {
	d.done = true
	p := c.pending[d.seq]
	if p == nil || d.cseq <= c.floorC || d.cseq > c.cseq {
		return
	}
	c.share(d.seq).back = true
	if delay == 0 {
		if !slices.Contains(c.queue, d.seq) {
			c.queue = append(c.queue, d.seq)
		}
		return
	}
	c.queue = slices.DeleteFunc(c.queue, func(q uint64) bool { return q == d.seq })
	c.waits(d.seq, c.now-c.wait+delay)
	c.moved = c.now + noted
}
