package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// settingsPath is the page of settings.
const settingsPath = "/settings"

// TokenIssuer lists, makes and revokes tokens while the program runs; [access.Issuer] does.
type TokenIssuer interface {
	List(ctx context.Context) ([]access.ListedToken, error)
	Create(ctx context.Context, by decision.Actor, wish access.Token) (text string, made access.StoredToken, err error)
	Revoke(ctx context.Context, by decision.Actor, id string) (access.StoredToken, error)
}

// SettingsConfig is what the page of settings shows beside who the reader is.
type SettingsConfig struct {
	Tokens    TokenIssuer          // Optional; without it the page says that this server makes none.
	TokensOff bool                 // Authentication is off, so that no token is asked for.
	InForce   []views.SettingGroup // Optional; the settings of the program. They hold no secret.
	About     func() views.About   // Optional; what the program is.
}

// settings is the page of settings, in the parts that the reader may see.
func (w *Web) settings(c *gin.Context) error {
	return w.showSettings(c, views.TokensPanel{}, http.StatusOK)
}

func (w *Web) showSettings(c *gin.Context, tokens views.TokensPanel, status int) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.SettingsPage{Links: views.ViewLinks{Share: settingsPath}, You: w.you(access.From(ctx))}
	if w.cfg.Settings.About != nil {
		p.About = w.cfg.Settings.About()
	}
	if w.cfg.Access.Authorize(access.From(ctx), access.Oversee) != nil {
		p.Reveals = "Only administrators see the tokens and the configuration of this server."
	} else if p.Tokens, err = w.tokensPanel(ctx, tokens); err != nil {
		return err
	} else {
		p.Groups, p.Links = w.cfg.Settings.InForce, links(c, settingsPath, "/api/v1/tokens", nil)
	}
	f := frame{title: "Settings", section: "settings", status: status, search: true, snapshot: snap, still: true, secret: tokens.Secret != ""}
	return w.render(c, f, views.Settings(p))
}

// you says who the reader is, and how that is known.
func (w *Web) you(who access.Principal) views.You {
	y := views.You{Name: who.Name, Role: who.Role(), Kind: "a token with each request", SignsOut: who.Session != ""}
	switch {
	case who.Session != "" && who.Token != "":
		y.Kind = "a session that began with a token"
	case who.Session != "":
		y.Kind = "a session that began at the identity provider"
	case who.Token == "":
		y.Kind = "nothing: authentication is off, so everybody on this machine may do everything"
	}
	for _, s := range who.Scopes {
		y.Scopes = append(y.Scopes, string(s))
	}
	if w.cfg.SignIn != nil {
		if until, ok := w.cfg.SignIn.Sessions.Until(who); ok {
			y.Until = lifecycle.MicrosOf(until)
		}
	}
	return y
}

// tokensPanel lists the tokens beside what was typed, or was just made.
func (w *Web) tokensPanel(ctx context.Context, p views.TokensPanel) (views.TokensPanel, error) {
	for _, r := range access.Roles() {
		p.Roles = append(p.Roles, string(r))
	}
	for _, s := range access.Scopes() {
		p.Scopes = append(p.Scopes, string(s))
	}
	if p.Off = w.tokensOff(ctx); w.cfg.Settings.Tokens == nil {
		return p, nil
	}
	listed, err := w.cfg.Settings.Tokens.List(ctx)
	for _, t := range listed {
		p.Rows = append(p.Rows, tokenRow(t))
	}
	return p, err
}

// tokensOff says why no token can be made or revoked; empty where that can be done.
func (w *Web) tokensOff(ctx context.Context) views.Denial {
	switch {
	case w.cfg.Settings.Tokens == nil:
		return views.Denial{Say: "This server makes no tokens."}
	case w.cfg.Settings.TokensOff:
		return views.Denial{Say: "Authentication is off, so no token is asked for and none is made. Configure it first: --token, --auth-tokens-file or --oidc-issuer."}
	}
	return w.mayNot(ctx, access.Admin)
}

func tokenRow(t access.ListedToken) views.TokenRow {
	row := views.TokenRow{
		ID: t.ID, Name: t.Name, Role: string(t.Role), CreatedBy: t.CreatedBy, Configured: t.Configured, CreatedAt: t.CreatedAt, LastUsed: t.LastUsed,
	}
	row.Agents = t.Agents
	for _, s := range t.Granted() {
		row.Scopes = append(row.Scopes, string(s))
	}
	if !t.Expires.IsZero() {
		row.Expires = lifecycle.MicrosOf(t.Expires)
	}
	return row
}

