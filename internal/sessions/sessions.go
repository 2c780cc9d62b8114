package sessions

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetglass/access"
	"fleetglass/lifecycle"
)

// DefaultLife is how long a session lasts where the configuration does not say.
const DefaultLife = 12 * time.Hour

const (
	// followEvery is how often the sessions of the store are read: who signs out in one replica is signed out in all soon after.
	followEvery = time.Second
	// unknownEvery bounds how often cookies that nobody knows make the store be read in between.
	unknownEvery = 50 * time.Millisecond
	// secretLength is that of a cookie's value.
	secretLength = 52
)

// Config says how long sessions last and what ends them early.
type Config struct {
	Tokens *access.Tokens   // Required. A session that began with a token ends with it.
	Secure bool             // Optional; the cookie travels by HTTPS only.
	Life   time.Duration    // Optional; default [DefaultLife].
	Now    func() time.Time // Optional; default time.Now.

	Store access.SessionStore // Optional; where all replicas find the sessions. Without it they are those of this process.
	Log   *slog.Logger        // Optional; default discards.
}

// Sessions are the sessions of people who signed in. It is safe for concurrent use.
type Sessions struct {
	cfg    Config
	cookie string // Name of the cookie.

	unknown *rate.Limiter

	mu  sync.Mutex
	all map[string]*session // By the hash of the cookie's value: what is in memory signs nobody in.
}

// session is one browser in which somebody signed in.
type session struct {
	owner access.Principal
	until time.Time
	known time.Time     // Since when this process knows it, by its own clock.
	done  chan struct{} // Closed when the session ends early.
}

// New returns an empty set of sessions.
func New(cfg Config) *Sessions {
	if cfg.Life == 0 {
		cfg.Life = DefaultLife
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sessions{cfg: cfg, cookie: "fleetglass_session", unknown: rate.NewLimiter(rate.Every(unknownEvery), 20), all: map[string]*session{}}
	if cfg.Secure {
		s.cookie = "__Host-" + s.cookie // Browsers then take it from this host alone.
	}
	return s
}

// Begin signs somebody in. The browser gets a new cookie, whatever cookie it came with, so that nobody can prepare one. It errors where the
// session cannot be stored, and then nobody is signed in.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request, who access.Principal) error {
	secret := rand.Text() + rand.Text() // 256 bits.
	who.Session = access.Hash(secret)
	until := s.cfg.Now().Add(s.cfg.Life)
	if s.cfg.Store != nil {
		stored := access.StoredSession{ID: who.Session, Name: who.Name, Token: who.Token, Scopes: who.Scopes, Until: lifecycle.MicrosOf(until)}
		if err := s.cfg.Store.AddSession(r.Context(), stored); err != nil {
			return fmt.Errorf("begin session: %w", err)
		}
	}
	if err := s.remove(r.Context(), s.named(r)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.all[who.Session] = newSession(who, until)
	http.SetCookie(w, s.newCookie(secret, int(s.cfg.Life.Seconds())))
	return nil
}

func newSession(who access.Principal, until time.Time) *session {
	return &session{owner: who, until: until, known: time.Now(), done: make(chan struct{})}
}

// forget drops the sessions whose time is over. The lock is held.
func (s *Sessions) forget() {
	now := s.cfg.Now()
	for id, old := range s.all {
		if !now.Before(old.until) {
			delete(s.all, id)
		}
	}
}

// End signs the owner of the request's session out: the session, in all replicas, the browser's cookie, and what goes on with the session.
// Without a session it only clears the cookie. It errors where the store still has the session.
func (s *Sessions) End(w http.ResponseWriter, r *http.Request) error {
	if err := s.remove(r.Context(), s.named(r)); err != nil {
		return err
	}
	http.SetCookie(w, s.newCookie("", -1))
	return nil
}

// remove ends a session in the store and here.
func (s *Sessions) remove(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	if s.cfg.Store != nil {
		if err := s.cfg.Store.RemoveSession(ctx, id); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id)
	return nil
}

// Owner returns who has the session of a request. ok is false where there is none, where it ended, and where the token that it began with
// ended or lost what it allowed.
func (s *Sessions) Owner(r *http.Request) (who access.Principal, ok bool) {
	id := s.named(r)
	if id == "" {
		return access.Principal{}, false
	}
	found := s.find(id)
	if found == nil && s.cfg.Store != nil && s.unknown.Allow() { // It may have begun in another replica.
		s.follow(r.Context())
		found = s.find(id)
	}
	if found == nil || !s.cfg.Now().Before(found.until) || !s.cfg.Tokens.Lasts(found.owner) {
		return access.Principal{}, false
	}
	return found.owner, true
}

// Until is when the session of a principal ends by itself. ok is false for a principal without one.
func (s *Sessions) Until(who access.Principal) (until time.Time, ok bool) {
	if found := s.find(who.Session); found != nil {
		return found.until, true
	}
	return time.Time{}, false
}

func (s *Sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// Run follows the sessions of the store until ctx is done. Without a store it returns at once.
func (s *Sessions) Run(ctx context.Context) error {
	if s.cfg.Store == nil {
		return nil
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		s.follow(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow takes over what the store knows. While it does not answer, everything stays as it was.
func (s *Sessions) follow(ctx context.Context) {
	began := time.Now()
	stored, err := s.cfg.Store.StoredSessions(ctx, lifecycle.MicrosOf(s.cfg.Now()))
	if err != nil {
		s.cfg.Log.DebugContext(ctx, "sessions stay as they are", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[string]bool, len(stored))
	for _, n := range stored {
		there[n.ID] = true
		if s.all[n.ID] == nil {
			s.all[n.ID] = newSession(n.Principal(), n.Until.Time())
		}
	}
	for id, old := range s.all {
		if !there[id] && old.known.Before(began) { // One that began since may not have been read yet.
			s.end(id)
		}
	}
}

// Hold returns a context that ends when the principal's session ends. A principal without a session is held by nothing. The caller calls
// release when what it does is over.
func (s *Sessions) Hold(ctx context.Context, who access.Principal) (held context.Context, release context.CancelFunc) {
	if who.Session == "" {
		return context.WithCancel(ctx)
	}
	found := s.find(who.Session)
	if found == nil { // It ended since the request was let in.
		held, release = context.WithCancel(ctx)
		release()
		return held, release
	}
	held, release = context.WithTimeout(ctx, found.until.Sub(s.cfg.Now()))
	go func() {
		select {
		case <-found.done:
			release()
		case <-held.Done():
		}
	}()
	return held, release
}

// end ends a session early. The lock is held.
func (s *Sessions) end(id string) {
	if found := s.all[id]; found != nil {
		close(found.done)
		delete(s.all, id)
	}
}

// named is the id of the session that a request's cookie names, whether or not there is one; empty where it cannot name any.
func (s *Sessions) named(r *http.Request) string {
	cookie, err := r.Cookie(s.cookie)
	if err != nil || len(cookie.Value) != secretLength {
		return ""
	}
	return access.Hash(cookie.Value)
}

func (s *Sessions) newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.cfg.Secure,
	}
}
