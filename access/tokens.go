package access

import (
	"fmt"
	"slices"
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
	file   []Token          // Those of the file.
	stored []Token          // Those of the store.
	byHash map[string]Token // All that are valid.
	used   map[string]time.Time
	holds  map[*hold]struct{}
}

// Unprotected has no tokens, so everybody is [Local].
func Unprotected() *Tokens { return &Tokens{open: true} }

// NewTokens returns the set of valid tokens. It errors when a token is there twice. Without any token nobody is let in.
func NewTokens(cfg Config) (*Tokens, error) {
	t := &Tokens{fixed: map[string]Token{}, now: cfg.Now, used: map[string]time.Time{}, holds: map[*hold]struct{}{}}
	if cfg.Token != "" {
		t.fixed[Hash(cfg.Token)] = Token{Name: "token", Scopes: []Scope{Admin}}
	}
	if err := t.Replace(cfg.Tokens); err != nil {
		return nil, err
	}
	return t, nil
}

// Replace puts other hashed tokens of the file in the place of those that are valid now, and ends what goes on with tokens that are gone. It errors
// and changes nothing when a token is there twice.
func (t *Tokens) Replace(tokens []Token) error {
	seen := map[string]bool{}
	for hash := range t.fixed {
		seen[hash] = true
	}
	for _, entry := range tokens {
		hash := strings.ToLower(entry.SHA256)
		if seen[hash] {
			return fmt.Errorf("token %s is configured twice", entry.Name)
		}
		seen[hash] = true
	}
	t.put(func() { t.file = tokens })
	return nil
}

// ReplaceStored does the same with the tokens of the store. Where the settings have the same token, what they say of it counts.
func (t *Tokens) ReplaceStored(tokens []Token) { t.put(func() { t.stored = tokens }) }

// put changes which tokens are valid, and ends what goes on with those that are not any more.
func (t *Tokens) put(change func()) {
	t.mu.Lock()
	change()
	t.byHash = make(map[string]Token, len(t.fixed)+len(t.file)+len(t.stored))
	for _, entry := range slices.Concat(t.stored, t.file) {
		t.byHash[strings.ToLower(entry.SHA256)] = entry
	}
	for hash, entry := range t.fixed {
		t.byHash[hash] = entry
	}
	t.mu.Unlock()
	t.Sweep()
}

// Configured lists the tokens of the settings and of the file, in the order of their names.
func (t *Tokens) Configured() []Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.file)
	for hash, entry := range t.fixed {
		entry.SHA256 = hash
		out = append(out, entry)
	}
	slices.SortFunc(out, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Open reports whether no authentication is configured.
func (t *Tokens) Open() bool { return t.open }

// Any reports whether there is a token at all.
func (t *Tokens) Any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byHash) > 0
}

// LastUsed is when this process saw a token last, by its hash; zero for never.
func (t *Tokens) LastUsed(hash string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used[strings.ToLower(hash)]
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
	t.used[hash] = t.now()
	return Principal{Name: entry.Name, Token: hash, Scopes: entry.Granted(), Agents: entry.Agents}, nil
}

// AgentsOf returns the agents that a token is bound to, by its hash; none for a token that is not valid. A session asks for those of the token that it began with.
func (t *Tokens) AgentsOf(hash string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byHash[hash].Agents
}
