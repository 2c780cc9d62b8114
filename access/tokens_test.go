package access

import (
	"context"
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

func TestWithoutAuthenticationEverybodyIsLocal(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "anything"} {
		if who, err := Unprotected().Identify(secret); err != nil || who.Name != "local" || !who.Can(Admin) {
			t.Errorf("Identify(%q): got %v, %v; want local, who may do everything", secret, who, err)
		}
	}
}

func TestWhenTheLastTokenIsGoneNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	text, entry := NewToken("last", []Scope{Admin}, time.Time{})
	tokens := newTokens(t, Config{Tokens: []Token{entry}})
	if err := tokens.Replace(nil); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"", text} {
		if who, err := tokens.Identify(secret); !errors.Is(err, ErrUnauthenticated) || len(who.Scopes) > 0 {
			t.Errorf("Identify(%q): got %v, %v", secret, who, err)
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
		{"a reader", reader, Principal{Name: "grafana", Token: Hash(reader), Scopes: []Scope{Read}}},
		{"the token of the settings", "a-token-from-the-environment", Principal{Name: "token", Token: Hash("a-token-from-the-environment"), Scopes: []Scope{Admin}}},
		{"a token about to expire", soon, Principal{Name: "soon", Token: Hash(soon), Scopes: []Scope{Admin}}},
		{"a role and a scope", person, Principal{Name: "ada", Token: Hash(person), Scopes: []Scope{Read, TriagePropose, TriageApply, TriageDiscard, Report}}},
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

func TestWhatGoesOnEndsWithItsToken(t *testing.T) {
	t.Parallel()
	now := noon
	_, gone := NewToken("gone", []Scope{Read}, time.Time{})
	_, expiring := NewToken("expiring", []Scope{Read}, noon.Add(time.Second))
	_, narrowed := NewToken("narrowed", []Scope{Read, Admin}, time.Time{})
	_, stays := NewToken("stays", []Scope{Read}, time.Time{})
	tokens, err := NewTokens(Config{Token: "of-the-settings", Tokens: []Token{gone, expiring, narrowed, stays}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]context.Context{}
	for _, entry := range []Token{gone, expiring, narrowed, stays, {Name: "settings", SHA256: Hash("of-the-settings"), Scopes: []Scope{Admin}}} {
		ctx, release := tokens.Hold(t.Context(), Principal{Name: entry.Name, Token: entry.SHA256, Scopes: entry.Granted()})
		defer release()
		held[entry.Name] = ctx
	}
	tokens.Sweep()
	for name, ctx := range held {
		if ctx.Err() != nil {
			t.Errorf("%s ended before its token", name)
		}
	}
	now = noon.Add(time.Second)
	narrowed.Scopes = []Scope{Read}
	if err := tokens.Replace([]Token{expiring, narrowed, stays}); err != nil {
		t.Fatal(err)
	}
	for name, ctx := range held {
		if got, want := ctx.Err() == nil, name == "stays" || name == "settings"; got != want {
			t.Errorf("%s goes on = %v, want %v", name, got, want)
		}
	}
	late, release := tokens.Hold(t.Context(), Principal{Name: "gone", Token: gone.SHA256, Scopes: gone.Granted()})
	defer release()
	if late.Err() == nil {
		t.Error("what begins after its token ended goes on")
	}
}

func TestATokenThatIsThereTwiceReplacesNothing(t *testing.T) {
	t.Parallel()
	text, entry := NewToken("a", []Scope{Read}, time.Time{})
	tokens := newTokens(t, Config{Tokens: []Token{entry}})
	if err := tokens.Replace([]Token{entry, entry}); err == nil {
		t.Error("no error")
	}
	if _, err := tokens.Identify(text); err != nil {
		t.Errorf("the token that was valid before: %v", err)
	}
}
