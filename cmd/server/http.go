package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/internal/auth"
	"fleetglass/internal/httperr"
	"fleetglass/internal/httpguard"
	"fleetglass/internal/telemetry"
)

// Limits of connections. Reading and answering a request may take long for large bodies and slow clients; live streams move their own
// deadline with every event.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writePatience     = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// newServer returns a server with every timeout set.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writePatience, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// newEngine returns an empty router. Task ids contain slashes, which are escaped in paths, hence UseEscapedPath.
func newEngine(metrics *telemetry.Registry, now func() time.Time) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseEscapedPath = true
	e.RedirectTrailingSlash = false
	e.HandleMethodNotAllowed = true
	_ = e.SetTrustedProxies(nil) // Nothing asks for the client's address; errors only for addresses that do not parse.
	e.Use(telemetry.HTTP(metrics, now))
	e.GET("/metrics", gin.WrapH(metrics.Handler()))
	return e
}

// guard puts everything between the network and the router: streams and deadlines outermost, then headers, host, origin, access, and
// compression innermost.
func guard(cfg Config, a *auth.Auth, streams *httpguard.Streams, engine http.Handler, log *slog.Logger) (http.Handler, error) {
	compress, err := httpguard.Compress()
	if err != nil {
		return nil, err
	}
	sameOrigin, err := httpguard.CrossOrigin(log, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	h := compress(engine)
	if cfg.ReadOnly {
		h = httpguard.ReadOnly(log)(h)
	}
	h = sameOrigin(a.Middleware(h))
	if loopback(cfg.Listen) {
		h = httpguard.Loopback(log, ownNames(cfg.BaseURL)...)(h)
	}
	return streams.Middleware(httpguard.Headers(h)), nil
}

// ownNames are the names under which a proxy may pass requests on.
func ownNames(baseURL string) []string {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}

func newAuth(cfg Config, now func() time.Time, log *slog.Logger) (*auth.Auth, error) {
	var tokens []auth.Token
	if cfg.TokensFile != "" {
		var err error
		if tokens, err = auth.ReadTokens(cfg.TokensFile); err != nil {
			return nil, err
		}
	}
	return auth.New(auth.Config{Token: cfg.Token.Reveal(), Tokens: tokens, Now: now, Log: log})
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for pages and API (--listen): %w", err)
	}
	return l, nil
}

// closeQuietly closes a listener that the server may have closed already.
func closeQuietly(l net.Listener) func() error {
	return func() error {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func limits(cfg Config) httperr.Limits { return httperr.Limits{MaxBody: int64(cfg.MaxBody)} }

// answerOthers says what happens to addresses that nobody has: programs get a problem document, people a page.
func answerOthers(engine *gin.Engine, page gin.HandlerFunc, log *slog.Logger) {
	engine.NoRoute(func(c *gin.Context) {
		if strings.HasPrefix(c.Request.URL.Path, "/api/") {
			httperr.Write(c.Writer, c.Request, log, httperr.New(httperr.NotFound, nil).WithDetail("There is no such call."))
			return
		}
		page(c)
	})
	engine.NoMethod(func(c *gin.Context) {
		httperr.Write(c.Writer, c.Request, log, httperr.New(httperr.MethodNotAllowed, nil))
	})
}
