package access

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Config says which tokens are valid.
type Config struct {
	Token  string           // Optional; a token in clear text with scope admin.
	Tokens []Token          // Optional; hashed tokens.
	Now    func() time.Time // Required. For expiry.
}

// Tokens finds the principal behind a secret. It is safe for concurrent use.
type Tokens struct {
	open  bool             // No authentication is configured.
	fixed map[string]Token // Those that stay for as long as the program runs.
	now   func() time.Time

	mu     sync.Mutex
	byHash map[string]Token
	holds  map[*hold]struct{}
}

// Unprotected has no tokens, so everybody is [Local].
func Unprotected() *Tokens { return &Tokens{open: true} }

// NewTokens returns the set of valid tokens. It errors when a token is there twice. Without any token nobody is let in.
func NewTokens(cfg Config) (*Tokens, error) {
	t := &Tokens{fixed: map[string]Token{}, now: cfg.Now, holds: map[*hold]struct{}{}}
	if cfg.Token != "" {
		t.fixed[Hash(cfg.Token)] = Token{Name: "token", Scopes: []Scope{Admin}}
	}
	if err := t.Replace(cfg.Tokens); err != nil {
		return nil, err
	}
	return t, nil
}

// Replace puts other hashed tokens in the place of those that are valid now, and ends what goes on with tokens that are gone. It errors
// and changes nothing when a token is there twice.
func (t *Tokens) Replace(tokens []Token) error {
	byHash := make(map[string]Token, len(t.fixed)+len(tokens))
	for hash, entry := range t.fixed {
		byHash[hash] = entry
	}
	for _, entry := range tokens {
		hash := strings.ToLower(entry.SHA256)
		if _, twice := byHash[hash]; twice {
			return fmt.Errorf("token %s is configured twice", entry.Name)
		}
		byHash[hash] = entry
	}
	t.mu.Lock()
	t.byHash = byHash
	t.mu.Unlock()
	t.Sweep()
	return nil
}

// Identify returns the principal behind a secret. It errors with [ErrUnauthenticated], or [ErrExpired], when the secret is no valid
// token, unless no authentication is configured.
func (t *Tokens) Identify(secret string) (Principal, error) {
	if t.open {
		return Local(), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := Hash(secret)
	entry, ok := t.byHash[hash]
	switch {
	case secret == "" || !ok:
		return Principal{}, &Denied{Why: ErrUnauthenticated}
	case entry.expired(t.now()):
		return Principal{}, &Denied{Actor: entry.Name, Why: ErrExpired}
	}
	return Principal{Name: entry.Name, Token: hash, Scopes: entry.Granted()}, nil
}
