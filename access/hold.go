package access

import (
	"context"
	"slices"
)

// hold is a context that lasts as long as its token is valid.
type hold struct {
	who Principal
	end context.CancelFunc
}

// Hold returns a context that ends when the principal's token is removed, expires or loses a scope, as of the next [Tokens.Sweep].
// If that has happened already it ends at once. The caller calls release when it no longer needs the context.
func (t *Tokens) Hold(ctx context.Context, who Principal) (held context.Context, release context.CancelFunc) {
	if who.Token == "" {
		return context.WithCancel(ctx)
	}
	held, end := context.WithCancel(ctx)
	h := &hold{who, end}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.lasts(who) {
		end()
		return held, end
	}
	t.holds[h] = struct{}{}
	return held, func() {
		t.mu.Lock()
		delete(t.holds, h)
		t.mu.Unlock()
		end()
	}
}

// Sweep ends the contexts of tokens that are no longer valid. Whoever removes tokens calls it, and a timer does for those that expire.
func (t *Tokens) Sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for h := range t.holds {
		if !t.lasts(h.who) {
			h.end()
			delete(t.holds, h)
		}
	}
}

// Lasts reports whether the token that proved a principal is still valid and still allows the same. One that needed no token lasts.
func (t *Tokens) Lasts(who Principal) bool {
	if who.Token == "" {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lasts(who)
}

// lasts does the same under the lock, for a principal that has a token.
func (t *Tokens) lasts(who Principal) bool {
	entry, ok := t.byHash[who.Token]
	return ok && !entry.expired(t.now()) && slices.Equal(entry.Granted(), who.Scopes)
}
