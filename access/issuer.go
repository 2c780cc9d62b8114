package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Errors of an [Issuer] that callers branch on.
var (
	ErrOff        = errors.New("authentication is off")            // No token is asked for, so none is made.
	ErrConfigured = errors.New("the token is one of the settings") // It is revoked where it is configured.
)

// InvalidToken says which parts of a wish for a token are wrong.
type InvalidToken struct{ Wrong []WrongPart }

// WrongPart is a part of a wish for a token, by its name in a request, and what is wrong with it.
type WrongPart struct{ Field, Detail string }

// Error implements error.
func (e *InvalidToken) Error() string {
	var all []string
	for _, w := range e.Wrong {
		all = append(all, w.Field+": "+w.Detail)
	}
	return strings.Join(all, "; ")
}

const (
	storedEvery = time.Second      // How often the tokens of the store are read.
	touchEvery  = 20 * time.Second // How often their use is noted.
	maxName     = 100              // Characters of a token's name; bytes of an agent's.
	idLength    = 12               // Characters of a hash that name a token in addresses and in the audit.
)

// IssuerConfig says what an [Issuer] works with.
type IssuerConfig struct {
	Store  TokenStore       // Required.
	Tokens *Tokens          // Required. They follow the store.
	Now    func() time.Time // Required.
	Log    *slog.Logger     // Optional; default discards.
}

// Issuer makes and revokes tokens while the program runs, and follows those that other replicas made and revoked.
type Issuer struct {
	cfg     IssuerConfig
	touched map[string]time.Time // By hash: what the store knows of their use. Only Run uses it.
}

