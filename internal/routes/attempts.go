package routes

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetglass/access"
	"fleetglass/internal/httperr"
)

// Failure says why a sign-in failed, for the metric.
type Failure string

// The failures.
const (
	FailedUnknown Failure = "unknown" // No such token.
	FailedExpired Failure = "expired" // The token has expired.
	FailedLimited Failure = "limited" // Not a valid token either, and its address has failed too often.
)

// Failures lists them all.
func Failures() []Failure { return []Failure{FailedUnknown, FailedExpired, FailedLimited} }

// How often an address may fail. A valid token is taken however often its address has failed: behind a proxy all share one address, and
// nobody may lock out the others. Tokens cannot be found by trying; the limit is for the log and for what asks without end.
const (
	failuresAtOnce = 10
	failuresEvery  = 6 * time.Second
	mostAddresses  = 10_000 // Beyond that new addresses share one limit.
)

// attempts counts failed sign-ins by address.
type attempts struct {
	mu       sync.Mutex
	limiters map[netip.Prefix]*rate.Limiter
	others   *rate.Limiter
	forgot   time.Time // When the addresses were last looked through.
}

func newAttempts() *attempts {
	return &attempts{limiters: map[netip.Prefix]*rate.Limiter{}, others: newLimiter()}
}

func newLimiter() *rate.Limiter { return rate.NewLimiter(rate.Every(failuresEvery), failuresAtOnce) }

// fail counts a failure. wait is how long the address must wait before its next one counts, zero while it may still fail.
func (a *attempts) fail(remote string, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reserved := a.limiter(network(remote), now).ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

func (a *attempts) limiter(from netip.Prefix, now time.Time) *rate.Limiter {
	if l := a.limiters[from]; l != nil {
		return l
	}
	if len(a.limiters) >= mostAddresses && now.Sub(a.forgot) >= failuresAtOnce*failuresEvery {
		a.forget(now)
	}
	if len(a.limiters) >= mostAddresses {
		return a.others
	}
	a.limiters[from] = newLimiter()
	return a.limiters[from]
}

// forget drops the addresses that have not failed for so long that nothing is held against them. It looks at all, so it is not done for
// each new address.
func (a *attempts) forget(now time.Time) {
	a.forgot = now
	for from, l := range a.limiters {
		if l.TokensAt(now) >= failuresAtOnce {
			delete(a.limiters, from)
		}
	}
}

// network is what counts as one address: an IPv4 address, or the 64 bits of IPv6 that one customer usually has. What is no address is one
// of its own.
func network(remote string) netip.Prefix {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := from.Addr().Unmap(), 64
	if address.Is4() {
		bits = 32
	}
	prefix, _ := address.WithZone("").Prefix(bits) // Both lengths fit.
	return prefix
}

// failed logs and counts a sign-in that failed, and says what to answer: beyond the limit of the address 429, and then nothing is logged.
func (g *guard) failed(r *http.Request, err error) error {
	wait := g.attempts.fail(r.RemoteAddr, g.Now())
	if wait > 0 {
		g.Failed(FailedLimited)
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		return httperr.New(httperr.RateLimited, err).WithDetail("Too many sign-ins from this address failed. Wait as many seconds as Retry-After says.").WithHeader("Retry-After", seconds)
	}
	why := FailedUnknown
	if errors.Is(err, access.ErrExpired) {
		why = FailedExpired
	}
	g.Failed(why)
	g.Log.WarnContext(r.Context(), "sign-in failed", "address", r.RemoteAddr, "method", r.Method, "path", r.URL.EscapedPath(), "error", err)
	return err
}
