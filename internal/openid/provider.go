package openid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fleetglass/access"
)

// Config names the provider and what its claims mean.
type Config struct {
	Issuer       string                 // Required. The provider's issuer URL.
	ClientID     string                 // Required.
	ClientSecret string                 // Optional; public clients have none.
	Callback     string                 // Required. The address that the provider sends people back to.
	RolesClaim   string                 // Required. The claim with a person's roles or groups: a text or a list of texts.
	Roles        map[string]access.Role // Required. What each value of that claim means.
	Client       *http.Client           // Optional; default http.DefaultClient.
}

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	cfg Config

	mu    sync.Mutex
	found *oidc.Provider // Nil until the provider has answered once.
}

// Errors that callers branch on. Others come from the way to the provider.
var (
	ErrNoRole   = errors.New("no role")               // The person is known and may do nothing here.
	ErrRefused  = errors.New("the provider refused")  // The provider sent the person back with an error.
	ErrUnproved = errors.New("sign-in is not proved") // The answer does not belong to a sign-in that this browser began.
)

// New prepares a provider. It asks nothing: the provider may start later than this program.
func New(cfg Config) *Provider {
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	return &Provider{cfg: cfg}
}

// provider asks for the provider's metadata until it was answered once.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.cfg.Client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the identity provider: %w", err)
	}
	p.found = found
	return found, nil
}

func (p *Provider) client(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.cfg.Callback,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// Begin sends the browser to the provider. next is the address of this program where the person wants to go afterwards.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, next string) error {
	found, err := p.provider(r.Context())
	if err != nil {
		return err
	}
	attempt := newAttempt(next)
	http.SetCookie(w, attempt.cookie(p.cfg.Callback))
	address := p.client(found).AuthCodeURL(attempt.State, oidc.Nonce(attempt.Nonce), oauth2.S256ChallengeOption(attempt.Verifier))
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// Finish reads the provider's answer. It returns who signed in and where the person wanted to go. It errors with [ErrUnproved] where this
// browser began no such sign-in, with [ErrRefused] where the provider refused, and with [ErrNoRole] where no value of the claim is known.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (who access.Principal, next string, err error) {
	attempt, err := attemptOf(r)
	if err != nil {
		return access.Principal{}, "", err
	}
	http.SetCookie(w, forgotten(p.cfg.Callback))
	if why := r.FormValue("error"); why != "" {
		return access.Principal{}, "", fmt.Errorf("%w: %q, %q", ErrRefused, why, r.FormValue("error_description"))
	}
	claims, err := p.claims(r, attempt)
	if err != nil {
		return access.Principal{}, "", err
	}
	who, err = p.principal(claims)
	return who, attempt.Next, err
}

// claims exchanges the code for an identity token and checks it.
func (p *Provider) claims(r *http.Request, a attempt) (map[string]any, error) {
	ctx := oidc.ClientContext(r.Context(), p.cfg.Client)
	found, err := p.provider(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := p.client(found).Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, fmt.Errorf("exchange the code: %w", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := found.Verifier(&oidc.Config{ClientID: p.cfg.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnproved, err)
	}
	if token.Nonce != a.Nonce {
		return nil, fmt.Errorf("%w: the identity token has another nonce", ErrUnproved)
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil || claims[p.cfg.RolesClaim] != nil {
		return claims, err
	}
	return claims, addUserInfo(ctx, claims, found, tokens)
}

// addUserInfo adds what the provider says of the person only when it is asked: many put roles and groups there.
func addUserInfo(ctx context.Context, claims map[string]any, found *oidc.Provider, tokens *oauth2.Token) error {
	if found.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return fmt.Errorf("ask the identity provider about the person: %w", err)
	}
	if info.Subject != claims["sub"] {
		return fmt.Errorf("%w: the provider speaks of another person", ErrUnproved)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return err
	}
	for name, value := range more {
		if _, told := claims[name]; !told {
			claims[name] = value
		}
	}
	return nil
}

// principal says who the claims speak of and what that person may do: the most that any value of the roles' claim allows.
func (p *Provider) principal(claims map[string]any) (access.Principal, error) {
	name := nameOf(claims)
	var role access.Role
	for _, value := range values(claims[p.cfg.RolesClaim]) {
		role = higher(role, p.cfg.Roles[value])
	}
	if role == "" {
		return access.Principal{}, fmt.Errorf("%w: claim %q of %q has no value that names one", ErrNoRole, p.cfg.RolesClaim, name)
	}
	return access.Principal{Name: name, Scopes: role.Scopes()}, nil
}

func higher(a, b access.Role) access.Role {
	if slices.Index(access.Roles(), b) > slices.Index(access.Roles(), a) {
		return b
	}
	return a
}

// nameOf is how people know somebody, and the subject where the provider says nothing better. An address counts only where the provider
// verified it: others may be somebody else's.
func nameOf(claims map[string]any) string {
	if email, _ := claims["email"].(string); email != "" && claims["email_verified"] == true {
		return email
	}
	if name, _ := claims["preferred_username"].(string); name != "" {
		return name
	}
	subject, _ := claims["sub"].(string)
	return subject
}

// values are the texts of a claim, which is a text or a list of texts.
func values(claim any) []string {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}
