package access

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newTokens(t *testing.T, cfg Config) *Tokens {
	t.Helper()
	cfg.Now = func() time.Time { return noon }
	tokens, err := NewTokens(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestWithoutTokensEverybodyIsLocal(t *testing.T) {
	t.Parallel()
	for _, tokens := range []*Tokens{Unprotected(), newTokens(t, Config{})} {
		for _, secret := range []string{"", "anything"} {
			if who, err := tokens.Identify(secret); err != nil || who.Name != "local" || !who.Can(Admin) {
				t.Errorf("Identify(%q): got %v, %v; want local, who may do everything", secret, who, err)
			}
		}
	}
}

func TestASecretNamesItsPrincipal(t *testing.T) {
	t.Parallel()
	reader, readerEntry := NewToken("grafana", []Scope{Read}, time.Time{})
	expired, expiredEntry := NewToken("old", []Scope{Admin}, noon)
	soon, soonEntry := NewToken("soon", []Scope{Admin}, noon.Add(time.Second))
	person, personEntry := NewToken("ada", []Scope{Report}, time.Time{})
	personEntry.Role = Triager
	emptyEntry := Token{Name: "nothing", SHA256: Hash(""), Scopes: []Scope{Admin}}
	tokens := newTokens(t, Config{Token: "a-token-from-the-environment", Tokens: []Token{readerEntry, expiredEntry, soonEntry, personEntry, emptyEntry}})
	for _, tt := range []struct {
		name, secret string
		want         Principal
	}{
		{"a reader", reader, Principal{"grafana", []Scope{Read}}},
		{"the token of the settings", "a-token-from-the-environment", Principal{"token", []Scope{Admin}}},
		{"a token about to expire", soon, Principal{"soon", []Scope{Admin}}},
		{"a role and a scope", person, Principal{"ada", []Scope{Read, TriagePropose, TriageApply, TriageDiscard, Report}}},
		{"an expired token", expired, Principal{}},
		{"a wrong token", "fg_wrong", Principal{}},
		{"a hash is not a token", Hash(reader), Principal{}},
		{"nothing", "", Principal{}},
	} {
		got, err := tokens.Identify(tt.secret)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if valid := tt.want.Name != ""; errors.Is(err, ErrUnauthenticated) == valid {
			t.Errorf("%s: got error %v", tt.name, err)
		}
	}
}

func TestATokenIsConfiguredOnce(t *testing.T) {
	t.Parallel()
	text, entry := NewToken("a", []Scope{Read}, time.Time{})
	if _, err := NewTokens(Config{Token: text, Tokens: []Token{entry}}); err == nil {
		t.Error("a token that is in the settings and in the file gave no error")
	}
}
