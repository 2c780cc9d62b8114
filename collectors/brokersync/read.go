package brokersync

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

const (
	// recheck is how long a message that is in the stream although it is settled is not asked about again.
	recheck = 30 * time.Second
	// lookback is how many sequences before a consumer's floor may hold messages that it redelivered after the floor passed them.
	lookback = 1000
	// handsRead bounds the messages read for a consumer that may hold several.
	handsRead = 1000
)

// read asks the store about one page of the stream and about everything in somebody's hands.
func (p *poll) read(ctx context.Context) error {
	whole := false
	if !p.c.seen.sweep.rests(p.saw.At) {
		var err error
		if whole, err = p.page(ctx); err != nil {
			return err
		}
	}
	if !whole {
		if err := p.hands(ctx); err != nil {
			return err
		}
	}
	if err := p.answered(ctx); err != nil {
		return err
	}
	return p.windows(ctx)
}

// page reads the page of the stream that begins at the cursor, and reports whether it is all of the stream.
func (p *poll) page(ctx context.Context) (whole bool, err error) {
	seen, cfg := &p.c.seen, p.c.cfg
	p.swept = true
	open, err := cfg.Reader.OpenMessages(ctx, p.saw.Stream, seen.cursor, cfg.PageSize)
	if err != nil {
		return false, fmt.Errorf("read open messages: %w", err)
	}
	p.to = min(p.saw.LastSeq, p.saw.Present.To)
	whole = len(open) < cfg.PageSize
	if !whole {
		p.to = min(p.to, open[len(open)-1].Message.Key.Seq)
	}
	known := map[uint64]bool{}
	for _, o := range open {
		known[o.Message.Key.Seq] = true
	}
	if err := p.others(ctx, known); err != nil {
		return false, err
	}
	p.facts.Open = slices.DeleteFunc(open, func(o lifecycle.OpenMessage) bool { return o.Message.Key.Seq > p.to })
	return whole && seen.cursor == 0 && p.to >= p.saw.LastSeq, nil
}

// others finds what is in the stream and not open by the store's account: settled messages, and such as the store does not know.
func (p *poll) others(ctx context.Context, known map[uint64]bool) error {
	seen := &p.c.seen
	var ask []uint64
	p.saw.Present.Between(seen.cursor, p.to, func(seq uint64) bool {
		if until, settled := seen.settled[seq]; known[seq] || (settled && p.saw.At < until) {
			return true
		}
		if ask = append(ask, seq); len(ask) >= p.c.cfg.PageSize {
			p.to, p.more = seq, true
			return false
		}
		return true
	})
	for len(ask) > 0 {
		run := 1
		for run < len(ask) && ask[run]-ask[run-1] <= 4 {
			run++
		}
		if err := p.settledIn(ctx, ask[:run]); err != nil {
			return err
		}
		ask = ask[run:]
	}
	return nil
}

// settledIn reads one run of messages that are in the stream.
func (p *poll) settledIn(ctx context.Context, seqs []uint64) error {
	seen, from, to := &p.c.seen, seqs[0], seqs[len(seqs)-1]
	rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, from, to, int(to-from)+1)
	if err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	at := 0
	for _, seq := range seqs {
		for at < len(rows) && rows[at].Key.Seq < seq {
			at++
		}
		if at == len(rows) || rows[at].Key.Seq != seq {
			if seq <= p.saw.Verifiable {
				p.unknown = append(p.unknown, seq)
			}
			continue
		}
		m := rows[at]
		p.facts.Settled = append(p.facts.Settled, m)
		if !answerPending(m) {
			seen.settled[seq] = p.saw.At.Add(recheck)
		}
	}
	return nil
}

// answerPending reports whether an answer to m is still to be refuted, should the message stay in the stream.
func answerPending(m lifecycle.MessageFacts) bool {
	return slices.ContainsFunc(m.Attempts, func(a lifecycle.AttemptFacts) bool {
		return max(a.LastAckAt, a.ConfirmedAt, a.TermAt) > m.RefutedAt
	})
}

