package webhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func TestAMessageIsSignedSoThatTheStandardsLibraryVerifiesIt(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"base64": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "text": "a plain secret"} {
		verifier, err := standardwebhooks.NewWebhookRaw([]byte(secret))
		if name == "base64" {
			verifier, err = standardwebhooks.NewWebhook(secret)
		}
		if err != nil {
			t.Fatal(err)
		}
		var verified error
		hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			verified = verifier.Verify(body, r.Header)
		}))
		defer hook.Close()
		s, err := New(Config{URL: hook.URL + "/secret-path", Secret: secret, Allow: loopback})
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := s.Post(t.Context(), MessageID("x"), []byte(`{"a":1}`)); err != nil || answer != "200 OK" || verified != nil {
			t.Errorf("%s: %q, %v; verified: %v", name, answer, err, verified)
		}
	}
}

func TestPrivateAddressesAreNotDialled(t *testing.T) {
	t.Parallel()
	called := false
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer hook.Close()
	for _, address := range []string{hook.URL, strings.Replace(hook.URL, "127.0.0.1", "localhost", 1)} {
		s, err := New(Config{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Post(t.Context(), "id", nil); !errors.Is(err, ErrPrivate) || called || strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v, called %v", address, err, called)
		}
	}
	for address, public := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700::1111]:443": true, "10.1.2.3:80": false, "172.16.0.1:80": false, "192.168.1.1:80": false, "169.254.169.254:80": false, "100.64.0.1:80": false,
		"0.0.0.0:80": false, "[::1]:80": false, "[::ffff:10.0.0.1]:80": false, "[fd00::1]:80": false, "[fe80::1%eth0]:80": false, "[64:ff9b::a00:1]:80": false, "224.0.0.1:80": false,
		"255.255.255.255:80": false, "[2002:0a00:0001::]:80": false,
	} {
		if err := check(address, nil); (err == nil) != public {
			t.Errorf("%s: %v, want public %v", address, err, public)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	called := false
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer inner.Close()
	hook := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	defer hook.Close()
	s, err := New(Config{URL: hook.URL, Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(t.Context(), "id", nil); err == nil || called {
		t.Errorf("%v, called %v", err, called)
	}
}
