// Package reveal shows what one message says without masking: to whoever has the role, for a reason, and only once the audit says so.
package reveal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// Action is what the audit calls it.
const Action = "reveal-payload"

// Bounds of a reason, in characters.
const (
	MinReason = 3
	MaxReason = 2000
)

// Refusal says why a payload is not shown.
type Refusal struct {
	Why     string // In a sentence, for whoever asked.
	Allowed bool   // The asker may reveal; what is wrong is the reason.
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// Store holds what messages say as they said it, and the audit.
type Store interface {
	Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error)
	AddAudit(ctx context.Context, r decision.AuditRecord) error
}

// Config says who may reveal.
type Config struct {
	Store Store            // Required. Not the one that masks.
	Least access.Role      // Optional; who has all scopes of this role may reveal. Empty: nobody.
	Now   func() time.Time // Required.
}

// Revealer reveals. Nil reveals nothing to nobody.
type Revealer struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Revealer, error) {
	if cfg.Store == nil || cfg.Now == nil {
		return nil, errors.New("reveal: Config needs Store and Now")
	}
	return &Revealer{cfg}, nil
}

// Least is the least role that may reveal; empty where nobody may.
func (r *Revealer) Least() access.Role {
	if r == nil {
		return ""
	}
	return r.cfg.Least
}

// May reports whether a principal may reveal. Who needed no token to get in may not: the audit would name nobody.
func (r *Revealer) May(who access.Principal) bool {
	scopes := r.Least().Scopes()
	for _, s := range scopes {
		if !who.Can(s) {
			return false
		}
	}
	return len(scopes) > 0 && (who.Token != "" || who.Session != "")
}

// Request is who wants to see what, and why.
type Request struct {
	Who     access.Principal
	By      decision.Actor // The same, for the audit.
	Message lifecycle.MessageKey
	Reason  string
}

// Reveal returns what a message says, unmasked, after the audit has a record of it: where none can be written nothing is shown. A refusal is recorded
// too. It errors with a [*Refusal], and with what the store says, such as [lifecycle.ErrNotFound].
func (r *Revealer) Reveal(ctx context.Context, q Request) (lifecycle.Payload, error) {
	if !r.May(q.Who) {
		return lifecycle.Payload{}, r.refuse(ctx, q)
	}
	if n := utf8.RuneCountInString(q.Reason); n < MinReason || n > MaxReason {
		return lifecycle.Payload{}, &Refusal{Why: "Say why, in 3 to 2,000 characters: the audit keeps it.", Allowed: true}
	}
	p, err := r.cfg.Store.Payload(ctx, q.Message)
	if err != nil {
		return lifecycle.Payload{}, err
	}
	if err := r.record(ctx, q, decision.Allowed, q.Reason); err != nil {
		return lifecycle.Payload{}, fmt.Errorf("record that a payload is shown: %w", err)
	}
	return p, nil
}

// refuse records a refusal and returns it. A record that cannot be written changes nothing about it.
func (r *Revealer) refuse(ctx context.Context, q Request) error {
	refused := &Refusal{Why: "Nobody may see payloads unmasked on this server: --masking-reveal names no role."}
	if least := r.Least(); least != "" {
		refused.Why = fmt.Sprintf("Payloads are shown unmasked to the role %s and above.", least)
	}
	if r == nil {
		return refused
	}
	return errors.Join(refused, r.record(ctx, q, decision.Denied, refused.Why))
}

func (r *Revealer) record(ctx context.Context, q Request, outcome, reason string) error {
	out := q.By.Record("reveal-"+rand.Text(), lifecycle.MicrosOf(r.cfg.Now()), Action, outcome)
	out.Target, out.Reason = "message "+q.Message.String(), reason
	return r.cfg.Store.AddAudit(ctx, out)
}
