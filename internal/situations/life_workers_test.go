//go:build linux

package situations

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// hire makes the worker's consumer, where there is none.
func (w *life) hire() {
	if w.worker != nil {
		return
	}
	cfg := worker(w.agent)
	cfg.Durable = w.durable()
	w.worker = w.recruit(cfg)
}

// hirePartner makes a second workers' consumer, where the stream allows that. It gets every message that is there, whoever acknowledged it before.
func (w *life) hirePartner() {
	if w.partner != nil || w.land.streams[0].Retention == jetstream.WorkQueuePolicy {
		return
	}
	w.know(func() {
		for _, m := range w.letters {
			m.timely = false
		}
	})
	w.partner = w.recruit(second(w.agent))
}

// fire deletes the worker's consumer.
func (w *life) fire() {
	if w.worker == nil || w.random.IntN(3) > 0 {
		return
	}
	w.note("consumer deleted")
	w.unsubscribe(w.worker)
	w.know(func() {
		w.beginsAnew()
		for _, m := range w.letters {
			m.unclaimed = m.unclaimed || w.land.streams[0].Retention == jetstream.InterestPolicy
		}
	})
	w.deleteConsumer()
	w.worker = nil
}

// beginsAnew notes that the worker's consumer forgets what it delivered: what is answered from now on has no effect, and it delivers each message as if for the first
// time.
func (w *life) beginsAnew() {
	w.renewed = true
	w.drop(w.worker)
	for _, m := range w.letters {
		delete(m.open, w.worker.name)
		m.unseen = m.unseen || !m.told && !m.acked && !m.terminated
		m.told = false
		if w.land.streams[0].Retention != jetstream.WorkQueuePolicy {
			m.timely = false // What it acknowledged is there again, and nothing is left that proves it.
		}
	}
}

// resetWorker resets the worker's consumer to its floor. Fleetglass looks before and after it: of what else happens between two looks its counters may tell nothing.
func (w *life) resetWorker() {
	if w.mode != live || !brokerSince(resettable) || w.worker == nil || w.worker.sent() || !w.worker.awaits() || w.worker.cfg.DeliverPolicy != jetstream.DeliverAllPolicy {
		return
	}
	w.seen()
	w.note("consumer reset")
	w.know(w.beginsAnew)
	w.resetConsumer(0)
	w.seen()
}

// drop forgets what workers have of a consumer.
func (w *life) drop(by *crew) {
	w.held = slices.DeleteFunc(w.held, func(d delivery) bool { return d.by == by })
}

func (w *life) pauseWorker() {
	if w.worker == nil {
		return
	}
	until := time.Now().Add(time.Duration(w.random.IntN(1500)) * time.Millisecond)
	w.note("consumer paused until %s", until.Format("05.000"))
	w.unpaused = until
	_, err := w.js.PauseConsumer(w.ctx, "TASKS", w.durable(), until)
	w.must(err)
}

func (w *life) changeWait() {
	if !w.worker.awaits() {
		return
	}
	wait, n := time.Duration(700+w.random.IntN(3000))*time.Millisecond, 1+w.random.IntN(5)
	w.note("consumer changed: ack wait %s, at most %d", wait, n)
	w.bounded(n)
	w.change(func(cfg *jetstream.ConsumerConfig) {
		cfg.AckWait, cfg.MaxDeliver, cfg.MaxAckPending, cfg.BackOff = wait, n, 1+w.random.IntN(3), nil
	})
	w.worker.wait = wait
}

// changeBackoff lets each attempt have a wait of its own.
func (w *life) changeBackoff() {
	if !w.worker.awaits() {
		return
	}
	backoff := []time.Duration{time.Duration(700+w.random.IntN(1000)) * time.Millisecond, time.Duration(700+w.random.IntN(3000)) * time.Millisecond}
	w.note("consumer changed: backoff %s", backoff)
	n := 3 + w.random.IntN(2)
	w.bounded(n)
	w.change(func(cfg *jetstream.ConsumerConfig) { cfg.MaxDeliver, cfg.BackOff = n, backoff })
	w.worker.wait = slices.Min(backoff)
}

// changeKinds lets the worker's consumer take other types of tasks. What a stream with Interest retention keeps then is another question, and nothing tells what it took before
// it was looked at for the first time.
func (w *life) changeKinds() {
	if w.mode == afterwards || !w.worker.awaits() || w.land.streams[0].Retention == jetstream.InterestPolicy {
		return
	}
	takes := []string{"genbrain.agents." + w.agent + ".tasks.>"}
	if left := w.random.IntN(len(kinds) + 1); left < len(kinds) { // The one that it does not take.
		takes = nil
		for _, kind := range slices.Delete(slices.Clone(kinds), left, left+1) {
			takes = append(takes, "genbrain.agents."+w.agent+".tasks."+kind)
		}
	}
	for _, m := range w.letters {
		m.leftOut = m.leftOut || !w.worker.takes(m.kind)
	}
	w.note("consumer changed: takes %v", takes)
	w.change(func(cfg *jetstream.ConsumerConfig) { cfg.FilterSubject, cfg.FilterSubjects = "", takes })
}

