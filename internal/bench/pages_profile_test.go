//go:build linux

package bench

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/masking"
	"fleetglass/query"
	"fleetglass/store/sqlite"
	"fleetglass/web"

	"github.com/gin-gonic/gin"
)

// profilePages answers the task list in this process, over the same store, so that profiles show where its time goes. Nothing is
// measured here: what stands between network and router is missing.
func profilePages(t testing.TB, h *history, span time.Duration) {
	t.Helper()
	if *flagProfiles == "" {
		return
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: h.path()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // Only read from.
	engine := serveStore(t, s)
	for name, path := range map[string]string{"list": "/tasks", "json": "/api/v1/tasks"} {
		end := profile(t, name)
		for began := time.Now(); time.Since(began) < span; {
			w := httptest.NewRecorder()
			engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != http.StatusOK {
				t.Fatalf("GET %s: status %d", path, w.Code)
			}
			_, _ = io.Copy(io.Discard, w.Body) // From memory.
		}
		end()
	}
}

// serveStore is the router of pages and API over a store, as far as it only reads.
func serveStore(t testing.TB, s lifecycle.Store) http.Handler {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.UseEscapedPath = true
	hub := live.NewHub(1)
	ask, err := query.New(query.Config{Store: s, AgentOf: fleet.AgentOfWorker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close() })
	calls, err := api.New(api.Config{
		Query: ask, Appender: s, Hub: hub, Health: health.ReporterFunc(func() []health.Part { return nil }),
		Fleet: api.Fleet{
			DecodeReport: func(json.RawMessage, access.Principal) (lifecycle.Event, error) {
				return lifecycle.Event{}, errors.New("nobody reports here")
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	router := routes.New(engine, routes.Config{Tokens: access.Unprotected()})
	calls.Register(router)
	mask, err := masking.New(masking.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Config{Query: ask, Hub: hub, Mask: mask})
	if err != nil {
		t.Fatal(err)
	}
	pages.Register(router)
	return engine
}
