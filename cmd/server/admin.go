package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"

	"fleetglass/internal/httpguard"
)

// openAdmin listens on the address for profiles, where there is one. Everybody on this machine may ask; nobody beyond it.
func (a *App) openAdmin(ctx context.Context, cfg Config) error {
	if cfg.AdminListen == "" {
		return nil
	}
	listener, err := listen(ctx, cfg.AdminListen)
	if err != nil {
		return fmt.Errorf("listen for profiles (--admin-listen): %w", err)
	}
	a.admin = listener.Addr().String()
	a.onStop("admin", closeQuietly(listener))
	server := &http.Server{Handler: httpguard.Loopback(a.log)(profiles()), ReadHeaderTimeout: readHeaderTimeout}
	a.work("admin", func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		a.log.Info("profiles are served", "at", "http://"+a.admin+"/debug/pprof/")
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// profiles answers what go tool pprof asks for.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
