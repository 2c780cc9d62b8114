package reveal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// book is a store with one message, and an audit that can fail.
type book struct {
	records []decision.AuditRecord
	fails   error
}

var known = lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}

func (b *book) Payload(_ context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error) {
	if k != known {
		return lifecycle.Payload{}, lifecycle.ErrNotFound
	}
	return lifecycle.Payload{Message: k, Body: []byte("hunter2")}, nil
}

func (b *book) AddAudit(_ context.Context, r decision.AuditRecord) error {
	if b.fails == nil {
		b.records = append(b.records, r)
	}
	return b.fails
}

func holder(scopes ...access.Scope) access.Principal {
	return access.Principal{Name: "ada", Token: "a-hash", Scopes: scopes}
}

func TestOnlyTheRoleReveals(t *testing.T) {
	t.Parallel()
	people := map[string]access.Principal{
		"nobody": {}, "local": access.Local(), "metrics": holder(access.Metrics), "viewer": holder(access.Viewer.Scopes()...), "half a triager": holder(access.Read, access.TriageApply),
		"triager": holder(access.Triager.Scopes()...), "admin": holder(access.Admin), "a session": {Name: "eve", Session: "a-hash", Scopes: []access.Scope{access.Admin}},
	}
	for least, may := range map[access.Role]string{
		"": "", access.Viewer: "viewer,half a triager,triager,admin,a session", access.Triager: "triager,admin,a session", access.Administrator: "admin,a session", "king": "",
	} {
		r, err := New(Config{Store: &book{}, Least: least, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		for name, who := range people {
			if got, want := r.May(who), strings.Contains(","+may+",", ","+name+","); got != want {
				t.Errorf("least role %q: %s may: %t, want %t", least, name, got, want)
			}
		}
	}
	var refused *Refusal
	if _, err := (*Revealer)(nil).Reveal(t.Context(), Request{Who: holder(access.Admin), Reason: "why not"}); !errors.As(err, &refused) || refused.Allowed {
		t.Errorf("without a revealer: %v", err)
	}
}

func TestNothingIsShownThatTheAuditDoesNotSay(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	const short, needs = "Say why, in 3 to 2,000 characters: the audit keeps it.", "Payloads are shown unmasked to the role admin and above."
	for name, tt := range map[string]struct {
		who    access.Principal
		key    lifecycle.MessageKey
		reason string
		fails  error
		want   string // What the error begins with; empty for none.
		record string // Outcome and reason of the only record.
	}{
		"a reason":              {holder(access.Admin), known, "the customer asked", nil, "", "allowed the customer asked"},
		"no reason":             {holder(access.Admin), known, "", nil, short, ""},
		"a long reason":         {holder(access.Admin), known, strings.Repeat("x", MaxReason+1), nil, short, ""},
		"a viewer":              {holder(access.Read), known, "I am curious", nil, needs, "denied " + needs},
		"no message":            {holder(access.Admin), lifecycle.MessageKey{}, "the customer asked", nil, lifecycle.ErrNotFound.Error(), ""},
		"no audit":              {holder(access.Admin), known, "the customer asked", full, "record that a payload is shown: the disk is full", ""},
		"a viewer and no audit": {holder(access.Read), known, "I am curious", full, needs, ""},
	} {
		b := &book{fails: tt.fails}
		r, err := New(Config{Store: b, Least: access.Administrator, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		by := decision.Actor{Name: tt.who.Name, Role: tt.who.Role(), TokenID: tt.who.TokenID(), Via: decision.ViaPage}
		p, err := r.Reveal(t.Context(), Request{Who: tt.who, By: by, Message: tt.key, Reason: tt.reason})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, tt.want) || (said == "") != (tt.want == "") || (len(p.Body) > 0) != (tt.want == "") {
			t.Errorf("%s: %q, %v", name, p.Body, err)
		}
		got := ""
		for _, rec := range b.records {
			got += rec.Outcome + " " + rec.Reason
			if rec.Actor != "ada" || rec.Action != Action || rec.Target != "message TASKS:1" || strings.Contains(rec.Reason, "hunter2") || len(rec.Before)+len(rec.After) > 0 {
				t.Errorf("%s: the record is %+v", name, rec)
			}
		}
		if got != tt.record {
			t.Errorf("%s: the audit has %q, want %q", name, got, tt.record)
		}
	}
}
