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

	"fleetglass/access"
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
		ConnState: httpguard.NewConnections(httpConnections(descriptors())).Track,
		Handler:   h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writePatience, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// newEngine returns an empty router. Task ids contain slashes, which are escaped in paths, hence UseEscapedPath.
func newEngine(cfg Config, metrics *telemetry.Registry, traces *telemetry.Traces, now func() time.Time, log *slog.Logger) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseEscapedPath = true
	e.HandleMethodNotAllowed = true
	_ = e.SetTrustedProxies(nil) // Nothing asks for the client's address; errors only for addresses that do not parse.
	// The bounds hold before anybody is known, for every address.
	e.Use(telemetry.HTTP(metrics, now), telemetry.Spans(traces.Tracer()), httperr.Recover(log), boundless(cfg.limits()).Middleware(log))
	return e
}

// guard puts everything between the network and the router: streams and deadlines outermost, then headers, host, origin, and
// compression innermost. Who may use a route is asked by the router itself.
func guard(cfg Config, streams *httpguard.Streams, engine http.Handler, log *slog.Logger) (http.Handler, error) {
	compress, err := httpguard.Compress()
	if err != nil {
		return nil, err
	}
	sameOrigin, err := httpguard.CrossOrigin(log, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	h := sameOrigin(compress(engine))
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

// answerOthers says what happens to addresses that nobody has: programs get a problem document, people a page if they may see what
// stands on every page.
func answerOthers(engine *gin.Engine, page gin.HandlerFunc, log *slog.Logger) {
	engine.NoRoute(func(c *gin.Context) {
		if strings.HasPrefix(c.Request.URL.Path+"/", "/api/") || !access.From(c.Request.Context()).Can(access.Read) {
			httperr.Write(c.Writer, c.Request, log, httperr.New(httperr.NotFound, nil).WithDetail("There is no such call; /api/docs lists them all."))
			return
		}
		page(c)
	})
	engine.NoMethod(func(c *gin.Context) {
		httperr.Write(c.Writer, c.Request, log, httperr.New(httperr.MethodNotAllowed, nil))
	})
}
