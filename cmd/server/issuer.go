package main

import (
	"context"
	"time"

	"fleetglass/access"
)

// issueTokens prepares what makes and revokes tokens while the program runs. Where nobody must say who he is, it makes none and follows nothing.
func (a *App) issueTokens(ctx context.Context, cfg Config, store access.TokenStore, now func() time.Time) (*access.Issuer, error) {
	issuer, err := access.NewIssuer(access.IssuerConfig{Store: store, Tokens: a.tokens, Now: now, Log: a.log})
	if err != nil || !cfg.Authenticated() {
		return issuer, err
	}
	a.work("tokens of the store", issuer.Run)
	return issuer, issuer.Follow(ctx)
}
