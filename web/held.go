package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// heldPrefix is where messages in flight have their pages.
const heldPrefix = "/in-flight/"

func heldAddress(k lifecycle.MessageKey) string {
	return heldPrefix + url.PathEscape(dlqtriage.EntryID(k))
}

// heldOf reads the message in flight that an address names.
func (w *Web) heldOf(c *gin.Context) (dlqtriage.Held, error) {
	if w.cfg.Actions == nil {
		return dlqtriage.Held{}, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on messages in flight.")
	}
	key, err := dlqtriage.ParseEntryID(rest(c, heldPrefix))
	if err != nil {
		return dlqtriage.Held{}, httperr.New(httperr.NotFound, err)
	}
	return w.cfg.Actions.Held(c.Request.Context(), key)
}

// held is a message in flight with what can be done about it.
func (w *Web) held(c *gin.Context) error {
	h, err := w.heldOf(c)
	if err != nil {
		return err
	}
	return w.showHeld(c, views.HeldPage{Held: h}, http.StatusOK)
}

// showHeld shows a message in flight as it is now.
func (w *Web) showHeld(c *gin.Context, p views.HeldPage, status int) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p.Task = lifecycle.PageOfTask(p.Held.Task.ID)
	p.Recovery = recoveryView(p.Held.Recovery, p.Held.Task.ID)
	p.Actions = w.heldPanel(ctx, p.Held, p.Form.Typed)
	if p.Held.Lease.State.Died() {
		p.Actions.Href, p.Actions.Link = entryAddress(p.Held.Key.String()), "It died: what can be done about the dead letter"
	}
	p.May = w.mayNot(ctx, access.TriageApply)
	f := frame{title: "In flight: " + views.Cut(p.Held.Task.ID, 60), section: "in-flight", status: status, search: true, snapshot: snap, still: p.Form.Typed.Kind != ""}
	if !p.Held.InHand {
		f.ended = p.Held.Task.ID
	}
	return w.render(c, f, views.Held(p))
}

// heldPanel is what can be done about a message in flight. What was typed into one of its forms is kept.
func (w *Web) heldPanel(ctx context.Context, h dlqtriage.Held, typed views.HeldTyped) views.ActionPanel {
	off := w.mayNot(ctx, access.TriagePropose)
	switch {
	case off.Say != "":
	case !h.InHand:
		off.Say = "No worker has it now: there is no lease to act on."
	case h.Lease.Acting != "":
		off.Say = "An action on it has not ended. The page shows when it has."
	}
	var forms []views.HeldForm
	for _, kind := range dlqtriage.HeldKinds() {
		f := views.HeldForm{Href: heldAddress(h.Key), Revision: h.Revision, Typed: views.HeldTyped{Kind: kind}}
		if typed.Kind == kind {
			f.Typed = typed
		}
		if off.Say == "" {
			forms = append(forms, f)
		}
	}
	return views.HeldActions(off, forms)
}

// heldInTask is the panel of the message by which a task is shown; nil where no worker has it.
func (w *Web) heldInTask(ctx context.Context, t lifecycle.Trace) (*views.ActionPanel, error) {
	if w.cfg.Actions == nil || t.Lease == nil {
		return nil, nil
	}
	h, err := w.cfg.Actions.Held(ctx, t.Lease.Message)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil
	}
	p := w.heldPanel(ctx, h, views.HeldTyped{})
	p.Href, p.Link = heldAddress(h.Key), "This message in flight"
	return &p, err
}

// actOnHeld previews an action on a message in flight, or takes it. Requests of other sites do not come here: the origin is checked before.
func (w *Web) actOnHeld(c *gin.Context) error {
	h, err := w.heldOf(c)
	if err != nil {
		return err
	}
	p, r, err := w.readHeld(c, h)
	if err != nil {
		return err
	}
	if c.Request.PostForm.Get("step") == "do" && r.Key != "" {
		return w.takeHeld(c, p, r)
	}
	preview, err := w.cfg.Actions.PreviewHeld(c.Request.Context(), r)
	if err != nil {
		return w.refuseHeld(c, p, err)
	}
	p.Key, p.Preview = newFormKey(), &preview
	return w.showHeld(c, p, http.StatusOK)
}

// takeHeld takes the action, once however often its form is sent, and leads to the task.
func (w *Web) takeHeld(c *gin.Context, p views.HeldPage, r dlqtriage.HeldRequest) error {
	if err := w.cfg.Access.Authorize(access.From(c.Request.Context()), access.TriageApply); err != nil {
		if w.cfg.Denied != nil {
			w.cfg.Denied(c.Request, string(r.Action), err)
		}
		return err
	}
	if _, err := w.cfg.Actions.ActHeld(c.Request.Context(), r); err != nil {
		return w.refuseHeld(c, p, err)
	}
	c.Redirect(http.StatusSeeOther, lifecycle.PageOfTask(p.Held.Task.ID))
	return nil
}

// refuseHeld shows a refusal with what was typed; any other error stays as it is.
func (w *Web) refuseHeld(c *gin.Context, p views.HeldPage, err error) error {
	var refused *dlqtriage.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	p.Wrong = refused.Why
	return w.showHeld(c, p, httperr.New(httperr.Code(refused.Code), err).Status)
}

// readHeld reads the form of an action: what was typed, and what that asks for.
func (w *Web) readHeld(c *gin.Context, h dlqtriage.Held) (p views.HeldPage, r dlqtriage.HeldRequest, err error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxActionForm)
	if err := c.Request.ParseForm(); err != nil {
		return p, r, httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	revision, err := strconv.ParseUint(form.Get("revision"), 10, 64)
	if err != nil {
		return p, r, httperr.New(httperr.InvalidBody, err).WithDetail("The form names no revision. Open the page of the message again.")
	}
	typed := views.HeldTyped{
		Kind: dlqtriage.ActionKind(form.Get("action")), Reason: typedText(form.Get("reason")), Force: form.Get("force") != "", ForceReason: form.Get("force_reason"),
	}
	who := access.From(c.Request.Context())
	p = views.HeldPage{Held: h, Form: views.HeldForm{Href: heldAddress(h.Key), Revision: revision, Typed: typed}}
	return p, dlqtriage.HeldRequest{
		Message: h.Key, Action: typed.Kind, Reason: typed.Reason, Force: typed.Force, ForceReason: typed.ForceReason, Revision: &revision, Key: form.Get("key"),
		Actor: decision.Actor{Name: who.Name, Role: who.Role(), TokenID: who.TokenID(), Via: decision.ViaPage},
	}, nil
}
