package access

import (
	"fmt"
	"strings"
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
	byHash map[string]Token
	now    func() time.Time
}

// Unprotected has no tokens, so everybody is [Local].
func Unprotected() *Tokens { return &Tokens{} }

// NewTokens returns the set of valid tokens. It errors when a token is there twice. Without any token everybody is [Local].
func NewTokens(cfg Config) (*Tokens, error) {
	t := &Tokens{byHash: map[string]Token{}, now: cfg.Now}
	if cfg.Token != "" {
		t.byHash[Hash(cfg.Token)] = Token{Name: "token", Scopes: []Scope{Admin}}
	}
	for _, entry := range cfg.Tokens {
		key := strings.ToLower(entry.SHA256)
		if _, twice := t.byHash[key]; twice {
			return nil, fmt.Errorf("token %s is configured twice", entry.Name)
		}
		t.byHash[key] = entry
	}
	return t, nil
}

// Configured reports whether requests need a token.
func (t *Tokens) Configured() bool { return len(t.byHash) > 0 }

// Identify returns the principal behind a secret. It errors with [ErrUnauthenticated] when the secret is no valid token and tokens are
// configured.
func (t *Tokens) Identify(secret string) (Principal, error) {
	if !t.Configured() {
		return Local(), nil
	}
	entry, ok := t.byHash[Hash(secret)]
	if secret == "" || !ok || entry.expired(t.now()) {
		return Principal{}, &Denied{Why: ErrUnauthenticated}
	}
	return Principal{Name: entry.Name, Scopes: entry.Granted()}, nil
}
