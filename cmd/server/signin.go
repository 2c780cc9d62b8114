package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"fleetglass/access"
	"fleetglass/internal/openid"
	"fleetglass/internal/sessions"
	"fleetglass/web"
)

// signIn is how people sign in; nil where nobody must.
func (a *App) signIn(cfg Config, store access.SessionStore) *web.SignIn {
	if !cfg.Authenticated() {
		return nil
	}
	s := &web.SignIn{ByToken: a.tokens.Any, Sessions: sessions.New(sessions.Config{
		Tokens: a.tokens, Store: store, Log: a.log, Life: time.Duration(cfg.SessionLife), Secure: strings.HasPrefix(cfg.BaseURL, "https:") || cfg.TLSCert != "",
	})}
	a.work("sessions", s.Sessions.Run)
	if cfg.OIDCIssuer != "" {
		roles, _ := cfg.oidcRoles() // Validated.
		s.Provider = openid.New(openid.Config{
			Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID, ClientSecret: cfg.OIDCClientSecret.Reveal(),
			Callback: strings.TrimSuffix(cfg.BaseURL, "/") + web.CallbackPath, RolesClaim: cfg.OIDCRolesClaim, Roles: roles,
		})
	}
	return s
}

// oidcRoles says which role each value of the claim names.
func (c Config) oidcRoles() (map[string]access.Role, error) {
	out := map[string]access.Role{}
	for _, pair := range c.OIDCRoles {
		value, name, _ := strings.Cut(pair, "=")
		role := access.Role(name)
		if value == "" || !slices.Contains(access.Roles(), role) {
			return nil, fmt.Errorf("%q is not a value and a role, such as fleet-oncall=triager (viewer, triager or admin)", pair)
		}
		out[value] = role
	}
	return out, nil
}

func (c *Config) validateSignIn(p *problems) {
	if time.Duration(c.SessionLife) < time.Minute {
		p.add("session-life", "%s is less than 1m", c.SessionLife)
	}
	if c.OIDCIssuer == "" {
		if c.OIDCClientID != "" || c.OIDCClientSecret != "" {
			p.add("oidc-client-id", "is only for a provider: set --oidc-issuer too")
		}
		return
	}
	issuer, err := url.Parse(c.OIDCIssuer)
	switch {
	case err != nil || issuer.Host == "":
		p.add("oidc-issuer", "%q is not an address such as https://login.example.org", c.OIDCIssuer)
	case issuer.Scheme != "https" && !loopback(withPort(issuer)):
		p.add("oidc-issuer", "%q is not https: whoever sits between could sign in as anybody", c.OIDCIssuer)
	}
	if c.OIDCClientID == "" {
		p.add("oidc-client-id", "is missing: --oidc-issuer needs it")
	}
	if c.BaseURL == "" {
		p.add("base-url", "is missing: the provider of --oidc-issuer sends people back there")
	}
	if _, err := c.oidcRoles(); err != nil {
		p.add("oidc-roles", "%w", err)
	}
}

// withPort is the host of an address with a port, whatever it is.
func withPort(u *url.URL) string {
	if u.Port() == "" {
		return u.Host + ":0"
	}
	return u.Host
}
