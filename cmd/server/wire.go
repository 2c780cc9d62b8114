package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/api"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/sharedkeys"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/internal/httpguard"
	"fleetglass/internal/live"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/internal/telemetry"
	"fleetglass/lifecycle"
	"fleetglass/mcp"
	"fleetglass/query"
	"fleetglass/reveal"
	"fleetglass/web"
)

// hubSize is how many tasks' latest changes a reader may be behind before it has to load everything again.
const hubSize = 10_000

// New opens and connects everything and starts to listen, in the order in which the parts need each other. On an error what was
// opened is closed again. The caller calls [App.Run], or [App.Close] instead.
func New(ctx context.Context, cfg Config, log *slog.Logger) (_ *App, err error) {
	now := time.Now
	a := &App{log: log, clock: brokersync.NewClock()}
	fleetNow := a.clock.Now // By this clock go the fleet's times, and by the host's own what people and this program hold, such as tokens.
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()

	metrics := telemetry.NewRegistry(version, log)
	if err := a.openTraces(ctx, cfg, metrics); err != nil {
		return nil, err
	}
	if err := a.openTokens(cfg, now); err != nil {
		return nil, err
	}

	if err := a.openPolicy(cfg, now); err != nil {
		return nil, err
	}

	if err := a.openRules(cfg, now); err != nil {
		return nil, err
	}

	if err := a.openMasking(cfg, now); err != nil {
		return nil, err
	}
	lock, err := lockData(cfg)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	a.onStop("lock", lock.Close)
	store, err := openStore(ctx, cfg, a.traces)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	a.onStop("store", store.Close)
	store = a.tracedEffects(store, now)
	a.upgrade = &upgrade{store: store, now: now, log: log}
	a.watch(&pinger{store: store, now: now, doing: a.upgrade.Detail})
	a.work("upgrade", a.upgrade.Run)

	nats, err := openBroker(cfg, log)
	if err != nil {
		return nil, err
	}
	a.onStop("nats", nats.Close)
	a.watch(nats)
	a.agents, a.brokerName = nats.URL(), nats.name
	if !cfg.Embedded() {
		a.work("roam", (&roam{conn: nats.conn, js: nats.js, every: askEvery, log: log}).Run)
	}
	a.sources = newRecordSources(cfg, nats.js)
	a.records = (&recordRetention{js: nats.js, now: now}).Read
	if a.doctor, err = newDoctor(cfg, nats.js, now); err != nil {
		return nil, err
	}
	if cfg.Embedded() {
		if _, err := fleet.Provision(ctx, nats.js, streams(cfg)); err != nil {
			return nil, fmt.Errorf("set up the embedded broker: %w", err)
		}
	}
	setup := newSetup(nats.js, contract(cfg), cfg.CaptureShards, log)
	a.watch(setup)
	a.work("streams", setup.Run)

	hub := live.NewHub(hubSize)
	shown, err := a.joinsReplicas(cfg, nats.conn, store, hub)
	if err != nil {
		return nil, err
	}
	appender := sharedkeys.Wrap(live.Wrap(telemetry.NewAppender(metrics, a.tracedBatches(a.limitStore(ctx, cfg, store, now)), now), hub), store, log)
	if err := a.collect(ctx, cfg, nats.js, store, appender); err != nil {
		return nil, fmt.Errorf("prepare the collectors: %w", err)
	}
	if err := a.reconciles(cfg, nats.js, store, appender, fleetNow); err != nil {
		return nil, err
	}
	if err := a.triages(cfg, nats.js, store, hub, fleetNow); err != nil {
		return nil, fmt.Errorf("prepare triage: %w", err)
	}
	if err := a.monitorDeadLetters(cfg, nats.js, store, appender, hub, fleetNow); err != nil {
		return nil, err
	}
	if err := a.autoTriages(cfg, nats.js, store, fleetNow); err != nil {
		return nil, err
	}
	if cfg.deletesOld() {
		keep := &retention{store: store, keep: time.Duration(cfg.Retention), now: now, log: log}
		a.work("retention", keep.Run)
	} else {
		log.Info("nothing is deleted by --retention: with --read-only that is left to the replicas that share the database")
	}
	if err := a.demonstrate(cfg, nats, log); err != nil {
		return nil, fmt.Errorf("prepare the demonstration: %w", err)
	}

	if err := a.keepsBoard(store, fleetNow); err != nil {
		return nil, err
	}
	ask, err := query.New(query.Config{
		Alerts: a.board.service, Rules: a.board.rules.Value, Store: a.shown(store), Entries: a.shown(store), AgentOf: fleet.AgentOfWorker, TaskName: fleet.TaskName, Health: a.health, Reconcile: a.reports, Restarts: store, EntriesRead: a.entriesRead, QueueHolds: a.queueHolds, Now: fleetNow, Log: log,
		Asker:      func(ctx context.Context) string { return access.From(ctx).Holder() },
		Policy:     func() *dlqtriage.Policy { return a.policy.State().Policy },
		Looks:      a.looksAtDeaths,
		Traps:      a.traps,
		Duplicates: query.DuplicatesConfig{Cost: cfg.duplicateCost(), Records: a.sources.store(), Prices: cfg.recordPrices(), Retention: a.records},
	})
	if err != nil {
		return nil, err
	}
	a.onStop("query", ask.Close)
	if err := a.scansRestarts(ctx, cfg, nats, store, ask, fleetNow); err != nil {
		return nil, err
	}
	if err := a.looksForRecords(ask, appender, fleetNow); err != nil {
		return nil, err
	}
	if err := a.copyFailures(cfg, a.shown(store), ask, now); err != nil {
		return nil, err
	}
	if err := a.movesBoard(cfg, store, ask, hub, fleetNow); err != nil {
		return nil, err
	}
	if err := a.tellsOfAlerts(cfg, store, now); err != nil {
		return nil, err
	}
	metrics.MustRegister(telemetry.Health{Parts: a.health}, telemetry.NewFleet(ask), telemetry.Reconciliation{Latest: ask.Reconciled}, telemetry.Alerts{Board: ask.Alerts}, telemetry.Restarts{Latest: ask.Restarts})
	if err := a.tellsOfTasks(ctx, cfg, store, ask, metrics, now); err != nil {
		return nil, err
	}
	if err := a.openAdmin(ctx, cfg); err != nil {
		return nil, err
	}
	if err := a.sendMetrics(ctx, cfg, metrics); err != nil {
		return nil, err
	}
	if err := a.serveHTTP(ctx, cfg, metrics, ask, store, appender, shown, now); err != nil {
		return nil, err
	}
	return a, nil
}

