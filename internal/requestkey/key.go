package requestkey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"fleetglass/access"
	"fleetglass/internal/httperr"
)

// Retention is how long the reply of a call is kept under its key.
const Retention = 72 * time.Hour

// maxKey bounds a key, in bytes.
const maxKey = 200

// The headers that carry the key. Both mean the same.
const (
	header = "Idempotency-Key"
	alias  = "X-Idempotency-Key"
)

// Of reads the key of a request under either name; empty when it has none.
func Of(r *http.Request) (string, error) {
	key, other := r.Header.Get(header), r.Header.Get(alias)
	if key == "" {
		key = other
	}
	switch {
	case other != "" && other != key:
		return "", httperr.New(httperr.InvalidParameter, nil).WithDetail("Idempotency-Key and X-Idempotency-Key differ. They mean the same: send one.").
			WithField("/header/X-Idempotency-Key", "differs from Idempotency-Key")
	case len(key) > maxKey:
		return "", httperr.New(httperr.InvalidParameter, nil).WithDetail("Idempotency-Key is longer than %d characters.", maxKey).
			WithField("/header/Idempotency-Key", "is too long")
	}
	return key, nil
}

// scoped names the key of one caller for one address: two callers, or one caller at two addresses, may use the same key.
func scoped(who access.Principal, r *http.Request, key string) string {
	return digest("request", who.Token, who.Name, r.Method, r.URL.EscapedPath(), key)
}

// digest is a hash of parts, 32 hexadecimal digits. The parts are kept apart: ("ab", "c") and ("a", "bc") differ.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// NameOf is the [ID] that a request of who has once it is let in: empty where it has no key, or one that is refused.
func NameOf(r *http.Request, who access.Principal) string {
	key, err := Of(r)
	if err != nil || key == "" {
		return ""
	}
	return scoped(who, r, key)
}

type idKey struct{}

// ID names the request that ctx belongs to: the same for every repetition of a call under its key, and empty for a call without a key. What a
// call decides is named by it, so that a repetition decides nothing new even where no reply was kept.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

type nothingKey struct{}

// ChangedNothing says that the call of ctx changes nothing, such as a dry run: its reply is not kept, so that the next one is computed anew, and its key
// stays free for the call itself.
func ChangedNothing(ctx context.Context) {
	if nothing, ok := ctx.Value(nothingKey{}).(*bool); ok {
		*nothing = true
	}
}

// WithID returns the context of the request that is named by id.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}
