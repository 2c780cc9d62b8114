package openid

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/access"
)

func TestAPersonMayDoTheMostThatTheClaimAllows(t *testing.T) {
	t.Parallel()
	p := New(Config{RolesClaim: "groups", Roles: map[string]access.Role{"all": access.Viewer, "on-call": access.Triager, "ops": access.Administrator}})
	for _, tt := range []struct {
		name   string
		claims map[string]any
		want   access.Role
	}{
		{"one text", map[string]any{"groups": "on-call"}, access.Triager},
		{"a list", map[string]any{"groups": []any{"on-call", "all", "cooks"}}, access.Triager},
		{"the highest last", map[string]any{"groups": []any{"all", "ops"}}, access.Administrator},
		{"nothing known", map[string]any{"groups": []any{"cooks"}}, ""},
		{"the name of a role that the configuration does not give", map[string]any{"groups": "admin"}, ""},
		{"no claim", map[string]any{"roles": "ops"}, ""},
		{"a claim of another form", map[string]any{"groups": map[string]any{"ops": true}}, ""},
		{"numbers", map[string]any{"groups": []any{1.0}}, ""},
	} {
		who, err := p.principal(tt.claims)
		if denied := errors.Is(err, ErrNoRole); denied != (tt.want == "") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want.Scopes(), who.Scopes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAnAddressThatNobodyVerifiedIsNotAName(t *testing.T) {
	t.Parallel()
	for want, claims := range map[string]map[string]any{
		"ann@example.org": {"email": "ann@example.org", "email_verified": true, "preferred_username": "ann", "sub": "1"},
		"mallory":         {"email": "ann@example.org", "preferred_username": "mallory", "sub": "2"},
		"3":               {"email": "ann@example.org", "email_verified": false, "sub": "3"},
	} {
		if got := nameOf(claims); got != want {
			t.Errorf("nameOf(%v) = %q, want %q", claims, got, want)
		}
	}
}

func TestAnAnswerBelongsToTheBrowserThatBegan(t *testing.T) {
	t.Parallel()
	const callback = "https://fleetglass.example.org/login/callback"
	mine := newAttempt("/dlq")
	for name, tt := range map[string]struct {
		state  string
		cookie *http.Cookie
		ok     bool
	}{
		"its own":              {mine.State, mine.cookie(callback), true},
		"no cookie":            {mine.State, &http.Cookie{Name: "other"}, false},
		"another one's state":  {newAttempt("/").State, mine.cookie(callback), false},
		"no state":             {"", mine.cookie(callback), false},
		"a cookie of no state": {"", attempt{}.cookie(callback), false},
		"a broken cookie":      {mine.State, &http.Cookie{Name: attemptCookie, Value: "!"}, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/login/callback?state="+tt.state, nil)
		r.AddCookie(tt.cookie)
		got, err := attemptOf(r)
		if tt.ok && (err != nil || got != mine) || !tt.ok && !errors.Is(err, ErrUnproved) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if c := mine.cookie(callback); !c.Secure || !c.HttpOnly || c.Path != "/login/callback" {
		t.Errorf("cookie %v: want Secure, HttpOnly, for the callback only", c)
	}
}