// NewIssuer checks the configuration. It starts nothing.
func NewIssuer(cfg IssuerConfig) (*Issuer, error) {
	if cfg.Store == nil || cfg.Tokens == nil || cfg.Now == nil {
		return nil, errors.New("access: IssuerConfig needs Store, Tokens and Now")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Issuer{cfg: cfg, touched: map[string]time.Time{}}, nil
}

// ListedToken is a token as administrators see it.
type ListedToken struct {
	StoredToken
	Configured bool // In the settings or in their file, where it is also revoked.
}

// List returns the tokens of the settings, then those of the store, each in the order of their names.
func (i *Issuer) List(ctx context.Context) ([]ListedToken, error) {
	stored, err := i.cfg.Store.StoredTokens(ctx)
	if err != nil {
		return nil, err
	}
	var out []ListedToken
	for _, t := range i.cfg.Tokens.Configured() {
		out = append(out, ListedToken{StoredToken{Token: t, ID: tokenID(t)}, true})
	}
	for _, t := range stored {
		out = append(out, ListedToken{t, false})
	}
	for n := range out {
		i.addUse(&out[n].StoredToken)
	}
	return out, nil
}

// addUse adds what this process saw of a token since the store was told.
func (i *Issuer) addUse(t *StoredToken) {
	if used := i.cfg.Tokens.LastUsed(t.SHA256); !used.IsZero() {
		t.LastUsed = max(t.LastUsed, lifecycle.MicrosOf(used))
	}
}

func tokenID(t Token) string { return strings.ToLower(t.SHA256[:min(len(t.SHA256), idLength)]) }

// Create makes a token and returns its text, which is kept nowhere. It errors with an [*InvalidToken], [ErrTokenExists] or [ErrOff].
func (i *Issuer) Create(ctx context.Context, by decision.Actor, wish Token) (text string, made StoredToken, err error) {
	now := i.cfg.Now()
	if i.cfg.Tokens.Open() {
		return "", made, ErrOff
	}
	if err := wish.Check(now); err != nil {
		return "", made, err
	}
	if slices.ContainsFunc(i.cfg.Tokens.Configured(), func(t Token) bool { return t.Name == wish.Name }) {
		return "", made, ErrTokenExists
	}
	text, entry := NewToken(wish.Name, wish.Scopes, wish.Expires)
	entry.Role, entry.Agents = wish.Role, wish.Agents
	made = StoredToken{Token: entry, ID: tokenID(entry), CreatedBy: by.Name, CreatedAt: lifecycle.MicrosOf(now)}
	if err := i.cfg.Store.AddToken(ctx, made, i.record(by, "create-token", made.ID, nil, &made)); err != nil {
		return "", StoredToken{}, err
	}
	return text, made, i.Follow(ctx)
}

// Check errors with an [*InvalidToken] of all that keeps a token from being made as wished.
func (t Token) Check(now time.Time) error {
	var invalid InvalidToken
	wrong := func(is bool, field, detail string) {
		if is {
			invalid.Wrong = append(invalid.Wrong, WrongPart{field, detail})
		}
	}
	n := utf8.RuneCountInString(t.Name)
	wrong(n == 0 || n > maxName || strings.ContainsFunc(t.Name, func(r rune) bool { return !unicode.IsPrint(r) }), "name", fmt.Sprintf("must have 1 to %d printable characters", maxName))
	wrong(t.Role != "" && !slices.Contains(Roles(), t.Role), "role", notARole(t.Role))
	wrong(t.Role == "" && len(t.Scopes) == 0, "scopes", "a role or at least one scope is needed")
	if i := slices.IndexFunc(t.Scopes, func(s Scope) bool { return !slices.Contains(Scopes(), s) }); i >= 0 {
		wrong(true, "scopes", notAScope(t.Scopes[i]))
	}
	agents := t.wrongAgents()
	wrong(agents != "", "agents", agents)
	wrong(t.expired(now), "expires_at", "must be in the future")
	if len(invalid.Wrong) > 0 {
		return &invalid
	}
	return nil
}

// Revoke ends a token of the store, its sessions and its streams: here at once, in other replicas within seconds. It returns what the token was. It
// errors with [ErrConfigured] or [lifecycle.ErrNotFound].
func (i *Issuer) Revoke(ctx context.Context, by decision.Actor, id string) (StoredToken, error) {
	if slices.ContainsFunc(i.cfg.Tokens.Configured(), func(t Token) bool { return tokenID(t) == id }) {
		return StoredToken{}, ErrConfigured
	}
	stored, err := i.cfg.Store.StoredTokens(ctx)
	if err != nil {
		return StoredToken{}, err
	}
	at := slices.IndexFunc(stored, func(t StoredToken) bool { return t.ID == id })
	if at < 0 {
		return StoredToken{}, lifecycle.ErrNotFound
	}
	i.addUse(&stored[at])
	if err := i.cfg.Store.RemoveToken(ctx, id, i.record(by, "revoke-token", id, &stored[at], nil)); err != nil {
		return StoredToken{}, err
	}
	return stored[at], i.Follow(ctx)
}

// record is what the audit keeps: never a secret, nor its whole hash.
func (i *Issuer) record(by decision.Actor, action, id string, before, after *StoredToken) decision.AuditRecord {
	now := i.cfg.Now()
	r := by.Record(fmt.Sprintf("%s %s %d", action, id, now.UnixNano()), lifecycle.MicrosOf(now), action, decision.Allowed)
	r.Target, r.Before, r.After = "token "+id, before.summary(), after.summary()
	return r
}

// summary is a token in the audit, empty for none.
func (t *StoredToken) summary() []byte {
	if t == nil {
		return nil
	}
	out := map[string]any{"id": t.ID, "name": t.Name, "role": t.Role, "scopes": t.Scopes}
	if len(t.Agents) > 0 {
		out["agents"] = t.Agents
	}
	if !t.Expires.IsZero() {
		out["expires_at"] = t.Expires.UTC()
	}
	text, _ := json.Marshal(out) // Texts and times can be written.
	return text
}

// Follow takes over the tokens that the store has now.
func (i *Issuer) Follow(ctx context.Context) error {
	stored, err := i.cfg.Store.StoredTokens(ctx)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	tokens := make([]Token, len(stored))
	for n, t := range stored {
		tokens[n] = t.Token
	}
	i.cfg.Tokens.ReplaceStored(tokens)
	return nil
}

// Run follows the store, ends what goes on with tokens that have ended, and notes when tokens were used, until ctx is done. While the store does
// not answer, the tokens that were valid before stay valid.
func (i *Issuer) Run(ctx context.Context) error {
	follow, touch := time.NewTicker(storedEvery), time.NewTicker(touchEvery)
	defer follow.Stop()
	defer touch.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-follow.C:
			if err := i.Follow(ctx); err != nil {
				i.cfg.Log.DebugContext(ctx, "tokens of the store stay as they are", "error", err)
			}
			i.cfg.Tokens.Sweep()
		case <-touch.C:
			i.touch(ctx)
		}
	}
}

// touch notes in the store when its tokens were used, those that were used since the last time.
func (i *Issuer) touch(ctx context.Context) {
	stored, err := i.cfg.Store.StoredTokens(ctx)
	if err != nil {
		return
	}
	used := map[string]lifecycle.Micros{}
	for _, t := range stored {
		if at := i.cfg.Tokens.LastUsed(t.SHA256); at.After(i.touched[t.SHA256]) {
			used[t.ID], i.touched[t.SHA256] = lifecycle.MicrosOf(at), at
		}
	}
	if len(used) == 0 {
		return
	}
	if err := i.cfg.Store.TouchTokens(ctx, used); err != nil {
		i.cfg.Log.DebugContext(ctx, "the use of tokens is not noted", "error", err)
	}
}
