package storetest

import (
	"errors"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var accessTests = []conformanceTest{
	{"tokens are added, touched and removed with their audit", accessTokens},
	{"sessions are known until they end", accessSessions},
}

func accessRecord(id, action string) decision.AuditRecord {
	return decision.AuditRecord{ID: id, At: 100, Actor: "ops", Action: action, Outcome: decision.Allowed, Via: "api"}
}

func accessTokens(t *testing.T, s Store) {
	_, ada := access.NewToken("ada <b>\xff", []access.Scope{access.Read, access.TriageApply}, time.Date(2027, 1, 2, 3, 4, 5, 6000, time.UTC))
	_, bob := access.NewToken("bob", nil, time.Time{})
	bob.Role, ada.Agents = access.Viewer, []string{"cto", "cfo"}
	first := access.StoredToken{Token: ada, ID: ada.SHA256[:12], CreatedBy: "ops", CreatedAt: 50}
	second := access.StoredToken{Token: bob, ID: bob.SHA256[:12], CreatedBy: "ada", CreatedAt: 60}
	for n, token := range []access.StoredToken{second, first} {
		if err := s.AddToken(t.Context(), token, accessRecord([]string{"a", "b"}[n], "create token")); err != nil {
			t.Fatal(err)
		}
	}
	_, same := access.NewToken(ada.Name, []access.Scope{access.Admin}, time.Time{})
	if err := s.AddToken(t.Context(), access.StoredToken{Token: same, ID: "other", CreatedAt: 1}, accessRecord("c", "create token")); !errors.Is(err, access.ErrTokenExists) {
		t.Errorf("a second token of a name: %v", err)
	}
	checkTokens(t, s, first, second)

	if err := s.TouchTokens(t.Context(), map[string]lifecycle.Micros{first.ID: 90, "gone": 95}); err != nil {
		t.Fatal(err)
	}
	if err := s.TouchTokens(t.Context(), map[string]lifecycle.Micros{first.ID: 80, second.ID: 70}); err != nil {
		t.Fatal(err)
	}
	first.LastUsed, second.LastUsed = 90, 70
	checkTokens(t, s, first, second)

	if err := s.RemoveToken(t.Context(), first.ID, accessRecord("d", "revoke token")); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveToken(t.Context(), first.ID, accessRecord("e", "revoke token")); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("a token that is gone: %v", err)
	}
	checkTokens(t, s, second)
	records, _, err := s.Audit(t.Context(), decision.AuditFilter{}, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	var ids string
	for _, r := range records {
		ids += r.ID
	}
	if ids != "dba" {
		t.Errorf("audit records %q, want those of what was done", ids)
	}
}

func checkTokens(t *testing.T, s Store, want ...access.StoredToken) {
	t.Helper()
	got, err := s.StoredTokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "tokens", got, want)
}

func accessSessions(t *testing.T, s Store) {
	ada := access.StoredSession{ID: "1", Name: "ada\xff", Token: "t", Scopes: []access.Scope{access.Read}, Until: 200}
	bob := access.StoredSession{ID: "2", Name: "bob@example.org", Scopes: access.Triager.Scopes(), Until: 100}
	for _, n := range []access.StoredSession{bob, ada, ada} {
		if err := s.AddSession(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	check := func(now lifecycle.Micros, want ...access.StoredSession) {
		t.Helper()
		got, err := s.StoredSessions(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "sessions", got, want)
	}
	check(99, ada, bob)
	check(100, ada)
	check(50, ada) // What ended was removed.
	for range 2 {
		if err := s.RemoveSession(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
	}
	check(50)
}
