//go:build linux

package situations

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// life is what the clients of one random world do, and what they know of it. What they are about to do they note before they do it, so that
// Fleetglass is never ahead of them.
type life struct {
	*clients
	random *rand.Rand
	land   land
	diary  []string

	worker   jetstream.Consumer // Nil while there is none.
	wait     time.Duration      // Its ack wait.
	auditors map[string]jetstream.Consumer
	held     []delivery

	mu      sync.Mutex
	letters []*mail
	pulls   int // How often a worker asked for a message.
}

// delivery is a message that a worker has and did not answer.
type delivery struct {
	jetstream.Msg
	of *mail
	at time.Time
}

// mail is a stored message with what its clients know of it.
type mail struct {
	letter
	task    string
	key     int // Version of its idempotency key.
	retries *mail

	had        int  // How often a worker got it.
	told       bool // A worker said something about it while its consumer was there.
	unseen     bool // Its consumer was deleted before anything was said of it: nothing may have shown that a worker had it.
	acked      bool // A worker acknowledged it, or is about to.
	timely     bool // The acknowledgement came in time, by the worker that got it last, from a consumer that was there.
	terminated bool // A worker gave it up, or is about to.
	recorded   bool // Its completion was recorded while it was in the stream, or is about to be.
	reported   bool // Likewise reported.
	deleted    bool // An operator removed it, or is about to.
	unclaimed  bool // Its consumer was deleted, so that a stream with Interest retention kept it only for an auditor, if there was one.
	gone       bool // In the end it is not in the stream.
	unwanted   bool // Nobody took its subject when it was published, so that a stream with Interest retention did not keep it.
}

// whyUnknown is what could explain that its outcome is called unknown.
func (m *mail) whyUnknown() string {
	switch {
	case m.deleted && m.had > 0:
		return "removed while a worker had it, or after"
	case m.deleted:
		return "removed, and no worker is known to have had it"
	case m.timely:
		return "acknowledged in time"
	case m.acked:
		return "acknowledged late"
	case m.unclaimed && m.gone:
		return "dropped by its stream with its consumer"
	}
	return "other"
}

