package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
)

// terminal is where commands write.
type terminal struct{ out, err io.Writer }

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

type serveCmd struct{}

// Run serves until the context ends. SIGHUP reads the tokens file again.
func (serveCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	log, err := telemetry.NewLog(t.err, l.cli.LogLevel, l.cli.LogFormat)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, l.effective())
	if c := l.cli.Config; !c.Embedded() && c.Nice > 0 {
		if err := lowerPriority(c.Nice); err != nil {
			log.Warn("the priority could not be lowered", "nice", c.Nice, "error", err)
		}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	app, err := New(ctx, l.cli.Config, log)
	if ctx.Err() != nil && err != nil { // Whoever stopped it broke off what failed.
		log.Info("stopped before it was set up", "cause", context.Cause(ctx), "at", err)
		return nil
	}
	if err != nil {
		return err
	}
	app.reloadOn(hangup)
	return app.Run(ctx)
}

type rebuildCmd struct{}

// Run judges all stored events anew. It errors where there are none, because the name of the directory may be wrong, and where a server uses SQLite.
func (rebuildCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	cfg := l.cli.Config
	if cfg.DatabaseURL == "" {
		if _, err := os.Stat(sqliteFile(cfg)); err != nil {
			return fmt.Errorf("there is no database: %w", err)
		}
	}
	lock, err := lockData(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	store, err := openStore(ctx, cfg, &telemetry.Traces{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	begin := time.Now()
	events, err := store.Rebuild(ctx)
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	_, err = fmt.Fprintf(t.out, "%s events judged anew in %s\n", lifecycle.Grouped(events), lifecycle.Lasting(time.Since(begin)))
	return err
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, "fleetglass", version)
	return err
}

type healthcheckCmd struct{}

// Run asks the server that listens where this configuration says.
func (healthcheckCmd) Run(ctx context.Context, l *loaded) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	host, port, err := net.SplitHostPort(l.cli.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	scheme, client := "http", &http.Client{}
	if l.cli.TLSCert != "" { // It asks itself: the certificate is for the name that others use.
		scheme, client.Transport = "https", &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // See above.
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for health: %s", response.Status)
	}
	return nil
}
