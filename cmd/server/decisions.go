package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/internal/requestkey"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/mcp"
)

// auditTimeout bounds the writing of a refusal, for which its caller waits.
const auditTimeout = 5 * time.Second

// auditDenials keeps a record of everybody known who was refused what changes something.
func auditDenials(store decision.Auditor, now func() time.Time, log *slog.Logger) func(routes.Denial) {
	return func(d routes.Denial) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.Request.Context()), auditTimeout)
		defer cancel()
		if err := store.AddAudit(ctx, denialRecord(d, lifecycle.MicrosOf(now()))); err != nil {
			log.Error("a refusal could not be kept in the audit", "error", err)
		}
	}
}

func denialRecord(d routes.Denial, at lifecycle.Micros) decision.AuditRecord {
	r := actorOf(d.Who, viaOf(d.Request)).Record("denied-"+rand.Text(), at, d.Action, decision.Denied)
	r.Target, r.Reason, r.RequestID = d.Target, d.Why.Error(), requestkey.NameOf(d.Request, d.Who)
	return r
}

func actorOf(who access.Principal, via string) decision.Actor {
	return decision.Actor{Name: who.Name, Role: who.Role(), TokenID: who.TokenID(), Via: via}
}

// viaOf tells how a request came in: by what was said of it, else by its address.
func viaOf(r *http.Request) string {
	switch via := access.Via(r.Context()); {
	case via != "":
		return via
	case r.URL.Path == mcp.Path:
		return decision.ViaMCP
	case strings.HasPrefix(r.URL.Path, "/api/"):
		return decision.ViaAPI
	}
	return decision.ViaPage
}
