package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Alive says that the process answers.
type Alive struct {
	Alive   bool   `json:"alive" example:"true"`
	Version string `json:"version" example:"0.1.0"`
}

// Readiness says whether every part can do its work.
type Readiness struct {
	Ready bool    `json:"ready" example:"true"`
	Parts []Part  `json:"parts" nullable:"false"`
	AsOf  Instant `json:"as_of"`
}

// Part is how one part of Fleetglass is.
type Part struct {
	Name       string  `json:"name" example:"publishes"`
	Kind       string  `json:"kind" example:"collector"`
	State      string  `json:"state" enum:"ok,best_effort,behind,starting,not_configured,down" example:"ok"`
	Detail     Text    `json:"detail" doc:"A sentence for operators."`
	LagMS      *int64  `json:"lag_ms" doc:"How far behind its source it is; null while it looks at nothing: down, starting or not configured." example:"0"`
	Pending    *uint64 `json:"pending" doc:"Lines that wait at its source; null likewise." example:"0"`
	LastAt     Instant `json:"last_at" doc:"When it last committed lines, or found that none wait."`
	Quarantine uint64  `json:"quarantined" doc:"Undecodable lines since start."`
	Handled    uint64  `json:"handled" doc:"Lines since start."`
}

func (a *API) describeProbes() {
	register(a, call{
		id: "healthz", needs: access.Open, path: "/healthz", tag: "probes", summary: "Whether the process answers", example: Alive{Alive: true, Version: "0.1.0"},
	}, func(context.Context, *struct{}) (*reply[Alive], error) {
		return &reply[Alive]{Status: http.StatusOK, CacheControl: "no-store", Body: Alive{Alive: true, Version: a.cfg.Options.Version}}, nil
	})
	register(a, call{
		id: "readyz", needs: access.Read, path: "/readyz", tag: "probes", summary: "Whether every part can do its work", example: exampleReadiness(),
		detail: "503, with the same body, when a part is down or still starting.", shape: shapeReadiness,
	}, a.readiness)
}

// shapeReadiness documents that the body of 503 is the same.
func shapeReadiness(op *huma.Operation) {
	op.Responses["503"] = &huma.Response{Description: "Not ready", Content: op.Responses["200"].Content}
}

func (a *API) readiness(context.Context, *struct{}) (*reply[Readiness], error) {
	parts := a.cfg.Health.Health()
	body := Readiness{Ready: health.Ready(parts), Parts: []Part{}, AsOf: Instant(a.now())}
	out := &reply[Readiness]{Status: http.StatusOK, CacheControl: "no-store", Body: body}
	if !out.Body.Ready {
		out.Status = http.StatusServiceUnavailable
	}
	for _, p := range parts {
		out.Body.Parts = append(out.Body.Parts, Part{
			Name: p.Name, Kind: p.Kind, State: string(p.State), Detail: Text(p.Detail), LagMS: knownMilliseconds(p.Lag, p.Measured()), Pending: pendingOf(p),
			LastAt: Instant(lifecycle.MicrosOf(p.LastAt)), Quarantine: p.Quarantine, Handled: p.Handled,
		})
	}
	return out, nil
}

// pendingOf is how many lines wait for a part; nil where it looks at nothing.
func pendingOf(p health.Part) *uint64 {
	if !p.Measured() {
		return nil
	}
	return &p.Pending
}
