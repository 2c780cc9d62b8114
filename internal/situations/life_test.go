//go:build linux

package situations

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// life is what the clients of one random world do, and what they know of it. What they are about to do they note before they do it, so that
// Fleetglass is never ahead of them.
type life struct {
	*clients
	random  *rand.Rand
	land    land
	unheard *atomic.Bool // Whether the stream ever republished nothing, of all worlds of its land.
	diary   []string

	mode     mode
	talks    bool  // Its workers report what they do.
	asCrew   bool  // They report as the agents that their consumers are named after.
	grave    bool  // Its messages die soon, and somebody decides about them.
	worker   *crew // Nil while there is none.
	partner  *crew // A second workers' consumer; nil until it comes.
	auditors map[string]jetstream.Consumer
	held     []delivery
	unpaused time.Time // When the consumers that were paused go on.

	taps *nats.Subscription // To what the stream stores; nil where Fleetglass comes later.
	feed *feed              // What its stream of changes says; nil where Fleetglass comes later or is killed.

	mu       sync.Mutex
	decided  []decision // Through Fleetglass, about dead messages.
	many     []string   // The operations by which somebody decided about many at once.
	released int        // How often somebody handed back what a worker had.
	outlook  string     // What was said last of an operation that was waited for.
	trail    string     // From which events a message is called unknown, where the clients do not know why.
	letters  []*mail
	pulls    int             // How often a worker asked for a message, or was sent one without asking.
	empty    int             // How often one who asked got nothing, or may not have got what was sent.
	fewest   int             // The fewest attempts that a consumer ever allowed.
	said     map[work]saying // How its completion is told.
	sayings  map[string]int  // By task: how often that was told.
	repeats  map[string]int  // By task: how many acknowledged deliveries began when that was said already.
	keyed    map[string]int  // Those of them whose worker asked, and whose message has a key, by which it can tell.
	redone   map[string]int  // By task: how often a worker said that it works on what is done already.
	sends    bool            // The broker sends to workers who do not ask, at times of its own.

	swallowed map[string]int // By task: how many publishes its stream swallowed as duplicates, or may have by now.
	slandered bool           // Another agent reported, or is about to.
	surprised error          // Where the broker did not do next what was told.
	renewed   bool           // A workers' consumer was made anew or reset, or is about to be.
}

// delivery is a message that a worker has and did not answer.
type delivery struct {
	jetstream.Msg
	of *mail
	by *crew
	at time.Time

	asked   time.Time // When its worker asked; zero where the broker sends.
	deed    *deed
	repeats bool // Its completion was recorded or reported before it began.
}

// mail is a stored message with what its clients know of it.
type mail struct {
	letter
	task    string
	kind    string
	key     int // Version of its idempotency key.
	retries *mail

	byGlass    bool                 // Fleetglass published it.
	stored     [2]time.Time         // It was published after the first, and stored before the second; zero where another than a client published it.
	since      map[string]time.Time // By state: since when it may be called so.
	deeds      []*deed              // What its workers did with each delivery that they got.
	had        int                  // How often a worker got it.
	open       map[string]bool      // Whether the worker that got it last from a consumer owes its answer.
	idle       bool                 // A record was written by a worker that had handed it back.
	overdue    bool                 // One was written by a worker whose wait was over.
	lasts      time.Duration        // Its own time to live; zero for none.
	expires    time.Time            // When its stream drops it; zero for never.
	told       bool                 // A worker said something about it while its consumer was there.
	unseen     bool                 // Its consumer was deleted before anything was said of it: nothing may have shown that a worker had it.
	acked      bool                 // A worker acknowledged it, or is about to.
	done       bool                 // A worker acknowledged it in time, whatever came later.
	timely     bool                 // The acknowledgement came in time, by the worker that got it last, from a consumer that was there.
	terminated bool                 // A worker gave it up, or is about to.
	recorded   bool                 // Its completion was recorded while it was in the stream, or is about to be.
	late       bool                 // Its completion was recorded after it left, or is about to be: that completes nothing.
	reported   bool                 // Likewise reported.
	misnamed   bool                 // A record of a version that nobody published names it, or is about to: that completes nothing.
	deleted    bool                 // An operator or a limit removed it, or is about to.
	struck     bool                 // It was an operator, or is about to be.
	crowded    bool                 // It was a limit, or is about to be.
	beatAt     time.Time            // When a worker sent its latest heartbeat; zero where none did.
	purged     bool                 // It went with a purge, of which no line tells.
	unclaimed  bool                 // Its consumer was deleted, so that a stream with Interest retention kept it only for an auditor, if there was one.
	watched    bool                 // Only auditors took it when it was published, so that a stream with Interest retention dropped it with their answer.
	unasked    bool                 // It was given to a worker from whom its consumer awaits no answer, or may have been.
	swept      bool                 // A worker acknowledged a later one, of a consumer for which that acknowledges all before it.
	passed     bool                 // A workers' consumer came that begins after it.
	leftOut    bool                 // The worker's consumer took other subjects while it waited.
	gone       bool                 // In the end it is not in the stream.
	unwanted   bool                 // Nobody took its subject when it was published, so that a stream with Interest retention did not keep it.
}

