package routes

import (
	"sync"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
)

// StreamLimits bounds how many live streams are open at once, those of pages and API together. Each holds a connection, and with it a file
// descriptor, that broker and store may need.
type StreamLimits struct {
	Total int // Optional; default [DefaultStreams].
	Each  int // Optional; of one token or person, default Total.
}

// DefaultStreams is how many streams may be open where the configuration does not say.
const DefaultStreams = 256

func (l StreamLimits) withDefaults() StreamLimits {
	if l.Total <= 0 {
		l.Total = DefaultStreams
	}
	if l.Each <= 0 {
		l.Each = l.Total
	}
	return l
}

// seats counts the streams that are open.
type seats struct {
	limits StreamLimits

	mu    sync.Mutex
	taken int
	by    map[string]int // By holder.
}

// take gives a principal a seat, which free gives back. It errors with [httperr.RateLimited] where none is left.
func (s *seats) take(who access.Principal) (free func(), err error) {
	name := who.Holder()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken >= s.limits.Total:
		return nil, crowded("%d live streams are open, and --max-streams allows no more. Try again later.", s.taken)
	case s.by[name] >= s.limits.Each:
		return nil, crowded("You have %d live streams open, and --max-streams-each allows no more. Close one of them.", s.by[name])
	}
	s.taken++
	s.by[name]++
	return func() { s.free(name) }, nil
}

func crowded(detail string, n int) error {
	return httperr.New(httperr.RateLimited, nil).WithDetail(detail, n).WithHeader("Retry-After", "5")
}

func (s *seats) free(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.by[name]--; s.by[name] == 0 {
		delete(s.by, name)
	}
}

// Streams returns a Router for live streams: each request of its routes counts as one for as long as it is answered. Beyond the limits
// the answer is 429.
func (r *Router) Streams() *Router {
	return r.With(func(c *gin.Context) {
		free, err := r.guard.seats.take(access.From(c.Request.Context()))
		if err != nil {
			r.guard.Limited()
			httperr.Write(c.Writer, c.Request, r.guard.Log, err)
			c.Abort()
			return
		}
		defer free()
		c.Next()
	})
}
