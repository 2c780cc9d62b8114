package routes

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fleetglass/access"
	"fleetglass/internal/httperr"
)

// burstOf is how many seconds' worth of requests may come at once.
const burstOf = 4

// asked limits how often each principal asks. Without a limit it lets everything pass.
type asked struct {
	perSecond float64

	mu  sync.Mutex
	all map[string]*rate.Limiter // By holder.
}

// pass counts a request of a principal. It errors with [httperr.RateLimited] when there were too many.
func (a *asked) pass(who access.Principal, now time.Time) error {
	if a.perSecond <= 0 {
		return nil
	}
	reserved := a.limiter(who, now).ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reserved.CancelAt(now)
	return httperr.New(httperr.RateLimited, nil).WithHeader("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// limiter is that of a principal. Those that are full again are forgotten, so that tokens that ended leave nothing behind.
func (a *asked) limiter(who access.Principal, now time.Time) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := who.Holder()
	if l := a.all[name]; l != nil {
		return l
	}
	burst := max(1, int(a.perSecond*burstOf))
	for old, l := range a.all {
		if l.TokensAt(now) >= float64(burst) {
			delete(a.all, old)
		}
	}
	if a.all == nil {
		a.all = map[string]*rate.Limiter{}
	}
	a.all[name] = rate.NewLimiter(rate.Limit(a.perSecond), burst)
	return a.all[name]
}
