package access

import (
	"context"
	"errors"
	"strings"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// ErrTokenExists says that a token has the name already.
var ErrTokenExists = errors.New("a token has that name")

// StoredToken is a token that was made while the program runs. The store holds its hash only.
type StoredToken struct {
	Token                      // Names are unique among stored tokens.
	ID        string           // Required. Names it in addresses: the beginning of its hash.
	CreatedBy string           // Who made it.
	CreatedAt lifecycle.Micros // Required.
	LastUsed  lifecycle.Micros // Zero for never. It may be a minute old.
}

// StoredSession is the session of a person who signed in. All replicas of the program know it.
type StoredSession struct {
	ID     string           // Required. Hash of the cookie: who reads the store is not signed in by it.
	Name   string           // Of its owner.
	Token  string           // Hash of the token that it began with; empty where a provider said who it is.
	Scopes []Scope          // What its owner may do.
	Until  lifecycle.Micros // Required. When it ends by itself.
}

// Principal is the owner of the session.
func (s StoredSession) Principal() Principal {
	return Principal{Name: s.Name, Token: s.Token, Scopes: s.Scopes, Session: s.ID}
}

// TokenStore keeps tokens. What changes them is committed together with its audit record.
type TokenStore interface {
	// AddToken adds a token. It errors with [ErrTokenExists] where one has its name or its hash, and then adds no record either.
	AddToken(ctx context.Context, t StoredToken, r decision.AuditRecord) error
	// RemoveToken removes a token. It errors with [lifecycle.ErrNotFound] where there is none, and then adds no record.
	RemoveToken(ctx context.Context, id string, r decision.AuditRecord) error
	// StoredTokens returns all tokens, in the order of their names.
	StoredTokens(ctx context.Context) ([]StoredToken, error)
	// TouchTokens notes when tokens were used last, by id. A time never goes back, and tokens that are gone are left out.
	TouchTokens(ctx context.Context, used map[string]lifecycle.Micros) error
}

// SessionStore keeps sessions.
type SessionStore interface {
	// AddSession adds a session.
	AddSession(ctx context.Context, s StoredSession) error
	// RemoveSession removes a session; one that does not exist is no error.
	RemoveSession(ctx context.Context, id string) error
	// StoredSessions returns the sessions that end after now, ordered by id. Those that ended are removed.
	StoredSessions(ctx context.Context, now lifecycle.Micros) ([]StoredSession, error)
}

// Store is what both databases offer.
type Store interface {
	TokenStore
	SessionStore
}

// JoinScopes writes scopes as one text.
func JoinScopes(scopes []Scope) string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return strings.Join(out, " ")
}

// JoinAgents writes names of agents as one text; they hold no spaces.
func JoinAgents(agents []string) string { return strings.Join(agents, " ") }

// SplitAgents reads what [JoinAgents] wrote.
func SplitAgents(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Fields(text)
}

// SplitScopes reads what [JoinScopes] wrote.
func SplitScopes(text string) []Scope {
	var out []Scope
	for _, s := range strings.Fields(text) {
		out = append(out, Scope(s))
	}
	return out
}
