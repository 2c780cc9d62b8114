package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"

	"fleetglass/access"
	"fleetglass/collectors/brokersync"
	"fleetglass/duplicates"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/health"
	"fleetglass/internal/httpguard"
	"fleetglass/internal/routes"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
	"fleetglass/masking"
	"fleetglass/reconcile"
)

// App is the program, wired and listening, not yet serving.
type App struct {
	log      *slog.Logger
	server   *http.Server
	listener net.Listener
	secured  bool   // The listener speaks TLS.
	admin    string // Where profiles are served; empty for nowhere.
	streams  *httpguard.Streams
	traces   *telemetry.Traces
	routes   *routes.Router // Every address, with the scope that it needs.
	tokens   *access.Tokens
	follow   *tokensFile   // Nil without a tokens file.
	policy   *triagePolicy //
	triage   triage
	doctor   *doctor.Doctor
	clock    *brokersync.Clock // As the broker's goes.
	upgrade  *upgrade
	board    board
	mask     *masking.Masker // What is hidden of what messages say; nil for nothing.
	agents   string          // Where agents connect.
	// brokerName says which broker this is, as it said itself.
	brokerName func() string
	sources    recordSources // Where agents may keep their records.
	records    func(context.Context) (duplicates.Retention, error)
	reports    *reconcile.Runner
	// entriesRead is up to when all dead-letter entries were read.
	entriesRead func() lifecycle.Micros
	// queueHolds reports whether the dead-letter queue holds an entry now.
	queueHolds func(entry lifecycle.MessageKey) (there, looked bool)
	// publishesRead is up to when all publish lines of a stream's messages are stored.
	publishesRead func(stream string) lifecycle.Micros
	// looks reports whether the monitor looks at what dies; nil where there is none.
	looks   func() bool
	health  health.Group
	workers []worker
	stops   []stop
}

// worker runs until its context ends.
type worker struct {
	name string
	run  func(context.Context) error
}

// stop releases one part; the last one that was added is released first.
type stop struct {
	name string
	run  func() error
}

func (a *App) onStop(name string, run func() error) { a.stops = append(a.stops, stop{name, run}) }

func (a *App) work(name string, run func(context.Context) error) {
	a.workers = append(a.workers, worker{name, run})
}

// Addr is the address of the pages and the API.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Pages is where people open the pages on this machine.
func (a *App) Pages() string {
	if a.secured {
		return "https://" + a.Addr()
	}
	return "http://" + a.Addr()
}

// AgentsURL is where agents connect to the broker.
func (a *App) AgentsURL() string { return a.agents }

// Run serves until ctx ends or a part fails, then stops in order: no new requests and the open ones answered, collectors done with
// what they hold, broker, store.
func (a *App) Run(ctx context.Context) error {
	inner, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	group, failed := errgroup.WithContext(inner)
	group.Go(a.serve)
	for _, w := range a.workers {
		group.Go(func() error {
			if err := w.run(failed); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			return nil
		})
	}
	a.log.Info("serving", "pages", a.Pages(), "agents", a.agents)
	select {
	case <-ctx.Done():
		a.log.Info("stopping", "cause", context.Cause(ctx))
	case <-failed.Done():
	}
	drained := a.drain()
	stopWorkers()
	err := errors.Join(group.Wait(), drained, a.Close())
	a.log.Info("stopped")
	return err
}

func (a *App) serve() error {
	if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// drain answers the open requests and ends the live streams.
func (a *App) drain() error {
	a.streams.End()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain http: %w", err), a.server.Close())
	}
	return nil
}

// Close releases everything in reverse order. It is idempotent.
func (a *App) Close() error {
	var errs []error
	for len(a.stops) > 0 {
		last := a.stops[len(a.stops)-1]
		a.stops = a.stops[:len(a.stops)-1]
		if err := last.run(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// reloadOn reads again what may change while the program runs, whenever the channel says so.
func (a *App) reloadOn(signals <-chan os.Signal) {
	a.work("signals", func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-signals:
				a.reload()
			}
		}
	})
}

func (a *App) reload() {
	if a.follow == nil {
		a.log.Info("nothing to read again: there is no tokens file")
		return
	}
	a.follow.Again()
}

// joinClose adds what closing says to an error.
func joinClose(err error, closeFn func() error) error { return errors.Join(err, closeFn()) }
