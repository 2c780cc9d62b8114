package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/openid"
	"fleetglass/internal/routes"
	"fleetglass/internal/sessions"
	"fleetglass/views"
)

// SignInPath is the page on which people sign in.
const SignInPath = "/login"

// The other addresses of a sign-in.
const (
	signOutPath  = "/logout"
	providerPath = SignInPath + "/provider"
	CallbackPath = SignInPath + "/callback" // Where the identity provider sends people back to.
)

// SignIn is how people sign in with a browser.
type SignIn struct {
	Sessions *sessions.Sessions // Required.
	ByToken  func() bool        // Required. Whether there are tokens that may be typed.
	Provider *openid.Provider   // Optional; an identity provider.
}

func (w *Web) registerSignIn(r *routes.Router) {
	if w.cfg.SignIn == nil {
		return
	}
	w.page(r, SignInPath, access.Open, w.signIn)
	w.action(r, signOutPath, access.Open, routes.Deed{}, w.signOut)
	w.action(r, SignInPath, access.Open, routes.Deed{}, func(c *gin.Context) error { return w.signInByToken(c, r.Identify) })
	if w.cfg.SignIn.Provider != nil {
		w.page(r, providerPath, access.Open, w.askProvider)
		w.page(r, CallbackPath, access.Open, w.answerOfProvider)
	}
}

// signIn shows the page, or goes on where the reader is signed in already.
func (w *Web) signIn(c *gin.Context) error {
	next := localPath(c.Query("next"))
	if _, ok := w.cfg.SignIn.Sessions.Owner(c.Request); ok {
		c.Redirect(http.StatusSeeOther, next)
		return nil
	}
	return w.renderSignIn(c, http.StatusOK, next, "")
}

func (w *Web) renderSignIn(c *gin.Context, status int, next, failed string) error {
	p := views.SignInPage{
		Theme: preferencesOf(c).theme, Environment: w.cfg.Environment, Next: next, Failed: failed, ByToken: w.cfg.SignIn.ByToken(),
	}
	if w.cfg.SignIn.Provider != nil {
		p.Provider = providerPath + "?next=" + url.QueryEscape(next)
	}
	return w.renderDocument(c, status, views.SignIn(p))
}

// signInByToken begins a session for whoever has the token that was typed.
func (w *Web) signInByToken(c *gin.Context, identify func(*http.Request, string) (access.Principal, error)) error {
	next := localPath(c.PostForm("next"))
	who, err := identify(c.Request, c.PostForm("token"))
	if err == nil {
		return w.begin(c, who, next, "token")
	}
	switch problem := httperr.From(err); {
	case problem.Code == httperr.RateLimited:
		return w.renderSignIn(c, problem.Status, next, "Too many sign-ins from this address failed. Wait a minute and try again.")
	case errors.Is(err, access.ErrExpired):
		return w.renderSignIn(c, http.StatusUnauthorized, next, "This token has expired.")
	}
	return w.renderSignIn(c, http.StatusUnauthorized, next, "This token is not valid here.")
}

func (w *Web) begin(c *gin.Context, who access.Principal, next, way string) error {
	if err := w.cfg.SignIn.Sessions.Begin(c.Writer, c.Request, who); err != nil {
		return err
	}
	w.cfg.Log.InfoContext(c.Request.Context(), "signed in", "actor", who.Name, "way", way, "address", c.Request.RemoteAddr)
	c.Redirect(http.StatusSeeOther, next)
	return nil
}

func (w *Web) signOut(c *gin.Context) error {
	who, ok := w.cfg.SignIn.Sessions.Owner(c.Request)
	if err := w.cfg.SignIn.Sessions.End(c.Writer, c.Request); err != nil {
		return err
	}
	if ok {
		w.cfg.Log.InfoContext(c.Request.Context(), "signed out", "actor", who.Name, "address", c.Request.RemoteAddr)
	}
	c.Redirect(http.StatusSeeOther, SignInPath)
	return nil
}

func (w *Web) askProvider(c *gin.Context) error {
	next := localPath(c.Query("next"))
	if err := w.cfg.SignIn.Provider.Begin(c.Writer, c.Request, next); err != nil {
		w.cfg.Log.ErrorContext(c.Request.Context(), "the identity provider cannot be asked", "error", err)
		return w.renderSignIn(c, http.StatusBadGateway, next, "The identity provider does not answer. Try again in a minute.")
	}
	return nil
}

func (w *Web) answerOfProvider(c *gin.Context) error {
	who, next, err := w.cfg.SignIn.Provider.Finish(c.Writer, c.Request)
	if err == nil {
		return w.begin(c, who, localPath(next), "provider")
	}
	w.cfg.Log.WarnContext(c.Request.Context(), "sign-in failed", "address", c.Request.RemoteAddr, "error", err)
	switch {
	case errors.Is(err, openid.ErrNoRole):
		return w.renderSignIn(c, http.StatusForbidden, "/", "You are known to your organisation, but you have no role here.")
	case errors.Is(err, openid.ErrRefused):
		return w.renderSignIn(c, http.StatusForbidden, "/", "Your organisation refused the sign-in.")
	case errors.Is(err, openid.ErrUnproved):
		return w.renderSignIn(c, http.StatusBadRequest, "/", "This sign-in did not begin in this browser, or took too long. Begin again.")
	}
	return w.renderSignIn(c, http.StatusBadGateway, "/", "The identity provider does not answer. Try again in a minute.")
}
