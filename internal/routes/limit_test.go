package routes

import (
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
)

func TestAPrincipalThatAsksTooOftenWaitsAndNobodyElseDoes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	eager, eagerEntry := access.NewToken("eager", []access.Scope{access.Read}, time.Time{})
	calm, calmEntry := access.NewToken("calm", []access.Scope{access.Read}, time.Time{})
	tokens, err := access.NewTokens(access.Config{Tokens: []access.Token{eagerEntry, calmEntry}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	limited := 0
	r := New(gin.New(), Config{Tokens: tokens, PerSecond: 5, Limited: func() { limited++ }, Now: func() time.Time { return now }})
	r.Get("/", access.Read, func(*gin.Context) {})
	r.Get("/healthz", access.Open, func(*gin.Context) {})
	for n := range 5 * burstOf {
		if got := r.ask("GET", "/", bearer(eager)).Code; got != 200 {
			t.Fatalf("request %d: got %d, want 200", n+1, got)
		}
	}
	w := r.ask("GET", "/", bearer(eager))
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || limited != 1 {
		t.Errorf("one too many: got %d, Retry-After %q, counted %d", w.Code, w.Header().Get("Retry-After"), limited)
	}
	if got := r.ask("GET", "/", bearer(calm)).Code; got != 200 {
		t.Errorf("another token: got %d, want 200", got)
	}
	if got := r.ask("GET", "/healthz", nil).Code; got != 200 {
		t.Errorf("the probe: got %d, want 200", got)
	}
	now = now.Add(time.Second)
	if got := r.ask("GET", "/", bearer(eager)).Code; got != 200 {
		t.Errorf("a second later: got %d, want 200", got)
	}
}

func TestWhoIsSilentIsForgotten(t *testing.T) {
	t.Parallel()
	a, now := asked{perSecond: 1}, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for n := range 100 {
		if err := a.pass(access.Principal{Name: string(rune('a' + n))}, now.Add(time.Duration(n)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.all) > 2 {
		t.Errorf("%d limits are kept", len(a.all))
	}
}
