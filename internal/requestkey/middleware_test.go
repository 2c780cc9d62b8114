package requestkey_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/requestkey"
	"fleetglass/store/sqlite"
)

// world is a router whose call counts how often it ran.
type world struct {
	t      *testing.T
	engine *gin.Engine
	runs   atomic.Int64
	ids    sync.Map // Of the requests that ran.

	mu     sync.Mutex
	answer func(c *gin.Context) // What the call does; nil answers 202 with the number of the run.
}

func newWorld(t *testing.T, required bool) *world {
	t.Helper()
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "keys.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	keys, err := requestkey.New(requestkey.Config{Store: store, Wait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	impatient, err := requestkey.New(requestkey.Config{Store: store, Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, engine: gin.New()}
	w.engine.Use(func(c *gin.Context) {
		who := access.Principal{Name: c.GetHeader("Who")}
		c.Request = c.Request.WithContext(access.With(c.Request.Context(), who))
	}, httperr.Recover(discard))
	w.engine.POST("/do/:what", keys.Middleware(required), w.do)
	w.engine.POST("/impatient/:what", func(c *gin.Context) { c.Request.URL.Path = strings.Replace(c.Request.URL.Path, "/impatient", "/do", 1) }, impatient.Middleware(required), w.do)
	return w
}

func (w *world) do(c *gin.Context) {
	n := w.runs.Add(1)
	w.ids.Store(requestkey.ID(c.Request.Context()), true)
	w.mu.Lock()
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		answer(c)
		return
	}
	c.Header("Location", "/operations/1")
	c.JSON(http.StatusAccepted, gin.H{"run": n})
}

func (w *world) answers(f func(*gin.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

func (w *world) post(path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), "POST", path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	w.engine.ServeHTTP(out, r)
	return out
}

func (w *world) ran(want int64) {
	w.t.Helper()
	if got := w.runs.Load(); got != want {
		w.t.Errorf("the call ran %d times, want %d", got, want)
	}
}

func (w *world) refused(got *httptest.ResponseRecorder, status int, code string) {
	w.t.Helper()
	if got.Code != status || !strings.Contains(got.Body.String(), `"code":"`+code+`"`) {
		w.t.Errorf("got %d %s, want %d %s", got.Code, got.Body, status, code)
	}
}

// A dry run says what would happen now, and leaves its key to the call itself.
func TestACallThatChangedNothingLeavesItsKey(t *testing.T) {
	w := newWorld(t, true)
	w.answers(func(c *gin.Context) {
		requestkey.ChangedNothing(c.Request.Context())
		c.JSON(http.StatusOK, gin.H{"run": w.runs.Load()})
	})
	for i := range 2 {
		if got := w.post("/do/it", `{"dry_run":true}`, "Idempotency-Key", "k"); got.Code != http.StatusOK || got.Header().Get(requestkey.Replayed) != "" {
			t.Errorf("preview %d: %d %v %s, want one of its own", i, got.Code, got.Header(), got.Body)
		}
	}
	w.answers(nil)
	for i := range 2 {
		got := w.post("/do/it", `{}`, "Idempotency-Key", "k")
		if replayed := got.Header().Get(requestkey.Replayed) == "true"; got.Code != http.StatusAccepted || replayed != (i == 1) {
			t.Errorf("call %d: %d %v %s", i, got.Code, got.Header(), got.Body)
		}
	}
	w.ran(3)
	requestkey.ChangedNothing(t.Context()) // A call without a key has nothing to leave.
}

func TestTenEqualSubmissionsAtOnceRunOnceAndGetEqualReplies(t *testing.T) {
	w := newWorld(t, true)
	var replies [10]*httptest.ResponseRecorder
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			replies[i] = w.post("/do/it", fmt.Sprintf(`{"a":1, %s"b":[2]}`, strings.Repeat(" ", i)), "Idempotency-Key", "k")
		})
	}
	all.Wait()
	w.ran(1)
	replayed := 0
	for _, r := range replies {
		if r.Code != http.StatusAccepted || r.Body.String() != replies[0].Body.String() || r.Header().Get("Location") != "/operations/1" ||
			r.Header().Get("Content-Type") != replies[0].Header().Get("Content-Type") {
			t.Errorf("got %d %v %s, want the same from all", r.Code, r.Header(), r.Body)
		}
		if r.Header().Get("Idempotency-Replayed") == "true" {
			replayed++
		}
	}
	if replayed != 9 {
		t.Errorf("%d replies are marked as replayed, want 9", replayed)
	}
}

