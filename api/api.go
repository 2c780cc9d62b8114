package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/health"
	"fleetglass/internal/httperr"
	"fleetglass/internal/live"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/masking"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/reveal"
)

// Config says what the API answers from.
type Config struct {
	Query    *query.Service     // Required. Where the answers come from.
	Appender lifecycle.Appender // Required. Takes the reports that agents send over HTTP.
	Hub      *live.Hub          // Required. What changes now.
	Health   health.Reporter    // Required. How the parts of the program are.
	Fleet    Fleet              // Required. The wire contract, as far as the API needs it.

	// Policy is the triage policy in force. Optional; default the built-in one.
	Policy func() dlqtriage.PolicyState

	Reconcile reconcile.Service // Optional; without it the calls about reconciliations answer that they are not available.

	Keys  *requestkey.Keys // Optional; without it a call that is repeated under one key runs again.
	Audit AuditReader      // Optional; without it the calls about the audit answer that they are not available.

	Alerts *alerts.Service // Optional; without it the calls about alerts answer that they are not available.

	Actions    *dlqtriage.Actions                              // Optional; without it, and without Operations, nobody acts on dead letters here.
	Operations *dlqtriage.Operations                           // Optional; likewise.
	Tokens     *access.Issuer                                  // Optional; without it the calls about tokens answer that they are not available.
	Access     access.Authorizer                               // Optional; decides about what needs more than its route does.
	Denied     func(r *http.Request, action string, why error) // Optional; hears of actions that were refused to somebody known.

	// Doctor looks at the configuration of the broker. Optional; without it the call answers that it is not available.
	Doctor func(context.Context) (doctor.Report, error)

	Reveal *reveal.Revealer // Optional; what shows payloads unmasked. Without it nobody sees them so.

	Mask *masking.Masker // Optional; what is hidden of what messages say. Questions must be answered from a store that hides the same.

	Now     func() time.Time // Optional; default time.Now.
	Log     *slog.Logger     // Optional; default slog.Default().
	Options Options          // Optional; every zero field has a default.
}

// Fleet is what the API asks of the wire contract.
type Fleet struct {
	// DecodeReport reads one CloudEvent in structured JSON form that somebody sent. Required. Its errors are shown to the sender: they must say
	// what is wrong with the event and nothing else. It errors with a [*fleet.ForeignReport] where the sender may not report for the agent.
	DecodeReport func(event json.RawMessage, by access.Principal) (lifecycle.Event, error)
}

// Options are the knobs of the API.
type Options struct {
	Version   string         // Optional; the version in the OpenAPI document, default "dev".
	Limits    httperr.Limits // Optional; see there. Streams have no timeout.
	Pace      time.Duration  // Optional; the least time between two changes on one stream, default 50 ms.
	Heartbeat time.Duration  // Optional; a stream that says nothing for this long says so, default 15 s.
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Pace == 0 {
		o.Pace = 50 * time.Millisecond
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 15 * time.Second
	}
	o.Limits = o.Limits.WithDefaults()
	return o
}

// API answers the calls under [Base], the OpenAPI document with its page, and the probes.
type API struct {
	cfg   Config
	calls calls
	huma  huma.API
}

// New checks the configuration and builds the calls and their description. It starts nothing.
func New(cfg Config) (*API, error) {
	var missing []error
	require := func(name string, ok bool) {
		if !ok {
			missing = append(missing, fmt.Errorf("api: Config.%s is required", name))
		}
	}
	require("Query", cfg.Query != nil)
	require("Appender", cfg.Appender != nil)
	require("Hub", cfg.Hub != nil)
	require("Health", cfg.Health != nil)
	require("Fleet.DecodeReport", cfg.Fleet.DecodeReport != nil)
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Policy == nil {
		cfg.Policy = func() dlqtriage.PolicyState { return dlqtriage.PolicyState{Policy: dlqtriage.DefaultPolicy()} }
	}
	cfg.Options = cfg.Options.withDefaults()
	a := &API{cfg: cfg}
	a.describe()
	return a, nil
}

// Register mounts the calls on r. Its engine must have UseRawPath or UseEscapedPath set: task ids contain slashes, which are escaped in
// paths. Compression, authentication and security headers are the engine's.
func (a *API) Register(r *routes.Router) {
	limits, streams := a.cfg.Options.Limits, a.cfg.Options.Limits
	streams.Timeout = -1
	plain := r.With(httperr.Recover(a.cfg.Log), limits.Middleware(a.cfg.Log))
	endless := r.With(httperr.Recover(a.cfg.Log), streams.Middleware(a.cfg.Log)).Streams()
	for _, route := range a.calls.list {
		if route.op.OperationID == streamOperation {
			route.mount(endless)
		} else {
			route.mount(a.keyed(plain, route.op))
		}
	}
	a.registerDocuments(plain)
}

// now is the time of asking.
func (a *API) now() lifecycle.Micros { return lifecycle.MicrosOf(a.cfg.Now()) }
