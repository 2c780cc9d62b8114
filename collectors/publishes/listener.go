package publishes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

const (
	// feedTolerance is how far the latest attempt may lie behind the latest stored message while OBS_RAW is believed to be fed.
	feedTolerance = 5 * time.Second
	// feedLag is how far it lies behind where both are recorded at once. Beyond that attempts are heard already, for the case that nothing records them.
	feedLag = 250 * time.Millisecond
	// maxHeld bounds the attempts that wait to be stored.
	maxHeld = 20_000
	// subscribePatience is how long the broker may take to know a subscription.
	subscribePatience = 5 * time.Second
)

// listener hears publish attempts on the task subjects, through a queue group that replicas share, while nothing feeds OBS_RAW. What it
// hears is held for one interval and dropped when OBS_RAW turns out to have recorded it, so that no attempt counts twice.
type listener struct {
	cfg    AttemptsConfig
	now    func() time.Time
	logger *slog.Logger
	sub    *nats.Subscription // Nil while OBS_RAW is fed.

	mu      sync.Mutex
	held    []lifecycle.Event
	raw     time.Time // When the OBS_RAW was created that may have recorded what is held; zero for none.
	dropped uint64
	handled uint64
	failure string
	on      bool          // It listens because OBS_RAW is not fed, not only because it may not be.
	waits   bool          // No publish was seen yet, so nobody knows whether OBS_RAW is fed.
	window  time.Duration // Within which OBS_RAW leaves out what is published again under its message id; zero for never.
	lastAt  time.Time
}

// What is said while attempts are only heard.
const (
	saysUnfed = "nothing feeds " + fleet.CaptureRaw + ": publish attempts are seen only while Fleetglass runs; fleetglass provision prints the import that is missing"
	saysWaits = "no publish was seen yet, so it is not known whether " + fleet.CaptureRaw + " records them; until it does, Fleetglass listens for them itself"
)

// feed says whether OBS_RAW records attempts.
type feed int

const (
	fed feed = iota
	doubtful
	unfed
)

func newListener(cfg AttemptsConfig) *listener {
	if cfg.Check <= 0 {
		cfg.Check = time.Second
	}
	l := &listener{cfg: cfg, now: cfg.Now, logger: cfg.Logger}
	if l.now == nil {
		l.now = time.Now
	}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	return l
}

func (l *listener) run(ctx context.Context) error {
	tick := time.NewTicker(l.cfg.Check)
	defer tick.Stop()
	for {
		if err := l.round(ctx); err != nil && ctx.Err() == nil {
			l.note(err.Error())
			l.logger.Warn("listen for publishes", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return l.finish(context.WithoutCancel(ctx))
		}
	}
}

// round decides whether to listen, and stores or drops what was heard since the last round.
func (l *listener) round(ctx context.Context) error {
	state, err := l.feed(ctx)
	if err != nil {
		return err
	}
	if state == fed {
		defer l.drop()
		return l.silence()
	}
	if err := l.listen(ctx); err != nil {
		return err
	}
	if l.sure(state == unfed); state == doubtful {
		return nil
	}
	upTo := lifecycle.MicrosOf(l.now().Add(-l.cfg.Check / 2))
	if l.firstHeld().Known() && !l.cfg.Barrier.Pause(ctx, 0) {
		return nil
	}
	return l.flush(ctx, upTo)
}

// feed looks whether OBS_RAW records attempts: its last line is not much older than the last stored message, nor than the first
// attempt that was heard and is still held.
func (l *listener) feed(ctx context.Context) (feed, error) {
	capture, err := l.state(ctx, fleet.CaptureRaw)
	if err != nil {
		return unfed, err
	}
	l.follow(capture)
	stored, err := l.state(ctx, fleet.CapturePub)
	if err != nil {
		return unfed, err
	}
	raw, pub := capture.State, stored.State
	if raw.LastSeq == 0 {
		l.wait(!capture.Created.IsZero() && pub.LastSeq == 0 && !l.firstHeld().Known())
		return unfed, nil
	}
	l.wait(false)
	behind := pub.LastTime.Sub(raw.LastTime)
	first := l.firstHeld()
	switch {
	case first.Known() && raw.LastTime.Before(first.Time().Add(-feedTolerance/5)), !first.Known() && pub.LastSeq > 0 && behind > feedTolerance:
		return unfed, nil
	case !first.Known() && pub.LastSeq > 0 && behind > feedLag:
		return doubtful, nil
	}
	return fed, nil
}

// sure notes whether it is known that nothing records attempts.
func (l *listener) sure(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = on
}

// wait notes whether OBS_RAW has had nothing to record yet.
func (l *listener) wait(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = on
}

// follow takes over how OBS_RAW is. What is held is forgotten where the OBS_RAW that may have recorded it is gone: nobody can tell any more, and an
// attempt must not count twice.
func (l *listener) follow(raw jetstream.StreamInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.raw.IsZero() && !raw.Created.Equal(l.raw) {
		l.held = nil
	}
	l.raw, l.window = raw.Created, raw.Config.Duplicates
}

// state is that of a capture stream; zero when it does not exist.
func (l *listener) state(ctx context.Context, name string) (jetstream.StreamInfo, error) {
	stream, err := l.cfg.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return jetstream.StreamInfo{}, nil
	}
	if err != nil {
		return jetstream.StreamInfo{}, fmt.Errorf("read stream %s: %w", name, err)
	}
	return *stream.CachedInfo(), nil
}