// hands reads the messages that consumers hold, where they may lie outside the page.
func (p *poll) hands(ctx context.Context) error {
	have := map[uint64]bool{}
	for _, o := range p.facts.Open {
		have[o.Message.Key.Seq] = true
	}
	for _, c := range p.saw.Consumers {
		if c.AckPending == 0 {
			continue
		}
		from, limit := c.FloorSeq+1, min(handsRead, 4*c.AckPending)
		if c.MaxAckPending == 1 {
			from, limit = c.DeliveredSeq, 1
		}
		open, err := p.c.cfg.Reader.OpenMessages(ctx, p.saw.Stream, from, limit)
		if err != nil {
			return fmt.Errorf("read open messages: %w", err)
		}
		for _, o := range open {
			if seq := o.Message.Key.Seq; seq <= c.DeliveredSeq && seq <= p.saw.LastSeq && !have[seq] {
				have[seq] = true
				p.facts.Open = append(p.facts.Open, o)
			}
		}
	}
	slices.SortFunc(p.facts.Open, func(a, b lifecycle.OpenMessage) int { return a.Message.Key.Compare(b.Message.Key) })
	return nil
}

// answered reads the messages that consumers delivered last and that are not open any more, once for each delivery.
func (p *poll) answered(ctx context.Context) error {
	seen := &p.c.seen
	for _, c := range p.saw.Consumers {
		if c.DeliveredCSeq == 0 || seen.answered[c.Name] == c.DeliveredCSeq || !spoken(p.saw, c) || p.isOpen(c.DeliveredSeq) {
			continue
		}
		rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, c.DeliveredSeq, c.DeliveredSeq, 1)
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		p.facts.Answered = append(p.facts.Answered, rows...)
		if answeredIn(rows, c) || p.saw.Drained >= c.quietSince().Add(settle) {
			seen.answered[c.Name] = c.DeliveredCSeq
		}
	}
	return nil
}

// answeredIn reports whether a line of the consumer's last delivery is known.
func answeredIn(rows []lifecycle.MessageFacts, c Consumer) bool {
	return len(rows) > 0 && evidenceOf(rows[0], c)[c.DeliveredCSeq] > 0
}

// isOpen reports whether a message is among the open ones that were read.
func (p *poll) isOpen(seq uint64) bool {
	_, found := slices.BinarySearchFunc(p.facts.Open, seq, func(o lifecycle.OpenMessage, seq uint64) int { return cmp.Compare(o.Message.Key.Seq, seq) })
	return found
}

// windows reads, for consumers that may hold several messages, the settled ones that their open deliveries may belong to.
func (p *poll) windows(ctx context.Context) error {
	p.facts.Others, p.facts.Early = map[string][]lifecycle.MessageFacts{}, map[string]bool{}
	for _, c := range p.saw.Consumers {
		if c.MaxAckPending == 1 || c.AckPending == 0 || p.accounted(c) {
			continue
		}
		if c.DeliveredSeq > p.c.seen.compared.verified {
			p.facts.Early[c.Name] = true
			continue
		}
		from := c.FloorSeq + 1 - min(c.FloorSeq, lookback)
		rows, err := p.c.cfg.Reader.MessagesIn(ctx, p.saw.Stream, from, c.DeliveredSeq, lookback+handsRead)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		if len(rows) == lookback+handsRead {
			continue
		}
		p.facts.Others[c.Name] = slices.DeleteFunc(rows, func(m lifecycle.MessageFacts) bool {
			of := p.saw.consumerOf(m)
			return of == nil || of.Name != c.Name || p.isOpen(m.Key.Seq)
		})
	}
	return nil
}

// accounted reports whether lines account for every open delivery of a consumer, so that nothing is to be found out.
func (p *poll) accounted(c Consumer) bool {
	all := evidence{}
	for _, o := range p.facts.Open {
		if of := p.saw.consumerOf(o.Message); of != nil && of.Name == c.Name {
			all.join(evidenceOf(o.Message, c))
		}
	}
	for cseq := range all {
		if cseq <= c.FloorCSeq {
			delete(all, cseq)
		}
	}
	return uint64(len(all)) >= c.DeliveredCSeq-min(c.FloorCSeq, c.DeliveredCSeq)
}
