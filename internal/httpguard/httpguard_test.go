package httpguard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

func text(contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Vary", "Cookie")
		_, _ = io.WriteString(w, body)
	})
}

func TestTheHostHeaderMustBeOurs(t *testing.T) {
	t.Parallel()
	guard := Loopback(quiet, "fleetglass.example.org")(text("text/plain", "ok"))
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "127.0.0.2": 200, "localhost": 200, "LocalHost:1": 200, "app.localhost:8080": 200, "[::1]:8080": 200, "[::1]": 200,
		"Fleetglass.example.org": 200, "fleetglass.example.org:443": 200,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "10.0.0.1:8080": 403, "": 403, "notlocalhost": 403,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q: got %d, want %d", host, w.Code, want)
		}
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	protect, err := CrossOrigin(quiet, "https://fleetglass.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, origin, fetchSite string
		want                            int
	}{
		{"a program", "POST", "", "", 200},
		{"our page", "POST", "http://example.com", "same-origin", 200},
		{"another site", "POST", "https://evil.example", "cross-site", 403},
		{"another site in an old browser", "POST", "https://evil.example", "", 403},
		{"another site may link to us", "GET", "https://evil.example", "cross-site", 200},
		{"behind a proxy", "POST", "https://fleetglass.example.org", "same-site", 200},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, "http://example.com/x", nil)
		r.Header.Set("Origin", tt.origin)
		r.Header.Set("Sec-Fetch-Site", tt.fetchSite)
		w := httptest.NewRecorder()
		protect(text("text/plain", "ok")).ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}

func TestHeadersAllowNoInlineScriptAndNoOtherHost(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Headers(text("text/html", "ok")).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy %q lacks %q", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") {
		t.Errorf("policy %q allows too much", csp)
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", w.Header())
	}
}

func TestTextIsCompressedAndStreamsAreNot(t *testing.T) {
	t.Parallel()
	wrap, err := Compress()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a task of the fleet ", 500)
	tests := []struct{ contentType, body, accept, want string }{
		{"text/html; charset=utf-8", long, "gzip, deflate, br, zstd", "zstd"},
		{"application/json", long, "gzip", "gzip"},
		{"application/problem+json", long, "gzip", "gzip"},
		{"text/css", long, "", ""},
		{"text/html", "short", "zstd", ""},
		{"text/event-stream", long, "gzip, zstd", ""},
		{"image/png", long, "gzip, zstd", ""},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", tt.accept)
		w := httptest.NewRecorder()
		wrap(text(tt.contentType, tt.body)).ServeHTTP(w, r)
		if vary := strings.Join(w.Header().Values("Vary"), ","); gains(tt.contentType) && vary != "Cookie,Accept-Encoding" {
			t.Errorf("%s: Vary is %q, want what the handler said and Accept-Encoding", tt.contentType, vary)
		}
		if got := w.Header().Get("Content-Encoding"); got != tt.want {
			t.Errorf("%s for %q: encoding %q, want %q", tt.contentType, tt.accept, got, tt.want)
		}
		if tt.want == "zstd" {
			d, err := zstd.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if plain, err := io.ReadAll(d); err != nil || string(plain) != tt.body {
				t.Errorf("%s does not decompress to itself: %v", tt.contentType, err)
			}
			d.Close()
		}
	}
}

// streaming starts a server with a short write timeout and a handler that sends an event each time tick is sent to.
func streaming(t *testing.T, s *Streams, tick <-chan struct{}) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(s.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 0; ; n++ {
			if _, err := fmt.Fprintf(w, "data: %d\n\n", n); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			select {
			case <-tick:
			case <-r.Context().Done():
				return
			}
		}
	})))
	server.Config.WriteTimeout = 100 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func open(t *testing.T, url string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close(); http.DefaultClient.CloseIdleConnections() })
	return bufio.NewScanner(res.Body)
}

func TestAStreamOutlivesTheWriteTimeout(t *testing.T) {
	t.Parallel()
	tick := make(chan struct{})
	lines := open(t, streaming(t, NewStreams(10*time.Second), tick).URL)
	ticker := time.NewTicker(60 * time.Millisecond)
	defer ticker.Stop()
	for n := range 6 { // 360 ms in all, with a write timeout of 100 ms.
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", n) {
			t.Fatalf("event %d: got %q, %v", n, lines.Text(), lines.Err())
		}
		lines.Scan() // The empty line.
		<-ticker.C
		tick <- struct{}{}
	}
}

func TestEndEndsStreams(t *testing.T) {
	t.Parallel()
	s := NewStreams(10 * time.Second)
	server := streaming(t, s, nil)
	lines := open(t, server.URL)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	s.End()
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Errorf("the stream did not end in good order: %v", lines.Err())
	}
	late := open(t, server.URL)
	for late.Scan() {
	}
	if late.Err() != nil {
		t.Errorf("a stream that begins after the end: %v", late.Err())
	}
}
