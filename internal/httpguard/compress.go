// Package httpguard is what stands between the network and the handlers: security headers, the checks of host and origin,
// compression, deadlines that let live streams survive, and the end of those streams at a graceful stop.
package httpguard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// compressible is what gains from compression. Event streams are not in it: each event must leave at once.
var compressible = []string{
	"text/html", "text/css", "text/javascript", "text/plain", "text/markdown", "text/csv", "application/javascript", "application/json",
	"application/problem+json", "application/openapi+json", "application/openapi+yaml", "application/yaml", "image/svg+xml",
}

func gains(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return slices.Contains(compressible, strings.ToLower(strings.TrimSpace(media)))
}

// Compress compresses text with zstd or gzip, as the client prefers, from 1 kB on.
func Compress() (func(http.Handler) http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1000), gzhttp.EnableZstd(true), gzhttp.PreferZstd(true), gzhttp.ContentTypeFilter(gains))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	return func(next http.Handler) http.Handler {
		compressed := wrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			compressed.ServeHTTP(&varying{ResponseWriter: w}, r)
		})
	}, nil
}

// varying tells caches that compressible answers depend on Accept-Encoding, also where a handler sets Vary for reasons of its own.
type varying struct {
	http.ResponseWriter
	told bool
}

// WriteHeader completes the headers first.
func (v *varying) WriteHeader(status int) {
	v.tell()
	v.ResponseWriter.WriteHeader(status)
}

// Write completes the headers first.
func (v *varying) Write(b []byte) (int, error) {
	v.tell()
	return v.ResponseWriter.Write(b)
}

// Flush completes the headers first.
func (v *varying) Flush() {
	v.tell()
	_ = http.NewResponseController(v.ResponseWriter).Flush() // A client that went away is noticed by the next write.
}

// Unwrap gives [http.ResponseController] the connection's own writer.
func (v *varying) Unwrap() http.ResponseWriter { return v.ResponseWriter }

func (v *varying) tell() {
	h := v.Header()
	if v.told {
		return
	}
	v.told = true
	if gains(h.Get("Content-Type")) && !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") {
		h.Add("Vary", "Accept-Encoding")
	}
}
