package httpguard

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"fleetglass/internal/httperr"
)

// Loopback refuses requests whose Host header is neither a loopback address nor one of the names that are ours. A page of a foreign
// site can point its own name at 127.0.0.1 (DNS rebinding); its requests still carry that name.
func Loopback(log *slog.Logger, names ...string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !ours(r.Host, names) {
				httperr.Write(w, r, log, httperr.New(httperr.Forbidden, nil).
					WithDetail("This server answers on loopback only, and the Host header names another host. Use 127.0.0.1 or localhost, or set --base-url."))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func ours(hostport string, names []string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(host), "["), "]")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return true
	}
	for _, name := range names {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	return false
}

// CrossOrigin refuses requests that would change something and that a browser sends on behalf of another site. baseURL, where it is
// not empty, is trusted too: a proxy may rewrite the Host header.
func CrossOrigin(log *slog.Logger, baseURL string) (func(http.Handler) http.Handler, error) {
	p := http.NewCrossOriginProtection()
	if baseURL != "" {
		u, err := url.Parse(baseURL)
		if err != nil {
			return nil, fmt.Errorf("parse base address: %w", err)
		}
		if err := p.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("trust base address: %w", err)
		}
	}
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httperr.Write(w, r, log, httperr.New(httperr.Forbidden, nil).WithDetail("A page of another site sent this request. If a proxy stands in front of this server, set --base-url."))
	}))
	return p.Handler, nil
}