// unnamed is the cause of which the clients know nothing.
const unnamed = "other"

// whyUnknown is what could explain that its outcome is called unknown.
func (m *mail) whyUnknown() string {
	switch {
	case m.deleted && m.had > 0:
		return "removed while a worker had it, or after"
	case m.deleted:
		return "removed, and no worker is known to have had it"
	case m.timely:
		return "acknowledged in time"
	case m.swept:
		return "acknowledged with a later one"
	case m.acked:
		return "acknowledged late"
	case m.unasked:
		return "its consumer awaits no answer"
	case m.passed:
		return "its consumer began after it"
	case m.leftOut && m.had == 0:
		return "its consumer looked past it while it took other subjects"
	case m.unclaimed && m.gone:
		return "dropped by its stream with its consumer"
	case m.watched && m.gone:
		return "dropped by its stream with the answer of who only watches: no workers' consumer was there"
	case !m.expires.IsZero() && m.gone && m.had > 0:
		return "dropped by its age while a worker had it, or after"
	case !m.expires.IsZero() && m.gone:
		return "dropped by its age, and no worker is known to have had it"
	}
	return unnamed
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
	for _, m := range w.letters {
		m.mayBe("completed", m.acked || m.recorded || m.reported || m.late || m.swept)
		m.mayBe("terminated", m.terminated)
	}
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
	w.tap()
	w.grave = w.glass != nil && w.random.IntN(2) == 0
	if w.random.IntN(3) == 0 {
		w.pool = w.agent + "-pool"
	}
	w.asCrew = w.random.IntN(2) == 0
	w.hire()
	w.post("", nil)
	steps, most := w.steps(), 14
	if w.grave {
		steps, most = w.graveSteps(), 24
	}
	w.talks = w.random.IntN(2) == 0
	for range 6 + w.random.IntN(most) {
		steps[w.random.IntN(len(steps))]()
		if w.talks {
			w.talk()
		}
		w.hear()
		w.receive()
	}
	w.works(time.Until(w.unpaused)) // A consumer that awaits no answers would let go of more.
	w.awaitDecisions()
	w.dropped()
	for _, by := range w.crews() {
		w.noteState(by)
	}
	w.note("the end")
	w.know(func() {
		for _, m := range w.letters {
			m.gone = w.left(m)
		}
	})
}

// dropped waits until the stream has dropped what it drops, before anybody looks. A busy broker stores later than its client asks, and drops late.
func (w *life) dropped() {
	for _, m := range w.letters {
		w.works(time.Until(m.expires.Add(time.Second)))
		if !m.expires.IsZero() && m.seq != 0 {
			w.until("the stream drops what is too old", func() bool { return !w.there(m.letter) })
		}
	}
}

