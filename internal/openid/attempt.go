package openid

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// attempt is what one sign-in needs when the person comes back. Only the browser that began it has it.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // Of PKCE.
	Next     string `json:"next"`
}

// attemptLife is how long a person has to sign in at the provider.
const attemptLife = 10 * time.Minute

const attemptCookie = "fleetglass_signin"

func newAttempt(next string) attempt {
	return attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next}
}

// cookie carries the attempt to the callback and nowhere else.
func (a attempt) cookie(callback string) *http.Cookie {
	body, _ := json.Marshal(a) // Four texts.
	c := cookieFor(callback)
	c.Value, c.MaxAge = base64.RawURLEncoding.EncodeToString(body), int(attemptLife.Seconds())
	return c
}

// forgotten takes the cookie back.
func forgotten(callback string) *http.Cookie {
	c := cookieFor(callback)
	c.MaxAge = -1
	return c
}

func cookieFor(callback string) *http.Cookie {
	c := &http.Cookie{Name: attemptCookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if u, err := url.Parse(callback); err == nil {
		c.Path, c.Secure = u.Path, strings.EqualFold(u.Scheme, "https")
	}
	return c
}

// attemptOf reads the attempt that a request comes back from.
func attemptOf(r *http.Request) (a attempt, err error) {
	cookie, err := r.Cookie(attemptCookie)
	if err != nil {
		return a, fmt.Errorf("%w: this browser began none", ErrUnproved)
	}
	body, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrUnproved, err)
	}
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(r.FormValue("state"))) != 1 {
		return a, fmt.Errorf("%w: the state is another one", ErrUnproved)
	}
	return a, nil
}