// listen subscribes where it does not yet, and returns when the broker knows it: what is published from then on is heard.
func (l *listener) listen(ctx context.Context) error {
	if l.sub != nil && l.sub.IsValid() {
		return nil
	}
	conn := l.cfg.JetStream.Conn()
	sub, err := conn.QueueSubscribe(l.cfg.Contract.TaskSubjects(), collectors.DurableName(l.cfg.Durable, SourceAttempts), l.hear)
	if err != nil {
		return fmt.Errorf("subscribe to tasks: %w", err)
	}
	l.sub = sub
	ctx, cancel := context.WithTimeout(ctx, subscribePatience)
	defer cancel()
	if err := conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("subscribe to tasks: %w", errors.Join(err, l.silence()))
	}
	l.note("")
	return nil
}

func (l *listener) silence() error {
	if l.sub == nil {
		return nil
	}
	sub := l.sub
	l.sub = nil
	l.mu.Lock()
	l.on = false
	l.mu.Unlock()
	if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrBadSubscription) && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("unsubscribe from tasks: %w", err)
	}
	return nil
}

// hear holds one attempt. It runs on the subscription's goroutine.
func (l *listener) hear(m *nats.Msg) {
	at := lifecycle.MicrosOf(l.now())
	e, ok := l.read(m)
	if !ok {
		return
	}
	e.At, e.Source = at, "live"
	e.ID = lifecycle.NewEventID("live", e.Detail.MsgID, m.Subject, strconv.FormatInt(int64(at), 10))
	e.Detail.BestEffort = true
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) >= maxHeld {
		l.dropped++
		return
	}
	l.held = append(l.held, e)
}

func (l *listener) read(m *nats.Msg) (e lifecycle.Event, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			l.logger.Error("decoder panicked", "subject", m.Subject, "panic", p)
		}
	}()
	return attempt(l.cfg.Contract, m.Subject, m.Header, m.Data)
}

// flush stores what was heard up to a time; OBS_RAW has had the time since then to show that it recorded it too. What the store refuses
// is held and tried again in the next round.
func (l *listener) flush(ctx context.Context, upTo lifecycle.Micros) error {
	heard := l.heard(upTo)
	if len(heard) > 0 {
		b := lifecycle.Batch{Events: heard}
		collectors.MakeStorable(&b)
		if _, err := l.cfg.Appender.Append(ctx, b); err != nil {
			return fmt.Errorf("store heard publishes: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append([]lifecycle.Event(nil), l.held[len(heard):]...)
	l.handled += uint64(len(heard))
	l.lastAt, l.failure = l.now(), ""
	return nil
}

func (l *listener) heard(upTo lifecycle.Micros) []lifecycle.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.held) && l.held[n].At <= upTo {
		n++
	}
	return append([]lifecycle.Event(nil), l.held[:n]...)
}

func (l *listener) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = nil
}

func (l *listener) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if l.sub == nil {
		return nil
	}
	if err := l.silence(); err != nil {
		return err
	}
	if state, err := l.feed(ctx); err != nil || state == fed {
		return err
	}
	return l.flush(ctx, lifecycle.MicrosOf(l.now()))
}

func (l *listener) firstHeld() lifecycle.Micros {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) == 0 {
		return 0
	}
	return l.held[0].At
}

func (l *listener) note(failure string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = failure
}

// health is the part shown while attempts are only heard.
func (l *listener) health() (health.Part, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := health.Part{Name: SourceAttempts, Kind: "collector", State: health.BestEffort, LastAt: l.lastAt, Handled: l.handled,
		Detail: saysUnfed}
	if l.waits && l.handled == 0 {
		p.Detail = saysWaits
	}
	if l.dropped > 0 {
		p.Detail += "; " + strconv.FormatUint(l.dropped, 10) + " were dropped"
	}
	if l.failure != "" {
		p.State, p.Detail = health.Down, l.failure
	}
	return p, l.on
}

// leavesOut says which attempts OBS_RAW does not record although it is fed; empty for none.
func (l *listener) leavesOut() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.window == 0 {
		return ""
	}
	return fmt.Sprintf("%s leaves out what is published again under its message id within %s: duplicates that the stream caught then are not counted; "+
		"a nats-server from 2.14 on records them once fleetglass provision --apply was run", fleet.CaptureRaw, lifecycle.Lasting(l.window))
}