// steps are what may happen next; what is there more than once happens more often.
func (w *life) steps() []func() {
	steps := []func(){
		w.take, w.take, w.take, w.takeSome, w.acknowledge, w.acknowledge, w.acknowledge, w.beat, w.beat, w.handBack, w.giveUp, w.crash,
		w.complete, w.complete, w.sayCompleted, w.idle, w.idle, w.another, w.again, w.again, w.repeat, w.operatorDeletes, w.operatorPurges,
		w.handBackLater, w.acknowledgeTwice, w.acknowledgeBoth, w.completeAnother, w.recordLater, w.recordAgain, w.forgetRecord, w.decide, w.decide, w.decide, w.operatorRepublishes, w.completeAmidOthers, w.completeAmidOthers, w.completeAndCrash, w.completeAndCrash, w.release, w.release, w.release, w.release, w.fire, w.hire, w.hire, w.resetWorker, w.pauseWorker, w.changeWait, w.changeBackoff, w.changeKinds, w.changeKinds, w.audit, w.hirePartner, w.foreign, w.slander, w.leave, w.comeBack,
	}
	if *withForgery {
		steps = append(steps, w.forge)
	}
	return steps
}

// post publishes a message of a task.
func (w *life) post(task string, of *mail) {
	p := publish{task: task, version: 1}
	m := &mail{task: task, kind: w.kind(), key: 1, retries: of}
	if of != nil {
		m.kind = of.kind
		n := w.generations(task)
		if m.key = of.key; w.random.IntN(2) == 0 {
			m.key++
		}
		p.version, p.id, p.header = m.key, fmt.Sprintf("%s:r%d", w.task(task), n+20*len(w.decided)), retryOf(of.letter, n)
	}
	w.store(p, m)
}

// store publishes a new message.
func (w *life) store(p publish, m *mail) {
	p.kind = m.kind
	w.crowds(m.kind)
	w.lives(&p, m)
	m.unwanted, m.watched = w.nobodyTakes(m.kind), w.nobodyWorks(m.kind)
	w.know(func() { w.letters, m.stored[0] = append(w.letters, m), time.Now() })
	l := w.publish(p)
	w.know(func() { m.letter, m.stored[1] = l, time.Now() })
	w.note("published %s:%d, task %q, %s, key %d", m.stream, m.seq, m.task, m.kind, m.key)
}

// crowds notes which message its stream drops for the next one, where it keeps only so many of a subject.
func (w *life) crowds(kind string) {
	limit := int(w.land.streams[0].MaxMsgsPerSubject)
	if limit == 0 {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return m.kind != kind || m.deleted || !w.there(m.letter) })
	slices.SortFunc(kept, func(a, b *mail) int { return cmp.Compare(a.seq, b.seq) })
	if len(kept) >= limit {
		w.note("the limit drops %d", kept[0].seq)
		w.know(func() { kept[0].deleted, kept[0].crowded = true, true })
	}
}

// lives notes when the stream drops a message that is about to be published.
func (w *life) lives(p *publish, m *mail) {
	ttl := ""
	if w.land.streams[0].AllowMsgTTL {
		ttl = pick(w.random, []string{"", "", "never", "2", "3", "5"})
	}
	if ttl != "" {
		if p.header == nil {
			p.header = nats.Header{}
		}
		p.header.Set("Nats-TTL", ttl)
	}
	w.grows(m, ttl)
}

// grows notes when the stream drops a message that is stored now, with a Nats-TTL or without.
func (w *life) grows(m *mail, ttl string) {
	age := w.land.streams[0].MaxAge
	if n, err := strconv.Atoi(ttl); err == nil {
		own := time.Duration(n) * time.Second
		m.lasts, m.expires = own, time.Now().Add(own)
	}
	if age > 0 && ttl != "never" && (m.lasts == 0 || age < m.lasts) {
		m.expires = time.Now().Add(age)
	}
}