func TestAKeyBelongsToOneRequestOfOneCallerAtOneAddress(t *testing.T) {
	w := newWorld(t, false)
	w.post("/do/it", `{"a":1,"b":2}`, "Idempotency-Key", "k", "Who", "ops")
	w.post("/do/it", ` {"b":2, "a":1}`, "X-Idempotency-Key", "k", "Who", "ops")
	w.ran(1)
	w.refused(w.post("/do/it", `{"a":1,"b":3}`, "Idempotency-Key", "k", "Who", "ops"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	w.refused(w.post("/do/it", `{"a":1.0,"b":2}`, "Idempotency-Key", "k", "Who", "ops"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	w.ran(1)
	w.post("/do/it", `{"a":1,"b":3}`, "Idempotency-Key", "k", "Who", "ceo")
	w.post("/do/that", `{"a":1,"b":3}`, "Idempotency-Key", "k", "Who", "ops")
	w.ran(3)
	w.post("/do/it", `{}`)
	w.post("/do/it", `{}`)
	w.ran(5) // Without a key every call runs.
}

func TestAMissingOrBadKeyIsRefused(t *testing.T) {
	w := newWorld(t, true)
	w.refused(w.post("/do/it", `{}`), http.StatusBadRequest, "idempotency_key_required")
	w.refused(w.post("/do/it", `{}`, "Idempotency-Key", "a", "X-Idempotency-Key", "b"), http.StatusBadRequest, "invalid_parameter")
	w.refused(w.post("/do/it", `{}`, "Idempotency-Key", strings.Repeat("k", 201)), http.StatusBadRequest, "invalid_parameter")
	w.ran(0)
}

func TestACallThatRunsIsInProgressForOthers(t *testing.T) {
	w := newWorld(t, true)
	began, end := make(chan struct{}), make(chan struct{})
	w.answers(func(c *gin.Context) { close(began); <-end; c.JSON(http.StatusOK, "done") })
	var first *httptest.ResponseRecorder
	var running sync.WaitGroup
	running.Go(func() { first = w.post("/do/it", `{}`, "Idempotency-Key", "k") })
	<-began
	got := w.post("/impatient/it", `{}`, "Idempotency-Key", "k")
	w.refused(got, http.StatusConflict, "idempotency_in_progress")
	if got.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	close(end)
	running.Wait()
	again := w.post("/impatient/it", `{}`, "Idempotency-Key", "k")
	if again.Code != http.StatusOK || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s, want the first reply", again.Code, again.Body)
	}
	w.ran(1)
}

func TestACallThatFailedFreesItsKeyAndKeepsItsName(t *testing.T) {
	w := newWorld(t, true)
	w.answers(func(c *gin.Context) { c.JSON(http.StatusConflict, gin.H{"code": "entry_busy"}) })
	if got := w.post("/do/it", `{}`, "Idempotency-Key", "k"); got.Code != http.StatusConflict {
		t.Errorf("got %d", got.Code)
	}
	w.answers(func(*gin.Context) { panic("broken") })
	w.refused(w.post("/do/it", `{"changed":true}`, "Idempotency-Key", "k"), http.StatusInternalServerError, "internal")
	w.answers(nil)
	if got := w.post("/do/it", `{}`, "Idempotency-Key", "k"); got.Code != http.StatusAccepted || got.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("got %d %v", got.Code, got.Header())
	}
	w.ran(3)
	names := 0
	w.ids.Range(func(any, any) bool { names++; return true })
	if names != 1 {
		t.Errorf("the runs under one key have %d names, want 1", names)
	}
}

func TestTheReplyIsKeptThoughTheCallerWentAway(t *testing.T) {
	w := newWorld(t, true)
	ctx, leave := context.WithCancel(t.Context())
	w.answers(func(c *gin.Context) { leave(); c.JSON(http.StatusAccepted, "kept") })
	r := httptest.NewRequestWithContext(ctx, "POST", "/do/it", strings.NewReader(`{}`))
	r.Header.Set("Idempotency-Key", "k")
	w.engine.ServeHTTP(httptest.NewRecorder(), r)
	if got := w.post("/do/it", `{}`, "Idempotency-Key", "k"); got.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s, want the reply that nobody heard", got.Code, got.Body)
	}
	w.ran(1)
}
