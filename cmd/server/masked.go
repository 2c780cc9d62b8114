package main

import (
	"bytes"
	"context"
	"slices"
	"time"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/masking"
)

const (
	maskingOn  = "on"
	maskingOff = "off"
)

// openMasking reads what is hidden of what messages say, and follows the file of its rules from then on.
func (a *App) openMasking(cfg Config, now func() time.Time) error {
	if cfg.Masking == maskingOff {
		return nil
	}
	builtIn, err := masking.New(masking.Rules{})
	if err != nil {
		return err
	}
	rules := &followedValue[*masking.Masker]{name: "masking rules", kind: "access", file: followedFile{name: cfg.MaskingRules}, parse: masking.Parse, now: now}
	a.mask = masking.Following(rules.Value)
	return followValue(a, rules, builtIn)
}

// validateReveal adds what is wrong with who may see payloads unmasked.
func (c *Config) validateReveal(p *problems) {
	if c.MaskingReveal == "" {
		return
	}
	if role := access.Role(c.MaskingReveal); !slices.Contains(access.Roles(), role) {
		p.add("masking-reveal", "%q is not one of viewer, triager, admin", c.MaskingReveal)
	}
	if !c.Authenticated() {
		p.add("masking-reveal", "needs authentication: without it the audit could not say who looked")
	}
}

// maskedStore is a store as it is shown: bodies, headers and captured lines without what is hidden. Retries read the store itself.
type maskedStore struct {
	database
	mask *masking.Masker
}

// Payload is that of the store.
func (s maskedStore) Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	p, err := s.database.Payload(ctx, k)
	p.Body, p.Headers = s.mask.Body(p.Body), s.mask.Headers(p.Headers)
	return p, err
}

// Events is that of the store.
func (s maskedStore) Events(ctx context.Context, taskID string, after lifecycle.EventPosition, limit int) ([]lifecycle.Event, error) {
	events, err := s.database.Events(ctx, taskID, after, limit)
	for i := range events {
		events[i].Raw = s.line(events[i].Raw)
	}
	return events, err
}

// Event is that of the store.
func (s maskedStore) Event(ctx context.Context, taskID string, id lifecycle.EventID) (lifecycle.Event, error) {
	e, err := s.database.Event(ctx, taskID, id)
	e.Raw = s.line(e.Raw)
	return e, err
}

// line is a captured line: its subject, a new line, its body.
func (s maskedStore) line(raw []byte) []byte {
	subject, body, found := bytes.Cut(raw, []byte("\n"))
	if !found {
		return s.mask.Bytes(raw)
	}
	return bytes.Join([][]byte{subject, s.mask.Body(body)}, []byte("\n"))
}

// Quarantine is that of the store.
func (s maskedStore) Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error) {
	lines, n, err := s.database.Quarantine(ctx, limit)
	for i := range lines {
		lines[i].Body, lines[i].Headers = s.mask.Body(lines[i].Body), s.mask.Headers(lines[i].Headers)
	}
	return lines, n, err
}

// Entries is that of the store.
func (s maskedStore) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	page, err := s.database.Entries(ctx, f, p)
	for i := range page.Entries {
		page.Entries[i] = s.entry(page.Entries[i])
	}
	return page, err
}

// Entry is that of the store.
func (s maskedStore) Entry(ctx context.Context, id string) (dlqtriage.Entry, error) {
	e, err := s.database.Entry(ctx, id)
	return s.entry(e), err
}

func (s maskedStore) entry(e dlqtriage.Entry) dlqtriage.Entry {
	e.Title, e.Reason = s.mask.Text(e.Title), s.mask.Text(e.Reason)
	return e
}

// shown is the store as pages, API, tools and copies show it.
func (a *App) shown(store database) database {
	if a.mask == nil {
		return store
	}
	return maskedStore{store, a.mask}
}