// watch adds a part to what /readyz and the pages say about health.
func (a *App) watch(r health.Reporter) { a.health = append(a.health, r) }

// serveHTTP builds pages and API and begins to listen.
func (a *App) serveHTTP(ctx context.Context, cfg Config, metrics *telemetry.Registry, ask *query.Service, store database,
	appender lifecycle.Appender, hub *live.Hub, now func() time.Time,
) error {
	authorizer := access.Authorizer{ReadOnly: cfg.ReadOnly}
	denied := auditDenials(store, now, a.log)
	engine := newEngine(cfg, metrics, a.traces, now, a.log)
	guarded := routes.Config{
		Tokens: a.tokens, Authorizer: authorizer, Failed: telemetry.SignIns(metrics), Denied: denied, Now: now, Log: a.log,
		Limited: telemetry.Limited(metrics), Streams: cfg.streamLimits(descriptors()),
	}
	if cfg.Authenticated() { // Without authentication everybody is one.
		guarded.PerSecond = cfg.RequestsPerSecond
	}
	issuer, err := a.issueTokens(ctx, cfg, store, now)
	if err != nil {
		return err
	}
	signIn := a.signIn(cfg, store)
	if signIn != nil {
		guarded.Sessions, guarded.SignIn = signIn.Sessions, web.SignInPath
	}
	a.routes = routes.New(engine, guarded)
	a.routes.Handle(http.MethodGet, "/metrics", access.Metrics, gin.WrapH(metrics.Handler()))
	keys, err := requestkey.New(requestkey.Config{Store: store, Now: now, Log: a.log})
	if err != nil {
		return err
	}
	revealer, err := reveal.New(reveal.Config{Store: store, Least: access.Role(cfg.MaskingReveal), Now: now})
	if err != nil {
		return err
	}
	calls, err := api.New(api.Config{
		Query: ask, Appender: appender, Hub: hub, Health: a.health, Reconcile: a.reports, Keys: keys, Audit: store, Policy: a.policy.State, Now: a.clock.Now, Log: a.log,
		Actions: a.triage.actions, Operations: a.triage.operations, Access: authorizer, Denied: deniedActions(denied), Doctor: a.doctor.Report,
		Alerts: a.board.service,
		Tokens: issuer, Mask: a.mask, Reveal: revealer,
		Fleet:   api.Fleet{DecodeReport: decodeReport(now)},
		Options: api.Options{Version: version, Limits: cfg.limits()},
	})
	if err != nil {
		return err
	}
	calls.Register(a.routes)
	tools, err := mcp.New(mcp.Config{API: engine, Authorizer: authorizer, Version: version, MaxBody: int64(cfg.MaxBody), Log: a.log})
	if err != nil {
		return err
	}
	tools.Register(a.routes)
	pages, err := web.New(web.Config{
		Query: ask, Hub: hub, Health: a.health, TaskJSON: calls.TaskJSON, Now: a.clock.Now, Log: a.log, Environment: cfg.shownName(), Access: authorizer,
		Server: a.agents, Prefix: cfg.Prefix, Reconcile: a.reports, SignIn: signIn, Limits: cfg.limits(), Mask: a.mask, Reveal: revealer, Actions: a.triage.actions, Operations: a.triage.operations, Denied: deniedActions(denied),
		Alerts: a.board.service, TellsAlerts: cfg.TellsOfAlerts(),
		Doctor: a.doctor.Report, Audit: store, Upgrade: a.upgrade.Progress,
		Settings: web.SettingsConfig{Tokens: issuer, TokensOff: !cfg.Authenticated(), InForce: cfg.InForce, About: a.about(cfg, now)},
	})
	if err != nil {
		return err
	}
	pages.Register(a.routes)
	answerOthers(engine, pages.NotFound, a.log)

	a.streams = httpguard.NewStreams(writePatience)
	handler, err := guard(cfg, a.streams, engine, a.log)
	if err != nil {
		return err
	}
	if a.listener, err = listen(ctx, cfg.Listen); err != nil {
		return err
	}
	a.onStop("listener", closeQuietly(a.listener))
	if a.listener, err = a.secure(cfg, a.listener); err != nil {
		return err
	}
	a.server = newServer(handler, a.log)
	return nil
}
