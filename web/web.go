package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/health"
	"fleetglass/internal/httperr"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/masking"
	"fleetglass/query"
	"fleetglass/reconcile"
	"fleetglass/reveal"
	"fleetglass/static"
)

// Config is what the pages need.
type Config struct {
	Query       *query.Service    // Required. Where the answers come from.
	Hub         *live.Hub         // Optional; without it pages do not update by themselves.
	Health      health.Reporter   // Optional; without it the freshness pill says that nothing is known.
	Now         func() time.Time  // Optional; default time.Now.
	Log         *slog.Logger      // Optional; default discards.
	Reconcile   reconcile.Service // Optional; without it the page of reconciliations says so.
	Environment string            // Optional; a badge such as "production".
	Access      access.Authorizer // Optional; what readers may do. In read-only mode a banner says that actions are off.
	Server      string            // Optional; the NATS URL that agents connect to, for the command of the empty page.
	Prefix      string            // Optional; default fleet.DefaultPrefix. The first token of task subjects, for the same.

	Alerts      *alerts.Service // Optional; what acts on alerts. Without it their page only shows what there is.
	TellsAlerts bool            // Receivers of alerts are configured.

	Actions *dlqtriage.Actions // Optional; what acts on dead letters. Without it their pages have no forms.

	Operations *dlqtriage.Operations // Optional; what acts on many of them. It needs Actions. Without it there are no pages of operations.

	// Denied keeps a record of an action that was refused where its route was allowed. Optional.
	Denied func(r *http.Request, action string, why error)

	// Audit answers who did what. Optional; without it its page has no record.
	Audit AuditReader

	// Doctor looks at the configuration of the broker. Optional; without it its page says so.
	Doctor func(context.Context) (doctor.Report, error)

	Settings SettingsConfig // Optional; see there.

	SignIn *SignIn        // Optional; how people sign in. Without it there is no page for it.
	Limits httperr.Limits // Optional; see there. Live updates have no timeout.

	Mask *masking.Masker // Optional; what is hidden of what messages say. Query must answer from a store that hides the same.

	Reveal *reveal.Revealer // Optional; what shows payloads unmasked. Without it nobody sees them so.

	// Upgrade says how far tasks are judged anew after a change of the rules. Optional; without it nothing is said of that.
	Upgrade func() lifecycle.UpgradeProgress

	// TaskJSON writes what the API answers about a task, for its JSON tab. Optional; without it the tab only links.
	TaskJSON func(ctx context.Context, id string) ([]byte, error)
}

// Web serves the pages.
type Web struct {
	cfg    Config
	assets *static.Assets
}

// New checks the configuration and prepares the assets. It starts nothing.
func New(cfg Config) (*Web, error) {
	if cfg.Query == nil {
		return nil, errors.New("web: Query is required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = fleet.DefaultPrefix
	}
	assets, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("prepare assets: %w", err)
	}
	return &Web{cfg: cfg, assets: assets}, nil
}