// expired reports whether the stream may have dropped the message by its age.
func (m *mail) expired(now time.Time) bool {
	return !m.expires.IsZero() && now.After(m.expires.Add(-500*time.Millisecond))
}

// nobodyTakes reports whether the stream keeps nothing that is published now, because no consumer is interested.
func (w *life) nobodyTakes(kind string) bool { return w.nobodyWorks(kind) && len(w.auditors) == 0 }

// nobodyWorks reports whether the stream keeps what is published now for nobody but auditors.
func (w *life) nobodyWorks(kind string) bool {
	return w.land.streams[0].Retention == jetstream.InterestPolicy && !w.worker.takes(kind) && !w.partner.takes(kind)
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
	if m == nil || m.retries != nil || m.task == "foreign" {
		return
	}
	w.crowds(m.kind)
	w.know(func() { w.swallowed[m.task]++ })
	ack, err := w.tryPublish(publish{task: m.task, kind: m.kind, version: 1})
	w.must(err)
	w.note("published task %q once more: duplicate %v", m.task, ack.Duplicate)
	if !ack.Duplicate { // The window has passed: it is a message of its own.
		w.know(func() { w.swallowed[m.task]-- })
		again := &mail{task: m.task, kind: m.kind, key: 1, letter: letter{ack.Stream, ack.Sequence}, unwanted: w.nobodyTakes(m.kind), watched: w.nobodyWorks(m.kind)}
		w.grows(again, "")
		w.adopt(again)
	}
}

// foreign publishes as somebody does who does not know the contract: without a message id and without an idempotency key, of a task of its own or of one that is there.
func (w *life) foreign() {
	if len(w.letters) >= 6 {
		return
	}
	task := "foreign"
	if w.random.IntN(2) == 0 {
		task = pick(w.random, w.letters).task
	}
	w.note("somebody foreign publishes")
	w.store(publish{task: task, header: nats.Header{"Nats-Msg-Id": nil, "X-Idempotency-Key": nil}}, &mail{task: task, kind: w.kind(), key: 1})
}

// adopt takes a message in that was stored already.
func (w *life) adopt(m *mail) {
	w.know(func() { w.letters = append(w.letters, m) })
	task := w.task(m.task)
	w.clients.mu.Lock()
	defer w.clients.mu.Unlock()
	w.stored[task] = append(w.stored[task], m.letter)
}

func (w *life) idle() { w.works(time.Duration(w.random.IntN(1200)) * time.Millisecond) }

func (w *life) operatorDeletes() {
	m := pick(w.random, w.letters)
	if m == nil || w.random.IntN(2) > 0 || !w.there(m.letter) {
		return
	}
	w.note("operator deletes %d", m.seq)
	w.know(func() { m.deleted, m.struck = true, true })
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
			m.deleted, m.struck, m.purged = true, true, true
		}
	})
	w.purge()
}

// operatorRepublishes changes what of its messages the stream republishes: all, their headers, or nothing while Fleetglass does not watch.
func (w *life) operatorRepublishes() {
	how := []string{"all", "headers"}
	if w.mode == afterwards {
		how = append(how, "nothing")
	}
	what := pick(w.random, how)
	if w.random.IntN(4) > 0 {
		return
	}
	w.note("the stream is to republish %s", what)
	if what == "nothing" {
		w.unheard.Store(true)
	}
	w.changeStream(func(cfg *jetstream.StreamConfig) {
		cfg.RePublish = &jetstream.RePublish{Source: allTasks, Destination: "obs.pub.{{wildcard(1)}}.>", HeadersOnly: what == "headers"}
		if what == "nothing" {
			cfg.RePublish = nil
		}
	})
}

// pick returns one of some; the zero value of none.
func pick[T any](r *rand.Rand, some []T) (one T) {
	if len(some) > 0 {
		one = some[r.IntN(len(some))]
	}
	return one
}
