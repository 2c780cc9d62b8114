// Package httpguard is what stands between the network and the handlers: security headers, the checks of host and origin,
// compression, deadlines that let live streams survive, and the end of those streams at a graceful stop.
package httpguard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// compressible is what gains from compression. Event streams are not in it: each event must leave at once.
var compressible = []string{
	"text/html", "text/css", "text/javascript", "text/plain", "text/markdown", "application/javascript", "application/json",
	"application/problem+json", "application/openapi+json", "application/openapi+yaml", "application/yaml", "image/svg+xml",
}

// Compress compresses text with zstd or gzip, as the client prefers, from 1 kB on.
func Compress() (func(http.Handler) http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1000), gzhttp.EnableZstd(true), gzhttp.PreferZstd(true),
		gzhttp.ContentTypeFilter(func(contentType string) bool {
			media, _, _ := strings.Cut(contentType, ";")
			media = strings.ToLower(strings.TrimSpace(media))
			for _, c := range compressible {
				if media == c {
					return true
				}
			}
			return false
		}))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	return func(next http.Handler) http.Handler { return wrap(next) }, nil
}