// Register adds the pages, their assets and the stream of changes to r.
func (w *Web) Register(r *routes.Router) {
	endless := w.cfg.Limits
	endless.Timeout = -1
	changes := w.bounded(r, endless).Streams()
	r = w.bounded(r, withTimeToFail(w.cfg.Limits))
	r.Get(static.Prefix+"*asset", access.Open, gin.WrapH(w.assets.Handler())) // The page to sign in needs them.
	w.registerSignIn(r)
	w.page(r, "/", access.Read, w.overview)
	w.page(r, "/search", access.Read, w.search)
	w.page(r, "/tasks", access.Read, w.tasks)
	w.page(r, "/tasks/*id", access.Read, w.task)
	w.page(r, "/task", access.Read, w.task)
	w.page(r, "/payload", access.Read, w.payload)
	w.action(r, "/payload", access.Read, routes.Deed{Action: "reveal-payload"}, w.reveal)
	w.page(r, "/in-flight", access.Read, w.inFlight)
	w.page(r, "/in-flight/*id", access.Read, w.held)
	w.action(r, "/in-flight/*id", access.TriagePropose, routes.Deed{Action: "act-on-message-in-flight"}, w.actOnHeld)
	w.page(r, "/restarts", access.Read, w.restarts)
	w.page(r, "/agents", access.Read, w.agents)
	w.page(r, "/agents/*agent", access.Read, w.agent)
	w.page(r, "/dlq", access.Read, w.deadLetters)
	w.page(r, "/dlq/*id", access.Read, w.deadLetter)
	w.action(r, "/dlq/*id", access.TriagePropose, routes.Deed{Action: "act-on-dead-letter"}, w.actOnEntry)
	w.page(r, "/operations", access.Read, w.operations)
	w.page(r, "/operations/new", access.Read, w.newOperation)
	w.page(r, "/operations/:id", access.Read, w.operation)
	w.action(r, "/operations", access.TriagePropose, routes.Deed{Action: "start-operation"}, w.startOperation)
	w.action(r, "/operations/:id/cancel", access.TriageApply, routes.Deed{Action: "cancel"}, w.cancelOperation)
	w.page(r, "/alerts", access.Read, w.alertBoard)
	w.action(r, "/alerts", access.TriageApply, routes.Deed{Action: "act-on-alert"}, w.actOnAlert)
	w.page(r, "/alerts/silence", access.Read, w.silenceForm)
	w.action(r, "/alerts/silence", access.TriageApply, routes.Deed{Action: "silence alerts"}, w.silence)
	w.page(r, "/alerts/rules", access.Read, w.alertRules)
	w.page(r, "/runbooks/*rule", access.Read, w.runbook)
	w.page(r, "/duplicates", access.Read, w.duplicates)
	w.page(r, "/reconciliation", access.Read, w.reconciliation)
	w.action(r, "/reconciliation", access.Admin, routes.Deed{Action: "create-reconciliation"}, w.reconcileNow)
	w.page(r, statisticsPath, access.Read, w.statistics)
	w.page(r, "/map", access.Read, w.fleetMap)
	w.page(r, "/capture", access.Read, w.capture)
	w.page(r, "/doctor", access.Read, w.doctor)
	w.page(r, "/audit", access.Read, w.audit)
	w.page(r, settingsPath, access.Read, w.settings)
	w.action(r, settingsPath, access.Admin, routes.Deed{Action: "create-token"}, w.makeToken)
	w.page(r, settingsPath+"/tokens/:id", access.Oversee, w.confirmRevoke)
	w.action(r, settingsPath+"/tokens/:id", access.Admin, routes.Deed{Action: "revoke-token", Kind: "token"}, w.revokeToken)
	w.page(r, "/preferences", access.Read, w.keepPreference)
	if w.cfg.Hub != nil {
		w.page(changes, "/live", access.Read, w.live)
	}
}

// withTimeToFail ends the work on a page a fifth before the limit, so that a problem page comes within it: that waits for
// [failurePatience], and for the store to say how it is.
func withTimeToFail(l httperr.Limits) httperr.Limits {
	if l = l.WithDefaults(); l.Timeout > 0 {
		l.Timeout -= l.Timeout / 5
	}
	return l
}

// bounded holds requests to the limits, and answers what is beyond them, and a panic, by a page.
func (w *Web) bounded(r *routes.Router, limits httperr.Limits) *routes.Router {
	return r.With(httperr.RecoverAnswering(w.cfg.Log, w.Refuse), limits.Answering(w.Refuse))
}

// NotFound answers an address that no page has, for [gin.Engine.NoRoute].
func (w *Web) NotFound(c *gin.Context) {
	protect(c)
	w.fail(c, lifecycle.ErrNotFound)
}

// Refuse answers a request for a page that may not be had. The reader must be allowed to read: the answer shows what stands on every
// page. Nothing may have been written before.
func (w *Web) Refuse(c *gin.Context, err error) {
	protect(c)
	w.fail(c, err)
}

// policy allows our own files only: no inline script or style, no other host, no framing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func protect(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
}

func (w *Web) page(r *routes.Router, path string, needs access.Scope, h func(*gin.Context) error) {
	r.Get(path, needs, func(c *gin.Context) {
		protect(c)
		if err := h(c); err != nil {
			w.fail(c, err)
		}
	})
}

// action is what a form sends; does says how the audit names it, as the call of the API that does the same. The guard around the router lets only our own pages send forms.
func (w *Web) action(r *routes.Router, path string, needs access.Scope, does routes.Deed, h func(*gin.Context) error) {
	r.Change(http.MethodPost, path, needs, does, func(c *gin.Context) {
		protect(c)
		if err := h(c); err != nil {
			w.fail(c, err)
		}
	})
}

func (w *Web) now() lifecycle.Micros { return lifecycle.MicrosOf(w.cfg.Now()) }

// rest is what follows prefix in the escaped path, unescaped once: an id may contain slashes and any bytes.
func rest(c *gin.Context, prefix string) string {
	raw := strings.TrimPrefix(c.Request.URL.EscapedPath(), prefix)
	return unescape(raw)
}
