package web_test

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/web/webtest"
)

// TestFirefoxDrawsThePages loads the main pages in Firefox (make firefox). It draws them, and its scripts open the stream of changes.
func TestFirefoxDrawsThePages(t *testing.T) {
	t.Parallel()
	firefox := os.Getenv("FLEETGLASS_FIREFOX")
	if firefox == "" {
		t.Skip("make firefox runs it")
	}
	var mu sync.Mutex
	var asked []string
	s := newSite(t, webtest.Rich(noon).Batch, reported, func(c *setup) {
		c.Around = func() (func(http.Handler) http.Handler, error) {
			return func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					asked = append(asked, r.URL.Path)
					mu.Unlock()
					next.ServeHTTP(w, r)
				})
			}, nil
		}
	})
	for _, path := range []string{"/", "/tasks", "/tasks/tsk-7f3a91", "/in-flight", "/dlq", "/duplicates", "/statistics?range=24h", "/map"} {
		mu.Lock()
		asked = nil
		mu.Unlock()
		picture := firefoxPicture(t, firefox, s.URL+path)
		if size := picture.Bounds().Size(); size.X != 1440 || coloursOf(picture) < 20 {
			t.Errorf("%s: a picture of %v with %d colours", path, size, coloursOf(picture))
		}
		mu.Lock()
		if all := strings.Join(asked, " "); !strings.Contains(all, "/live") || !strings.Contains(all, "/js/") {
			t.Errorf("%s: scripts did not run, asked for %s", path, all)
		}
		mu.Unlock()
	}
}

// firefoxPicture is what Firefox shows of a page.
func firefoxPicture(t *testing.T, firefox, address string) image.Image {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.png")
	run := exec.CommandContext(ctx, firefox, "--headless", "--profile", dir, "--no-remote", "--window-size=1440,900", "--screenshot", file, address)
	run.Env = append(os.Environ(), "HOME="+dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", address, err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// coloursOf counts the colours of every eighth pixel.
func coloursOf(picture image.Image) int {
	seen := map[color.Color]bool{}
	for b, y := picture.Bounds(), picture.Bounds().Min.Y; y < b.Max.Y; y += 8 {
		for x := b.Min.X; x < b.Max.X; x += 8 {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}
