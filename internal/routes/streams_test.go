package routes

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
)

func TestStreamsAreBoundedInTotalAndForEach(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{}
	var entries []access.Token
	for _, name := range []string{"eager", "calm", "late"} {
		secret, entry := access.NewToken(name, []access.Scope{access.Read}, time.Time{})
		secrets[name], entries = secret, append(entries, entry)
	}
	tokens, err := access.NewTokens(access.Config{Tokens: entries, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	r := New(gin.New(), Config{Tokens: tokens, Streams: StreamLimits{Total: 3, Each: 2}, Limited: func() { refused++ }})
	opened, end := make(chan struct{}), make(chan struct{})
	stream := func(c *gin.Context) { opened <- struct{}{}; <-end }
	r.Streams().Get("/live", access.Read, stream)
	r.Streams().Get("/api/v1/stream", access.Read, stream) // The same seats.
	r.Get("/tasks", access.Read, func(*gin.Context) {})

	done := make(chan struct{})
	open := func(name, path string) {
		t.Helper()
		go func() { r.ask("GET", path, bearer(secrets[name])); done <- struct{}{} }()
		<-opened
	}
	refuse := func(name, path string) {
		t.Helper()
		if w := r.ask("GET", path, bearer(secrets[name])); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s asks for one stream too many: got %d, %v", name, w.Code, w.Header())
		}
	}
	open("eager", "/live")
	open("eager", "/api/v1/stream")
	refuse("eager", "/live")
	open("calm", "/live")
	refuse("late", "/api/v1/stream")
	if w := r.ask("GET", "/tasks", bearer(secrets["late"])); w.Code != http.StatusOK {
		t.Errorf("what is no stream: %d", w.Code)
	}
	if refused != 2 {
		t.Errorf("%d refusals are counted, want 2", refused)
	}
	close(end)
	for range 3 {
		<-done
	}
	end = make(chan struct{})
	close(end)
	var w *httptest.ResponseRecorder
	go func() { w = r.ask("GET", "/live", bearer(secrets["eager"])); done <- struct{}{} }()
	<-opened
	if <-done; w.Code != http.StatusOK {
		t.Errorf("after the others ended: %d", w.Code)
	}
}

func TestSessionsOfOneTokenShareItsLimits(t *testing.T) {
	t.Parallel()
	one, other := access.Principal{Name: "ada", Token: "t", Session: "a"}, access.Principal{Name: "ada", Token: "t", Session: "b"}
	if one.Holder() != other.Holder() {
		t.Errorf("%s and %s are two", one.Holder(), other.Holder())
	}
	if (access.Principal{Name: "t"}).Holder() == (access.Principal{Token: "t"}).Holder() {
		t.Error("a person has the limits of a token")
	}
}