// change changes the worker's consumer.
func (w *life) change(f func(*jetstream.ConsumerConfig)) {
	f(&w.worker.cfg)
	w.make(w.worker)
	for i := range w.held { // Which wait holds for them is not known any more.
		if w.held[i].by == w.worker {
			w.held[i].at = time.Time{}
		}
	}
}

// take lets a worker ask for a message.
func (w *life) take() {
	by := w.worker
	if w.partner != nil && (by == nil || w.random.IntN(2) == 0) {
		by = w.partner
	}
	switch {
	case by == nil:
		return
	case by.sent():
		w.works(time.Duration(w.random.IntN(300)) * time.Millisecond) // Its workers are given what they are sent.
		return
	}
	w.know(func() { w.pulls++ })
	asked := time.Now()
	m := w.next(by)
	if m == nil {
		w.know(func() { w.empty++ })
		w.note("nothing to pull from %s", by.name)
		return
	}
	meta, err := m.Metadata()
	w.must(err)
	of := w.mailSoon(meta.Sequence.Stream)
	if of == nil {
		w.must(errors.New("the broker delivers what nobody published"))
	}
	w.know(func() { w.given(delivery{Msg: m, of: of, by: by, asked: asked, at: time.Now()}) })
}

// takeSome lets workers ask for several messages at once.
func (w *life) takeSome() {
	for range 2 + w.random.IntN(2) {
		w.take()
	}
}

// given notes that a worker has a message.
func (w *life) given(d delivery) {
	meta, err := d.Metadata()
	w.must(err)
	d.of.had++
	if d.by.awaits() {
		if d.of.open == nil {
			d.of.open = map[string]bool{}
		}
		d.of.open[d.by.name] = true
	}
	d.of.unasked = d.of.unasked || !d.by.awaits()
	d.deed = &deed{by: d.by.name, n: int(meta.NumDelivered), cseq: meta.Sequence.Consumer, asked: d.asked, got: d.at, ends: map[string]time.Time{}}
	d.of.deeds = append(d.of.deeds, d.deed)
	d.repeats = w.saidBefore(d)
	w.held = append(w.held, d)
	w.note("%s delivered %d, attempt %d", d.by.name, meta.Sequence.Stream, meta.NumDelivered)
}

func (w *life) mailAt(seq uint64) *mail {
	for _, m := range w.letters {
		if m.seq == seq {
			return m
		}
	}
	return nil
}

// answered takes one of the deliveries out of the workers' hands.
func (w *life) answered() (d delivery, ok bool) {
	if len(w.held) == 0 {
		return d, false
	}
	return w.lets(w.random.IntN(len(w.held))), true
}

// lets takes one of the deliveries out of the workers' hands.
func (w *life) lets(i int) (d delivery) {
	d = w.held[i]
	w.held = append(w.held[:i:i], w.held[i+1:]...)
	return d
}

func (w *life) acknowledge() {
	if d, ok := w.answered(); ok {
		w.acknowledged(d)
	}
}

func (w *life) acknowledged(d delivery) {
	meta, err := d.Metadata()
	w.must(err)
	last := int(meta.NumDelivered) == d.of.had || !w.heldElsewhere(d)
	timely := w.partner == nil && time.Since(d.at) < d.by.wait/2 && last && !d.of.deleted && !d.of.terminated && !d.of.expired(time.Now())
	w.note("ack of %d for %s, attempt %d, in time: %v", d.of.seq, d.by.name, meta.NumDelivered, timely)
	w.know(func() {
		d.of.acked, d.of.timely, d.of.done = true, d.of.timely || timely, d.of.done || timely
		delete(d.of.open, d.by.name)
		d.deed.ended("acked")
		if d.repeats {
			w.repeats[d.of.task]++
			if d.of.task != "foreign" && !d.asked.IsZero() && d.Headers().Get("X-Idempotency-Key") != "" { // When the broker sends is not known.
				w.keyed[d.of.task]++
			}
		}
		w.sweeps(d)
	})
	w.ack(d)
}

// heldElsewhere reports whether another worker has the message of the same consumer.
func (w *life) heldElsewhere(one delivery) bool {
	return slices.ContainsFunc(w.held, func(d delivery) bool { return d.of == one.of && d.by == one.by })
}

func (w *life) beat() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.note("heartbeat of %d", d.of.seq)
		w.know(func() { d.of.told = true })
		w.heartbeat(d)
		w.know(func() { d.of.beatAt = time.Now() })
	}
}

func (w *life) handBack() {
	if d, ok := w.answered(); ok {
		w.note("nak of %d", d.of.seq)
		w.know(func() { d.of.told = true; d.deed.ended("naked") })
		w.answer(d, "-NAK")
	}
}

// handBackLater lets a worker hand a message back for a while, twice now and then.
func (w *life) handBackLater() {
	d, ok := w.answered()
	if !ok {
		return
	}
	delay := time.Duration(w.random.IntN(1500)) * time.Millisecond
	w.know(func() { d.of.told = true; d.deed.ended("naked") })
	for range 1 + w.random.IntN(2) {
		w.note("nak of %d for %s", d.of.seq, delay)
		w.answer(d, fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds()))
	}
}

