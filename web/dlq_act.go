package web

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/views"
)

// actOnEntry previews an action on an entry, or takes it. Requests of other sites do not come here: the origin is checked before.
func (w *Web) actOnEntry(c *gin.Context) error {
	if w.cfg.Actions == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on dead letters.")
	}
	typed, request, err := w.readAction(c)
	if err != nil {
		return err
	}
	if c.Request.PostForm.Get("step") == "do" && request.Key != "" {
		return w.act(c, typed, request)
	}
	request.Key = newFormKey()
	preview, err := w.cfg.Actions.Preview(c.Request.Context(), request)
	if err != nil {
		return w.refuseAction(c, typed, request, err)
	}
	preview = preview.Masked(w.cfg.Mask)
	return w.showAction(c, typed, views.ActionPage{Key: request.Key, Preview: &preview, Until: request.Params.Until}, http.StatusOK)
}

// act takes the action, once however often its form is sent, and leads to the entry.
func (w *Web) act(c *gin.Context, typed views.ActionTyped, r dlqtriage.Request) error {
	if err := w.cfg.Access.Authorize(access.From(c.Request.Context()), actionNeeds(r.Action)); err != nil {
		if w.cfg.Denied != nil {
			w.cfg.Denied(c.Request, string(r.Action), err)
		}
		return err
	}
	a, err := w.cfg.Actions.Act(c.Request.Context(), r)
	if err != nil {
		return w.refuseAction(c, typed, r, err)
	}
	c.Redirect(http.StatusSeeOther, telling(entryPlace(typed.List, r.Entry), a.ID)+"#decided")
	return nil
}

// refuseAction shows a refusal with what was typed; any other error stays as it is.
func (w *Web) refuseAction(c *gin.Context, typed views.ActionTyped, r dlqtriage.Request, err error) error {
	var refused *dlqtriage.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	p := views.ActionPage{Form: views.ActionForm{Wrong: refused.Why}}
	if len(refused.Blocked) > 0 { // The preview names all that stands in the way.
		if preview, err := w.cfg.Actions.Preview(c.Request.Context(), r); err == nil {
			preview = preview.Masked(w.cfg.Mask)
			p.Preview, p.Key, p.Until = &preview, newFormKey(), r.Params.Until
		}
	}
	if refused.Code == dlqtriage.RefusedChanged {
		p.Form.Wrong = "The entry was changed meanwhile. Its status now is shown above; what you typed is kept."
	}
	return w.showAction(c, typed, p, httperr.New(httperr.Code(refused.Code), err).Status)
}

// showAction shows the action with the entry as it is now.
func (w *Web) showAction(c *gin.Context, typed views.ActionTyped, p views.ActionPage, status int) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	found, err := w.cfg.Query.Entry(ctx, rest(c, "/dlq/"))
	if err != nil {
		return err
	}
	wrong := p.Form.Wrong
	p.Original = originalText(found)
	p.Entry, p.Href, p.Form = found.Entry, entryAddress(found.ID), w.actionForm(ctx, found, typed)
	p.Back = entryPlace(typed.List, found.ID)
	p.Broken = brokenJSON(p.Original.Body, typed)
	p.Form.Wrong, p.May = wrong, w.mayNot(ctx, actionNeeds(typed.Kind))
	f := frame{title: "Action: " + views.Cut(found.ID, 60), section: "dlq", status: status, search: true, snapshot: snap, still: true}
	return w.render(c, f, views.ActionPreview(p))
}
