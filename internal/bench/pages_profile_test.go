//go:build linux

package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fleetglass/internal/live"
	"fleetglass/lifecycle/sqlite"
	"fleetglass/web"

	"github.com/gin-gonic/gin"
)

// profilePages renders the task list in this process, over the same store, so that a profile shows where its time goes. Nothing is
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
	pages, err := web.New(web.Config{Store: s, Hub: live.NewHub(1)})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	pages.Register(engine)
	defer profile(t, "list")()
	for began := time.Now(); time.Since(began) < span; {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/tasks", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("GET /tasks: status %d", w.Code)
		}
		_, _ = io.Copy(io.Discard, w.Body) // From memory.
	}
}