// acknowledgeTwice lets a worker send its acknowledgement again, as one that got no answer.
func (w *life) acknowledgeTwice() {
	if len(w.held) == 0 {
		return
	}
	d := w.lets(w.random.IntN(len(w.held)))
	w.acknowledged(d)
	w.note("ack of %d once more", d.of.seq)
	w.ack(d)
}

// acknowledgeBoth lets a worker lose a message to the next one, and both of them acknowledge it, in either order.
func (w *life) acknowledgeBoth() {
	if w.take(); len(w.held) == 0 {
		return
	}
	lost := w.held[len(w.held)-1]
	w.works(lost.by.wait + deedSlack)
	w.take()
	if next := w.held[len(w.held)-1]; next.of != lost.of || next.by != lost.by || next.deed == lost.deed {
		return
	}
	both := []delivery{w.lets(len(w.held) - 1), w.lets(len(w.held) - 1)}
	w.random.Shuffle(2, func(i, j int) { both[i], both[j] = both[j], both[i] })
	w.acknowledged(both[0])
	w.works(3 * deedSlack)
	w.acknowledged(both[1])
}

// completeAndCrash lets a worker record a message and forget it, so that the next one finds the record.
func (w *life) completeAndCrash() {
	if w.take(); len(w.held) == 0 {
		return
	}
	d := w.lets(len(w.held) - 1)
	w.completes(d)
	w.note("crash with %d", d.of.seq)
	w.works(d.by.wait + deedSlack)
	w.take()
}

// completeAmidOthers lets the worker that was given something last record and acknowledge it, while others send heartbeats or hand back.
func (w *life) completeAmidOthers() {
	if w.takeSome(); len(w.held) < 2 {
		return
	}
	d := w.lets(len(w.held) - 1)
	w.completes(d)
	w.works(time.Duration(w.random.IntN(30)) * time.Millisecond)
	if w.random.IntN(2) == 0 {
		w.beat()
	} else {
		w.handBackLater()
	}
	w.acknowledged(d)
}

// completeAnother writes a record of a version that nobody published: it completes no message.
func (w *life) completeAnother() {
	if d := pick(w.random, w.held); d.Msg != nil && d.of.task != "foreign" && d.Headers().Get("X-Idempotency-Key") != "" {
		w.note("record of version 99 of task %q", d.of.task)
		w.know(func() { d.of.misnamed = true })
		w.record(d.of.task, map[string]any{"idempotencyKey": w.task(d.of.task) + "-99", "natsStreamSeq": d.of.seq})
	}
}

func (w *life) giveUp() {
	if w.random.IntN(3) > 0 {
		return
	}
	if d, ok := w.answered(); ok {
		w.givesUp(d)
	}
}

func (w *life) givesUp(d delivery) {
	w.note("term of %d", d.of.seq)
	w.know(func() {
		d.of.terminated = true
		d.deed.ended("terminated")
		delete(d.of.open, d.by.name)
	})
	w.answer(d, "+TERM impossible_task")
}

// crash lets a worker forget what it has.
func (w *life) crash() {
	if d, ok := w.answered(); ok {
		w.note("crash with %d", d.of.seq)
	}
}

// complete writes the idempotency record of a message that a worker has.
func (w *life) complete() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.completes(d)
	}
}

// completes writes the idempotency record of a delivery.
func (w *life) completes(d delivery) {
	w.note("record of %d", d.of.seq)
	w.know(func() {
		d.of.recorded = true
		w.isSaid(d.of, recorded)
	})
	w.record(d.of.task, map[string]any{
		"idempotencyKey": fmt.Sprintf("%s-%d", w.task(d.of.task), d.of.key), "natsStreamSeq": d.of.seq,
	})
	w.know(func() { d.of.overdue = d.of.overdue || time.Since(d.at) > d.by.wait })
}

// audit lets a second consumer take the same subject, where the stream allows that, and acknowledge what it gets.
func (w *life) audit() {
	if w.land.streams[0].Retention == jetstream.WorkQueuePolicy {
		return
	}
	name := w.agent + "-auditor"
	if w.auditors[name] == nil {
		cfg := worker(w.agent)
		cfg.Durable = name
		w.auditors[name] = w.consumer(cfg)
		w.note("an auditor comes")
	}
	if m := w.tryPull(w.auditors[name], 200*time.Millisecond); m != nil {
		w.note("the auditor acknowledges")
		w.ack(m)
	}
}

// forge publishes what a bad agent may publish: the acknowledgement of a message that nobody gave it. The broker takes it all the same for
// one that a worker has.
func (w *life) forge() {
	if m := pick(w.random, w.letters); m != nil && m.seq != 0 {
		w.note("forged ack of %d", m.seq)
		w.know(func() { m.acked = m.acked || m.had > 0 && w.worker != nil && !m.terminated })
		subject := fmt.Sprintf("$JS.ACK.TASKS.%s.1.%d.999999.%d.0", w.durable(), m.seq, time.Now().UnixNano())
		w.must(w.nc.Publish(subject, []byte("+ACK")))
		w.must(w.nc.FlushTimeout(patience))
	}
}