// note writes the diary.
func (w *life) note(format string, args ...any) {
	w.diary = append(w.diary, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

// know changes what the clients know, while Fleetglass may be judged by it.
func (w *life) know(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// left reports whether a message is not in its stream. One that was acknowledged just now is there for another moment.
func (w *life) left(m *mail) bool {
	there := w.there(m.letter)
	for deadline := time.Now().Add(2 * time.Second); there && m.acked && time.Now().Before(deadline); there = w.there(m.letter) {
		pause(w.ctx, 20*time.Millisecond)
	}
	return !there
}

// live is the life of the world.
func (w *life) live(c *clients) {
	w.clients = c
	w.hire()
	w.post("", nil)
	steps := w.steps()
	for range 6 + w.random.IntN(14) {
		steps[w.random.IntN(len(steps))]()
	}
	w.note("the end")
	w.know(func() {
		for _, m := range w.letters {
			m.gone = w.left(m)
		}
	})
}

// steps are what may happen next; what is there more than once happens more often.
func (w *life) steps() []func() {
	steps := []func(){
		w.take, w.take, w.take, w.take, w.acknowledge, w.acknowledge, w.acknowledge, w.beat, w.beat, w.handBack, w.giveUp, w.crash,
		w.complete, w.complete, w.sayCompleted, w.idle, w.idle, w.another, w.again, w.repeat, w.operatorDeletes, w.operatorPurges,
		w.fire, w.hire, w.hire, w.pauseWorker, w.changeWait, w.audit,
	}
	if *withForgery {
		steps = append(steps, w.forge)
	}
	return steps
}

// post publishes a message of a task.
func (w *life) post(task string, of *mail) {
	p := publish{task: task, version: 1}
	m := &mail{task: task, key: 1, retries: of}
	if of != nil {
		n := w.generations(task)
		if m.key = of.key; w.random.IntN(2) == 0 {
			m.key++
		}
		p.version, p.id, p.header = m.key, fmt.Sprintf("%s:r%d", w.task(task), n), retryOf(of.letter, n)
	}
	w.know(func() { w.letters = append(w.letters, m) })
	unwanted := w.nobodyTakes()
	l := w.publish(p)
	w.know(func() { m.letter, m.unwanted = l, unwanted })
	w.note("published %s:%d, task %q, key %d", m.stream, m.seq, task, m.key)
}

// nobodyTakes reports whether the stream keeps nothing that is published now, because no consumer is interested.
func (w *life) nobodyTakes() bool {
	return w.land.streams[0].Retention == jetstream.InterestPolicy && w.worker == nil && len(w.auditors) == 0
}

func (w *life) generations(task string) (n int) {
	for _, m := range w.letters {
		if m.task == task {
			n++
		}
	}
	return n
}

func (w *life) another() {
	if len(w.letters) < 4 {
		w.post(fmt.Sprintf("t%d", len(w.letters)), nil)
	}
}

// again publishes a retry of a message.
func (w *life) again() {
	if m := pick(w.random, w.letters); m != nil && len(w.letters) < 6 {
		w.post(m.task, m)
	}
}

// repeat publishes a message once more, as a publisher that got no answer.
func (w *life) repeat() {
	m := pick(w.random, w.letters)
	if m == nil || m.retries != nil {
		return
	}
	ack, err := w.tryPublish(publish{task: m.task, version: 1})
	w.must(err)
	w.note("published task %q once more: duplicate %v", m.task, ack.Duplicate)
	if !ack.Duplicate { // The window has passed: it is a message of its own.
		w.adopt(&mail{task: m.task, key: 1, letter: letter{ack.Stream, ack.Sequence}, unwanted: w.nobodyTakes()})
	}
}

// adopt takes a message in that was stored already.
func (w *life) adopt(m *mail) {
	w.know(func() { w.letters = append(w.letters, m) })
	task := w.task(m.task)
	w.clients.mu.Lock()
	defer w.clients.mu.Unlock()
	w.stored[task] = append(w.stored[task], m.letter)
}

// hire makes the worker's consumer, where there is none.
func (w *life) hire() {
	if w.worker != nil {
		return
	}
	w.wait = time.Duration(700+w.random.IntN(2500)) * time.Millisecond
	w.worker = w.workers(wait(w.wait), atMost(1+w.random.IntN(4)), atOnce(1+w.random.IntN(3)))
	cfg := w.worker.CachedInfo().Config
	w.note("consumer: ack wait %s, at most %d, pending %d", cfg.AckWait, cfg.MaxDeliver, cfg.MaxAckPending)
}

// fire deletes the worker's consumer.
func (w *life) fire() {
	if w.worker == nil || w.random.IntN(3) > 0 {
		return
	}
	w.note("consumer deleted")
	w.know(func() {
		w.held = nil // What is answered from now on has no effect.
		for _, m := range w.letters {
			m.unseen = m.unseen || !m.told && !m.acked && !m.terminated
			m.unclaimed = m.unclaimed || w.land.streams[0].Retention == jetstream.InterestPolicy
			m.told = false // The next consumer delivers it as if for the first time.
			if w.land.streams[0].Retention != jetstream.WorkQueuePolicy {
				m.timely = false // What it acknowledged is there again for the next one, and nothing is left that proves it.
			}
		}
	})
	w.deleteConsumer()
	w.worker = nil
}

func (w *life) pauseWorker() {
	if w.worker == nil {
		return
	}
	until := time.Now().Add(time.Duration(w.random.IntN(1500)) * time.Millisecond)
	w.note("consumer paused until %s", until.Format("05.000"))
	_, err := w.js.PauseConsumer(w.ctx, "TASKS", w.agent+"-task-worker", until)
	w.must(err)
}

func (w *life) changeWait() {
	if w.worker == nil {
		return
	}
	w.wait = time.Duration(700+w.random.IntN(3000)) * time.Millisecond
	n := 1 + w.random.IntN(5)
	w.note("consumer changed: ack wait %s, at most %d", w.wait, n)
	w.worker = w.workers(wait(w.wait), atMost(n), atOnce(1+w.random.IntN(3)))
	for i := range w.held { // Which wait holds for them is not known any more.
		w.held[i].at = time.Time{}
	}
}

// take lets a worker ask for a message.
func (w *life) take() {
	if w.worker == nil {
		return
	}
	w.know(func() { w.pulls++ })
	m := w.tryPull(w.worker, 300*time.Millisecond)
	if m == nil {
		w.note("nothing to pull")
		return
	}
	meta, err := m.Metadata()
	w.must(err)
	of := w.mailAt(meta.Sequence.Stream)
	if of == nil {
		w.must(errors.New("the broker delivers what nobody published"))
	}
	w.know(func() { of.had++ })
	w.held = append(w.held, delivery{Msg: m, of: of, at: time.Now()})
	w.note("delivered %d, attempt %d", meta.Sequence.Stream, meta.NumDelivered)
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
	i := w.random.IntN(len(w.held))
	d = w.held[i]
	w.held = append(w.held[:i:i], w.held[i+1:]...)
	return d, true
}

func (w *life) acknowledge() {
	d, ok := w.answered()
	if !ok {
		return
	}
	meta, err := d.Metadata()
	w.must(err)
	last := int(meta.NumDelivered) == d.of.had || !w.heldElsewhere(d.of)
	timely := time.Since(d.at) < w.wait/2 && last && !d.of.deleted && !d.of.terminated
	w.note("ack of %d, attempt %d, in time: %v", d.of.seq, meta.NumDelivered, timely)
	w.know(func() { d.of.acked, d.of.timely = true, d.of.timely || timely })
	w.ack(d)
}

// heldElsewhere reports whether a worker has a later delivery of the message.
func (w *life) heldElsewhere(m *mail) bool {
	for _, d := range w.held {
		if d.of == m {
			return true
		}
	}
	return false
}

func (w *life) beat() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.note("heartbeat of %d", d.of.seq)
		w.know(func() { d.of.told = true })
		w.heartbeat(d)
	}
}

func (w *life) handBack() {
	if d, ok := w.answered(); ok {
		w.note("nak of %d", d.of.seq)
		w.know(func() { d.of.told = true })
		w.answer(d, "-NAK")
	}
}

func (w *life) giveUp() {
	if w.random.IntN(3) > 0 {
		return
	}
	if d, ok := w.answered(); ok {
		w.note("term of %d", d.of.seq)
		w.know(func() { d.of.terminated = true })
		w.answer(d, "+TERM impossible_task")
	}
}

// crash lets a worker forget what it has.
func (w *life) crash() {
	if d, ok := w.answered(); ok {
		w.note("crash with %d", d.of.seq)
	}
}

func (w *life) idle() { w.works(time.Duration(w.random.IntN(1200)) * time.Millisecond) }

// complete writes the idempotency record of a message that a worker has.
func (w *life) complete() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.note("record of %d", d.of.seq)
		w.know(func() { d.of.recorded = true })
		w.record(d.of.task, map[string]any{
			"idempotencyKey": fmt.Sprintf("%s-%d", w.task(d.of.task), d.of.key), "natsStreamSeq": d.of.seq,
		})
	}
}

