package routes

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"fleetglass/access"
)

// door is a router whose clock, log and metric the test sees.
type door struct {
	*Router
	now             time.Time
	log             bytes.Buffer
	failures        map[Failure]int
	reader, expired string
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), failures: map[Failure]int{}}
	now := func() time.Time { return d.now }
	reader, readerEntry := access.NewToken("grafana", []access.Scope{access.Read}, time.Time{})
	expired, expiredEntry := access.NewToken("old", []access.Scope{access.Read}, d.now)
	tokens, err := access.NewTokens(access.Config{Tokens: []access.Token{readerEntry, expiredEntry}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	d.reader, d.expired = reader, expired
	d.Router = New(gin.New(), Config{
		Tokens: tokens, Now: now, Failed: func(why Failure) { d.failures[why]++ }, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	d.Get("/", access.Read, func(*gin.Context) {})
	return d
}

// try asks from an address with a secret, and returns the status and Retry-After.
func (d *door) try(remote, secret string) (status int, retryAfter string) {
	w := d.ask("GET", "/", func(r *http.Request) {
		r.RemoteAddr = remote
		if secret != "" {
			bearer(secret)(r)
		}
	})
	return w.Code, w.Header().Get("Retry-After")
}

func TestAnAddressMayFailTenTimesAtOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for n := range failuresAtOnce {
		if status, _ := d.try("192.0.2.1:1000", "fg_wrong"); status != 401 {
			t.Fatalf("failure %d: got %d, want 401", n+1, status)
		}
	}
	for range 100 {
		if status, wait := d.try("192.0.2.1:1001", "fg_wrong"); status != 429 || wait != "6" {
			t.Fatalf("one too many: got %d, Retry-After %q", status, wait)
		}
	}
	if status, _ := d.try("192.0.2.2:1000", "fg_wrong"); status != 401 {
		t.Errorf("another address: got %d, want 401", status)
	}
	if status, _ := d.try("192.0.2.1:1000", d.reader); status != 200 {
		t.Errorf("a valid token from there: got %d, want 200", status)
	}
	if lines := strings.Count(d.log.String(), "sign-in failed"); lines != failuresAtOnce+1 {
		t.Errorf("%d lines in the log, want one for each failure within the limits:\n%s", lines, &d.log)
	}
	if strings.Contains(d.log.String(), "fg_wrong") {
		t.Error("the log shows what was tried")
	}
	d.now = d.now.Add(failuresEvery)
	if status, _ := d.try("192.0.2.1:1000", d.expired); status != 401 {
		t.Errorf("after waiting: got %d, want 401", status)
	}
	if diff := cmp.Diff(map[Failure]int{FailedUnknown: failuresAtOnce + 1, FailedLimited: 100, FailedExpired: 1}, d.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestToAskWithoutATokenIsNoFailure(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for range 10 * failuresAtOnce {
		if status, _ := d.try("192.0.2.1:1000", ""); status != 401 {
			t.Fatalf("got %d, want 401", status)
		}
	}
	if len(d.failures) > 0 {
		t.Errorf("failures: %v", d.failures)
	}
}

func TestTheLimitKeepsFewAddresses(t *testing.T) {
	t.Parallel()
	a, now := newAttempts(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for n := range 2 * mostAddresses {
		a.fail(fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255), now)
	}
	if len(a.limiters) > mostAddresses {
		t.Errorf("%d addresses are kept", len(a.limiters))
	}
	if wait := a.fail("198.51.100.1:1", now); wait == 0 {
		t.Error("addresses beyond the limit do not share one")
	}
	later := now.Add(time.Hour)
	if wait := a.fail("198.51.100.1:1", later); wait != 0 || len(a.limiters) != 1 {
		t.Errorf("an hour later: wait %s, %d addresses kept", wait, len(a.limiters))
	}
}

func TestWhatCountsAsOneAddress(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:1": "192.0.2.1/32", "[::ffff:192.0.2.1]:1": "192.0.2.1/32", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1": "fe80::/64", "@": "invalid Prefix", "": "invalid Prefix",
	} {
		if got := network(remote).String(); got != want {
			t.Errorf("network(%q) = %s, want %s", remote, got, want)
		}
	}
}
