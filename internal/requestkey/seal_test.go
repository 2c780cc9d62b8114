package requestkey_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/requestkey"
	"fleetglass/store/sqlite"
)

const shown = "fg_shown-to-one-only"

// newSecretWorld is a world whose call answers with a secret, over a database whose files are in dir.
func newSecretWorld(t *testing.T) (w *world, dir string) {
	t.Helper()
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	dir = t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "keys.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	keys, err := requestkey.New(requestkey.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	w = &world{t: t, engine: gin.New()}
	w.engine.Use(func(c *gin.Context) {
		who := access.Principal{Name: "ops", Token: access.Hash("the token of ops")}
		if cookie, err := c.Cookie("session"); err == nil {
			who.Session = access.Hash(cookie)
		}
		c.Request = c.Request.WithContext(access.With(context.WithoutCancel(c.Request.Context()), who))
	})
	w.engine.POST("/tokens", keys.Sealed(), w.do)
	w.answers(func(c *gin.Context) { c.JSON(http.StatusCreated, gin.H{"secret": shown}) })
	return w, dir
}

func TestASecretIsRepeatedToItsCallerAndStandsInNoFile(t *testing.T) {
	for name, proof := range map[string][]string{
		"token":   {"Authorization", "Bearer the token of ops"},
		"session": {"Cookie", "theme=dark; session=the-secret-of-a-session"},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newSecretWorld(t)
			call := append([]string{"Idempotency-Key", "k"}, proof...)
			first, again := w.post("/tokens", `{"name":"a"}`, call...), w.post("/tokens", `{"name":"a"}`, call...)
			w.ran(1)
			if again.Code != http.StatusCreated || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
				t.Errorf("again: %d %s, want %s", again.Code, again.Body, first.Body)
			}
			w.refused(w.post("/tokens", `{"name":"b"}`, call...), http.StatusUnprocessableEntity, "idempotency_key_reused")
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("files %v, %v", files, err)
			}
			for _, file := range files {
				kept, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				// A reply is kept as JSON, with its body in base64.
				if bytes.Contains(kept, []byte(shown)) || bytes.Contains(kept, []byte("eyJzZWNyZXQi")) {
					t.Errorf("%s holds the secret", filepath.Base(file))
				}
			}
		})
	}
}

func TestAnotherProofOfTheSameCallerDoesNotOpenASecret(t *testing.T) {
	w, _ := newSecretWorld(t)
	w.post("/tokens", `{}`, "Idempotency-Key", "k", "Cookie", "session=one")
	other := w.post("/tokens", `{}`, "Idempotency-Key", "k", "Cookie", "session=other")
	w.refused(other, http.StatusConflict, "conflict")
	if strings.Contains(other.Body.String(), shown) {
		t.Errorf("got %s", other.Body)
	}
	w.ran(1)
}

func TestWithoutAProofNoReplyWithASecretIsKept(t *testing.T) {
	w, _ := newSecretWorld(t)
	w.post("/tokens", `{}`, "Idempotency-Key", "k")
	w.post("/tokens", `{}`, "Idempotency-Key", "k")
	w.ran(2)
}

func TestTheAttributesOfACloudEventBelongToTheRequest(t *testing.T) {
	w := newWorld(t, false)
	w.post("/do/it", `{}`, "Idempotency-Key", "k", "Ce-Id", "1")
	w.post("/do/it", `{}`, "Idempotency-Key", "k", "Ce-Id", "1")
	w.ran(1)
	w.refused(w.post("/do/it", `{}`, "Idempotency-Key", "k", "Ce-Id", "2"), http.StatusUnprocessableEntity, "idempotency_key_reused")
}
