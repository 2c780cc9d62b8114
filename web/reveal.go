package web

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/reveal"
	"fleetglass/views"
)

// maxRevealForm bounds the form that asks for an unmasked payload, in bytes.
const maxRevealForm = 64 << 10

// reveal shows the payload of one message unmasked, after the audit has a record of it. Requests of other sites do not come here.
func (w *Web) reveal(c *gin.Context) error {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxRevealForm)
	if err := c.Request.ParseForm(); err != nil {
		return httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	key, err := lifecycle.ParseMessageKey(form.Get("message"))
	if err != nil {
		return &lifecycle.FilterError{Parameter: "message", Detail: "is not <stream>:<sequence>"}
	}
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	page := views.RevealedPage{Back: "/payload?message=" + key.String()}
	if task := form.Get("task"); task != "" {
		page.Back = messageAddress(task, key)
	}
	p, err := w.cfg.Reveal.Reveal(ctx, reveal.Request{Who: access.From(ctx), By: pageActor(c), Message: key, Reason: typedText(form.Get("reason"))})
	if err != nil {
		return err
	}
	page.Payload.Key = views.Printable(key.String())
	fillPayload(&page.Payload, p)
	page.Payload.Raw = ""
	return w.render(c, frame{title: "Unmasked payload", section: "tasks", search: true, snapshot: snap, still: true, secret: true}, views.Revealed(page))
}
