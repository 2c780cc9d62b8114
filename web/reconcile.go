package web

import (
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// newFormKey makes a form that is sent twice ask once.
func newFormKey() string { return "page-" + rand.Text() }

// reconcileNow asks for a reconciliation, and leads to it. Requests of other sites do not come here: the origin is checked before.
func (w *Web) reconcileNow(c *gin.Context) error {
	if w.cfg.Reconcile == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server makes no reconciliations.")
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxForm)
	if err := c.Request.ParseForm(); err != nil {
		return httperr.New(httperr.InvalidBody, err)
	}
	period, err := formPeriod(c)
	if err != nil {
		return err
	}
	made, _, err := w.cfg.Reconcile.Create(c.Request.Context(), reconcile.Request{Period: period, Key: c.Request.PostForm.Get("key"), Actor: access.From(c.Request.Context()).Name})
	switch {
	case errors.Is(err, reconcile.ErrPeriod):
		return httperr.New(httperr.InvalidBody, err).WithDetail("The period is empty or lies in the future.")
	case errors.Is(err, reconcile.ErrKeyReused):
		return httperr.New(httperr.IdempotencyKeyReused, err).WithDetail("This form was sent before with another period. Open the page again.")
	case errors.Is(err, reconcile.ErrBusy):
		return httperr.New(httperr.RateLimited, err).WithDetail("Too many reconciliations wait. Try again in a minute.")
	case err != nil:
		return err
	}
	c.Redirect(http.StatusSeeOther, reconciliationAddress(made.ID))
	return nil
}

// formPeriod reads the times of the form, which have no zone of their own, in the reader's zone. What is empty is not known.
func formPeriod(c *gin.Context) (reconcile.Period, error) {
	var p reconcile.Period
	zone := preferencesOf(c).zone
	for name, at := range map[string]*lifecycle.Micros{"from": &p.From, "to": &p.To} {
		text := c.Request.PostForm.Get(name)
		if text == "" {
			continue
		}
		t, err := time.ParseInLocation("2006-01-02T15:04", text, zone)
		if err != nil || t.Year() < 1971 {
			return p, httperr.New(httperr.InvalidBody, err).WithDetail("%s: not a time, such as 2026-11-20T16:00.", name)
		}
		*at = lifecycle.MicrosOf(t)
	}
	return p, nil
}
