package sessions

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"fleetglass/access"
)

// DefaultLife is how long a session lasts where the configuration does not say.
const DefaultLife = 12 * time.Hour

// Config says how long sessions last and what ends them early.
type Config struct {
	Tokens *access.Tokens   // Required. A session that began with a token ends with it.
	Secure bool             // Optional; the cookie travels by HTTPS only.
	Life   time.Duration    // Optional; default [DefaultLife].
	Now    func() time.Time // Optional; default time.Now.
}

// Sessions are the sessions of people who signed in. It is safe for concurrent use.
type Sessions struct {
	cfg    Config
	cookie string // Name of the cookie.

	mu  sync.Mutex
	all map[string]*session // By the hash of the cookie's value: what is in memory signs nobody in.
}

// session is one browser in which somebody signed in.
type session struct {
	owner access.Principal
	until time.Time
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
	s := &Sessions{cfg: cfg, cookie: "fleetglass_session", all: map[string]*session{}}
	if cfg.Secure {
		s.cookie = "__Host-" + s.cookie // Browsers then take it from this host alone.
	}
	return s
}

// Begin signs somebody in. The browser gets a new cookie, whatever cookie it came with, so that nobody can prepare one.
func (s *Sessions) Begin(w http.ResponseWriter, r *http.Request, who access.Principal) {
	secret := rand.Text() + rand.Text() // 256 bits.
	who.Session = access.Hash(secret)
	now := s.cfg.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(s.named(r))
	for id, old := range s.all {
		if !now.Before(old.until) {
			delete(s.all, id)
		}
	}
	s.all[who.Session] = &session{owner: who, until: now.Add(s.cfg.Life), done: make(chan struct{})}
	http.SetCookie(w, s.newCookie(secret, int(s.cfg.Life.Seconds())))
}

// End signs the owner of the request's session out: the session, the browser's cookie, and what goes on with the session. Without a
// session it only clears the cookie.
func (s *Sessions) End(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(s.named(r))
	http.SetCookie(w, s.newCookie("", -1))
}

// Owner returns who has the session of a request. ok is false where there is none, where it ended, and where the token that it began with
// ended or lost what it allowed.
func (s *Sessions) Owner(r *http.Request) (who access.Principal, ok bool) {
	s.mu.Lock()
	found := s.all[s.named(r)]
	s.mu.Unlock()
	if found == nil || !s.cfg.Now().Before(found.until) || !s.cfg.Tokens.Lasts(found.owner) {
		return access.Principal{}, false
	}
	return found.owner, true
}

// Hold returns a context that ends when the principal's session ends. A principal without a session is held by nothing. The caller calls
// release when what it does is over.
func (s *Sessions) Hold(ctx context.Context, who access.Principal) (held context.Context, release context.CancelFunc) {
	if who.Session == "" {
		return context.WithCancel(ctx)
	}
	s.mu.Lock()
	found := s.all[who.Session]
	s.mu.Unlock()
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

// named is the id of the session that a request's cookie names, whether or not there is one.
func (s *Sessions) named(r *http.Request) string {
	cookie, err := r.Cookie(s.cookie)
	if err != nil {
		return ""
	}
	return access.Hash(cookie.Value)
}

func (s *Sessions) newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.cfg.Secure,
	}
}
