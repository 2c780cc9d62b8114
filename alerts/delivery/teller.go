package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Store is what is read, and where it is noted who was told.
type Store interface {
	alerts.NoticeStore
	// Board is that of [alerts.BoardStore].
	Board(ctx context.Context, resolvedSince lifecycle.Micros) (alerts.Board, error)
}

// Receiver is somebody who is told.
type Receiver interface {
	// Name names the receiver for people, and in the store. It holds no secret.
	Name() string
	// Batch is how many notices it takes at once.
	Batch() int
	// Again is how often it is told what stands, also without news; zero for never.
	Again() time.Duration
	// Tell tells it of notices, in order. It returns what the receiver answered.
	Tell(ctx context.Context, news []alerts.Notice, standing []alerts.Standing, now time.Time) (answer string, err error)
}

// Config says who is told.
type Config struct {
	Store     Store            // Required.
	Receivers []Receiver       // Required.
	Every     time.Duration    // Optional; how often is looked for news, default 1 s.
	Lease     time.Duration    // Optional; how long one replica tells a receiver before another may, default 30 s.
	Pause     time.Duration    // Optional; after a failure, doubled with each one, default 1 s.
	MostPause time.Duration    // Optional; the longest pause, default 1 min.
	GiveUp    time.Duration    // Optional; how old a notice may be before a receiver that fails misses it, default 24 h.
	Now       func() time.Time // Optional; default time.Now.
	Log       *slog.Logger     // Optional; default discards.
}

// Teller tells all receivers.
type Teller struct {
	cfg    Config
	holder string
	ways   []*way
}

// New checks the configuration and connects to nothing.
func New(cfg Config) (*Teller, error) {
	if cfg.Store == nil {
		return nil, errors.New("delivery: Config.Store is required")
	}
	for to, value := range map[*time.Duration]time.Duration{&cfg.Every: time.Second, &cfg.Lease: 30 * time.Second, &cfg.Pause: time.Second, &cfg.MostPause: time.Minute, &cfg.GiveUp: 24 * time.Hour} {
		if *to == 0 {
			*to = value
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Teller{cfg: cfg, holder: rand.Text()}
	for _, r := range cfg.Receivers {
		t.ways = append(t.ways, &way{cfg: cfg, holder: t.holder, to: r, part: health.Part{Name: r.Name(), Kind: "receiver", State: health.OK}})
	}
	return t, nil
}

// Health says how the receivers are. One that fails is behind, not down: Fleetglass itself works.
func (t *Teller) Health() (out []health.Part) {
	for _, w := range t.ways {
		w.mu.Lock()
		out = append(out, w.part)
		w.mu.Unlock()
	}
	return out
}

// Run tells until ctx is done and returns nil. Receivers do not wait for each other.
func (t *Teller) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, w := range t.ways {
		all.Go(func() { w.run(ctx) })
	}
	all.Wait()
	return nil
}

// way is how far one receiver is told.
type way struct {
	cfg    Config
	holder string
	to     Receiver

	fails int
	next  time.Time // Not before this.
	told  time.Time // When it was told last.

	mu   sync.Mutex
	part health.Part
}

func (w *way) run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		w.report(ctx, w.turn(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// turn tells what is new, where this replica is the one who does.
func (w *way) turn(ctx context.Context) error {
	now := w.cfg.Now()
	if now.Before(w.next) {
		return nil
	}
	at := lifecycle.MicrosOf(now)
	r, mine, err := w.cfg.Store.ClaimReceiver(ctx, alerts.ReceiverClaim{Name: w.to.Name(), Holder: w.holder, Now: at, Until: at.Add(w.cfg.Lease)})
	if err != nil || !mine {
		return err
	}
	for ctx.Err() == nil {
		news, err := w.cfg.Store.Notices(ctx, r.Position, w.to.Batch())
		if err != nil {
			return err
		}
		again := w.to.Again() > 0 && w.cfg.Now().Sub(w.told) >= w.to.Again()
		if len(news) == 0 && !again {
			return nil
		}
		if r, err = w.tell(ctx, r, news); err != nil {
			return err
		}
		if len(news) < w.to.Batch() || w.cfg.Now().Sub(now) > w.cfg.Lease/2 {
			return nil
		}
	}
	return nil
}

// tell tells a receiver of notices once, and notes what came of it.
func (w *way) tell(ctx context.Context, r alerts.Receiver, news []alerts.Notice) (alerts.Receiver, error) {
	now := w.cfg.Now()
	at := lifecycle.MicrosOf(now)
	b, err := w.cfg.Store.Board(ctx, at)
	if err != nil {
		return r, err
	}
	answer, failed := w.to.Tell(ctx, news, b.Standings(at), now)
	if ctx.Err() != nil {
		return r, nil // The program stops: what was told meanwhile is told again.
	}
	status, detail := alerts.DeliveryDone, answer
	if failed != nil {
		status, detail = alerts.DeliveryFailed, failed.Error()
		w.fails++
		w.next = now.Add(min(w.cfg.Pause<<min(w.fails-1, 10), w.cfg.MostPause))
		if len(news) > 0 && at.Sub(news[0].At) > w.cfg.GiveUp {
			status = alerts.DeliveryGone
		}
	} else {
		w.fails, w.told = 0, now
	}
	var tries []alerts.Delivery
	for _, n := range news {
		tries = append(tries, alerts.Delivery{To: r.Name, Seq: n.Seq, Alert: n.Alert.ID, At: at, Status: status, Detail: detail})
	}
	if len(news) > 0 && status != alerts.DeliveryFailed {
		r.Position = news[len(news)-1].Seq
	}
	if len(tries) > 0 {
		if err := w.cfg.Store.Delivered(ctx, r, tries); err != nil && !errors.Is(err, alerts.ErrTakenOver) {
			return r, errors.Join(failed, err)
		}
	}
	return r, failed
}

func (w *way) report(ctx context.Context, err error) {
	if ctx.Err() != nil || (err == nil && w.fails > 0) { // It waits for its next try.
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.part.State, w.part.Detail, w.part.LastAt = health.OK, "", w.cfg.Now()
		return
	}
	if w.part.State == health.OK {
		w.cfg.Log.Warn("an alert could not be delivered; it is tried again", "receiver", w.to.Name(), "error", err)
	}
	w.part.State, w.part.Detail = health.Behind, fmt.Sprintf("it is not told of alerts: %v", err)
}