// makeToken makes the token that the form asks for, and shows its secret this once.
func (w *Web) makeToken(c *gin.Context) error {
	if w.cfg.Settings.Tokens == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server makes no tokens.")
	}
	typed, wish, err := readTokenForm(c)
	if err != nil {
		return err
	}
	if len(typed.Wrong) > 0 {
		return w.showSettings(c, views.TokensPanel{Form: typed}, http.StatusBadRequest)
	}
	secret, made, err := w.cfg.Settings.Tokens.Create(c.Request.Context(), pageActor(c), wish)
	var wrong *access.InvalidToken
	switch {
	case errors.As(err, &wrong):
		for _, part := range wrong.Wrong {
			typed.Wrong[part.Field] = part.Detail
		}
		return w.showSettings(c, views.TokensPanel{Form: typed}, http.StatusBadRequest)
	case errors.Is(err, access.ErrTokenExists):
		typed.Wrong["name"] = "a token has this name; take another one, or revoke that one first"
		return w.showSettings(c, views.TokensPanel{Form: typed}, http.StatusConflict)
	case err != nil:
		return tokenRefusal(err)
	}
	return w.showSettings(c, views.TokensPanel{Made: made.Name, Secret: secret}, http.StatusCreated)
}

// readTokenForm reads what was typed, and the token that it asks for.
func readTokenForm(c *gin.Context) (views.TokenForm, access.Token, error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxTokenForm)
	if err := c.Request.ParseForm(); err != nil {
		return views.TokenForm{}, access.Token{}, httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	typed := views.TokenForm{Name: form.Get("name"), Role: form.Get("role"), Agents: form.Get("agents"), Expires: form.Get("expires"), Scopes: map[string]bool{}, Wrong: map[string]string{}}
	wish := access.Token{Name: typed.Name, Role: access.Role(typed.Role), Agents: strings.FieldsFunc(typed.Agents, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })}
	for _, s := range form["scopes"] {
		typed.Scopes[s] = true
		wish.Scopes = append(wish.Scopes, access.Scope(s))
	}
	if typed.Expires != "" {
		day, err := time.Parse(time.DateOnly, typed.Expires)
		if err != nil {
			typed.Wrong["expires_at"] = "is not a day such as 2027-11-20"
		}
		wish.Expires = day
	}
	return typed, wish, nil
}

// maxTokenForm bounds the form of a token, in bytes.
const maxTokenForm = 16 << 10

// confirmRevoke shows a token before it is revoked.
func (w *Web) confirmRevoke(c *gin.Context) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	panel, err := w.tokensPanel(ctx, views.TokensPanel{})
	if err != nil {
		return err
	}
	for _, t := range panel.Rows {
		if t.ID != c.Param("id") {
			continue
		}
		p := views.RevokePage{Token: t, Off: panel.Off}
		if t.Configured {
			p.Off = views.Denial{Say: "It is one of the settings. Take it out of the settings or of the tokens file."}
		}
		return w.render(c, frame{title: "Revoke a token", section: "settings", search: true, snapshot: snap, still: true}, views.RevokeToken(p))
	}
	return lifecycle.ErrNotFound
}

// revokeToken ends a token of the store.
func (w *Web) revokeToken(c *gin.Context) error {
	if w.cfg.Settings.Tokens == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server makes no tokens.")
	}
	was, err := w.cfg.Settings.Tokens.Revoke(c.Request.Context(), pageActor(c), c.Param("id"))
	if err != nil {
		return tokenRefusal(err)
	}
	return w.showSettings(c, views.TokensPanel{Revoked: was.Name}, http.StatusOK)
}

// tokenRefusal words what stands against a token; any other error stays as it is.
func tokenRefusal(err error) error {
	switch {
	case errors.Is(err, access.ErrOff):
		return httperr.New(httperr.Conflict, err).WithDetail("Authentication is off, so nobody is asked for a token. Turn it on first: --token, --auth-tokens-file or --oidc-issuer.")
	case errors.Is(err, access.ErrConfigured):
		return httperr.New(httperr.Conflict, err).WithDetail("This token comes from the settings, so it cannot be revoked here: take it out of the settings or of the tokens file.")
	}
	return err
}
