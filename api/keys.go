package api

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"fleetglass/internal/routes"
)

// keyUse is what a call that changes something does with an Idempotency-Key.
type keyUse int

const (
	keyTaken    keyUse = iota // It may have one; then a repetition is answered with the reply that was kept.
	keyRequired               // It must have one.
	keySecret                 // It may have one; the reply shows a secret, and is kept locked.
	keyReport                 // It may have one, not under the alias: that is also the header by which a task's message names its own key, which agents send along with every report.
)

// keyUseKey is where an operation carries its use of keys among its metadata.
const keyUseKey = "key-use"

// keyed is the router for an operation: where it changes something, a repetition is answered before the handler.
func (a *API) keyed(r *routes.Router, op *huma.Operation) *routes.Router {
	use, _ := op.Metadata[keyUseKey].(keyUse)
	if a.cfg.Keys == nil || !scopeOf(op).Changes() {
		return r
	}
	switch use {
	case keySecret:
		return r.With(a.cfg.Keys.Sealed())
	case keyReport:
		return r.With(func(c *gin.Context) { c.Request.Header.Del("X-Idempotency-Key") }, a.cfg.Keys.Middleware(false))
	}
	return r.With(a.cfg.Keys.Middleware(use == keyRequired))
}

// KeyInput declares the headers by which a repeated call is recognized. They are read before the handler.
type KeyInput struct {
	IdempotencyKey  string `header:"Idempotency-Key" doc:"Names the call. A call that is sent again with the same key has no second effect; it gets the reply of the first one, with Idempotency-Replayed: true. A key is kept for 72 hours and has at most 200 characters."`
	XIdempotencyKey string `header:"X-Idempotency-Key" doc:"Alias of Idempotency-Key."`
}
