package sessions

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fleetglass/access"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a set of sessions, with a token that somebody may sign in with.
type desk struct {
	*Sessions
	tokens *access.Tokens
	ann    access.Principal
	t      *testing.T
}

func newDesk(t *testing.T, cfg Config) *desk {
	t.Helper()
	secret, entry := access.NewToken("ann", access.Triager.Scopes(), time.Time{})
	tokens, err := access.NewTokens(access.Config{Tokens: []access.Token{entry}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ann, err := tokens.Identify(secret)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tokens = tokens
	return &desk{Sessions: New(cfg), tokens: tokens, ann: ann, t: t}
}

// with is a request that carries cookies.
func with(cookies ...*http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

// begin signs somebody in and returns the cookie that the browser gets.
func (d *desk) begin(who access.Principal, cookies ...*http.Cookie) *http.Cookie {
	d.t.Helper()
	w := httptest.NewRecorder()
	if err := d.Begin(w, with(cookies...), who); err != nil {
		d.t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

func TestASessionSaysWhoItsOwnerIs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	cookie := d.begin(d.ann)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("cookie %v: want HttpOnly, SameSite=Lax, for this host only", cookie)
	}
	who, ok := d.Owner(with(cookie))
	if !ok || who.Session == "" {
		t.Fatalf("owner: %v, %v", who, ok)
	}
	who.Session = ""
	if diff := cmp.Diff(d.ann, who); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	for name, r := range map[string]*http.Request{
		"no cookie": with(), "an invented one": with(&http.Cookie{Name: cookie.Name, Value: strings.Repeat("x", 43)}), "an empty one": with(&http.Cookie{Name: cookie.Name}),
	} {
		if who, ok := d.Owner(r); ok {
			t.Errorf("%s: the owner is %v", name, who)
		}
	}
}

func TestACookieForHTTPSIsBoundToItsHost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{Secure: true})
	if c := d.begin(d.ann); !c.Secure || !strings.HasPrefix(c.Name, "__Host-") {
		t.Errorf("cookie %v: want Secure and the prefix __Host-", c)
	}
}

func TestSigningInGivesANewSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	prepared := d.begin(access.Principal{Name: "mallory", Scopes: access.Viewer.Scopes()})
	mine := d.begin(d.ann, prepared)
	if mine.Value == prepared.Value {
		t.Error("the session that the browser came with is used on: somebody could have prepared it")
	}
	if who, ok := d.Owner(with(prepared)); ok {
		t.Errorf("the session before is still that of %s", who.Name)
	}
}

func TestSigningOutEndsTheSessionAndWhatGoesOnWithIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	cookie := d.begin(d.ann)
	who, _ := d.Owner(with(cookie))
	stream, release := d.Hold(t.Context(), who)
	defer release()
	other, releaseOther := d.Hold(t.Context(), access.Principal{Name: "a program"})
	defer releaseOther()
	w := httptest.NewRecorder()
	if err := d.End(w, with(cookie)); err != nil {
		t.Fatal(err)
	}
	if gone := w.Result().Cookies()[0]; gone.MaxAge >= 0 {
		t.Errorf("cookie %v: want that the browser forgets it", gone)
	}
	if _, ok := d.Owner(with(cookie)); ok {
		t.Error("the cookie still signs in")
	}
	select {
	case <-stream.Done():
	case <-time.After(10 * time.Second):
		t.Error("the stream goes on")
	}
	if other.Err() != nil {
		t.Errorf("what goes on without a session: %v", other.Err())
	}
	late, releaseLate := d.Hold(t.Context(), who)
	defer releaseLate()
	if late.Err() == nil {
		t.Error("a stream begins with a session that has ended")
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Config{})
	cookie := d.begin(d.ann)
	if err := d.tokens.Replace(nil); err != nil {
		t.Fatal(err)
	}
	if who, ok := d.Owner(with(cookie)); ok {
		t.Errorf("the token is gone, and the session is still that of %s", who.Name)
	}
}

func TestASessionEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Config{Life: time.Hour})
		cookie := d.begin(d.ann)
		who, ok := d.Owner(with(cookie))
		if !ok {
			t.Fatal("the session is over at once")
		}
		stream, release := d.Hold(t.Context(), who)
		defer release()
		time.Sleep(time.Hour - time.Second)
		if _, ok := d.Owner(with(cookie)); !ok || stream.Err() != nil {
			t.Fatalf("a second before its end: owner %v, stream %v", ok, stream.Err())
		}
		<-stream.Done()
		if _, ok := d.Owner(with(cookie)); ok {
			t.Error("the session outlives its time")
		}
		if d.begin(d.ann); len(d.all) != 1 {
			t.Errorf("%d sessions are kept, want the new one", len(d.all))
		}
	})
}