// sayCompleted reports the completion of a message that a worker has.
func (w *life) sayCompleted() {
	if d := pick(w.random, w.held); d.Msg != nil {
		w.note("report of %d", d.of.seq)
		w.know(func() { d.of.reported = true })
		id := d.Headers().Get("Nats-Msg-Id")
		w.report(w.agent, "completed", d.of.task, map[string]any{"message_id": id, "status": "completed"})
	}
}

func (w *life) operatorDeletes() {
	m := pick(w.random, w.letters)
	if m == nil || w.random.IntN(2) > 0 || !w.there(m.letter) {
		return
	}
	w.note("operator deletes %d", m.seq)
	w.know(func() { m.deleted = true })
	if err := w.tryDelete(m.letter); err != nil && w.there(m.letter) {
		w.must(err)
	}
}

func (w *life) tryDelete(l letter) error {
	s, err := w.js.Stream(w.ctx, l.stream)
	if err != nil {
		return err
	}
	return s.DeleteMsg(w.ctx, l.seq)
}

func (w *life) operatorPurges() {
	if w.random.IntN(4) > 0 {
		return
	}
	w.note("operator purges")
	w.know(func() {
		for _, m := range w.letters {
			m.deleted = true
		}
	})
	w.purge()
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
		subject := fmt.Sprintf("$JS.ACK.TASKS.%s-task-worker.1.%d.999999.%d.0", w.agent, m.seq, time.Now().UnixNano())
		w.must(w.nc.Publish(subject, []byte("+ACK")))
		w.must(w.nc.FlushTimeout(patience))
	}
}

// pick returns one of some; the zero value of none.
func pick[T any](r *rand.Rand, some []T) (one T) {
	if len(some) > 0 {
		one = some[r.IntN(len(some))]
	}
	return one
}
