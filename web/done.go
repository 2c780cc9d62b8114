package web

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// Whoever did something is led to a page whose address names it (did). That page tells of it in a notice, and offers to take it back for as long as this is possible.

// doneParameter is the parameter of an address that names what its reader just did: an operation, an action on one entry, a silence or an acknowledged alert.
const doneParameter = "did"

// doneFor is how long an address tells of what was done. Whoever finds it later did not just do it.
const doneFor = 10 * time.Minute

// undoReason is the reason of an action that takes another one back from its notice.
const undoReason = "Undone at once."

// telling is an address with what was just done.
func telling(href, did string) string {
	u, err := url.Parse(href)
	if err != nil {
		return href
	}
	q := u.Query()
	q.Set(doneParameter, did)
	u.RawQuery = q.Encode()
	return u.String()
}

// untold is the address of a request without what was just done.
func untold(c *gin.Context) *url.URL {
	u := *c.Request.URL
	q := u.Query()
	q.Del(doneParameter)
	u.RawQuery = q.Encode()
	return &u
}

// done is the notice of what the reader just did; nil where the address names nothing of late.
func (w *Web) done(c *gin.Context) *views.Done {
	did := c.Query(doneParameter)
	if did == "" || c.Request.Method == "POST" {
		return nil
	}
	tell := w.doneAlert
	switch {
	case strings.HasPrefix(did, "act-"), strings.HasPrefix(did, "op-"):
		tell = w.doneOperation
	case strings.HasPrefix(did, "sil-"):
		tell = w.doneSilence
	}
	out, err := tell(c, did)
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		w.cfg.Log.WarnContext(c.Request.Context(), "what was just done not read", "error", err)
	}
	if out != nil {
		out.Close = untold(c).RequestURI()
	}
	return out
}

// ago reports whether something is too old to be told of.
func (w *Web) ago(at lifecycle.Micros) bool { return at < w.now().Add(-doneFor) }

func (w *Web) doneOperation(c *gin.Context, id string) (*views.Done, error) {
	ctx, now := c.Request.Context(), w.now()
	if w.cfg.Operations == nil {
		return nil, nil
	}
	o, err := w.cfg.Operations.Get(ctx, id)
	if err != nil || o.DryRun || (!o.Status.Ended() && o.Bulk) || w.ago(max(o.CreatedAt, o.EndedAt)) {
		return nil, err
	}
	if o.Bulk {
		out := &views.Done{Text: views.EndedWords(o, operationWords(o))}
		if o.Undoable(now) && w.mayNot(ctx, access.TriagePropose).Say == "" {
			out.Href = undoAddress(o.ID)
		}
		return out, nil
	}
	names, err := w.operationNames(ctx, []dlqtriage.Operation{o})
	if err != nil {
		return nil, err
	}
	out := views.DoneOne(o, names[single(o)], o.Waits(now))
	if w.mayNot(ctx, access.TriageApply).Say != "" {
		return &out, nil
	}
	if o.Waits(now) {
		out.Post, out.Fields = operationAddress(o.ID)+"/cancel", []views.Param{{Name: "back", Value: untold(c).RequestURI()}}
		return &out, nil
	}
	out.Post, out.Fields, err = w.reopening(ctx, o, listOf(c))
	return &out, err
}

// undoAddress is the dry run of what takes an operation back.
func undoAddress(id string) string {
	return address("/operations/new", url.Values{"of": {id}, "action": {string(dlqtriage.ActionReopen)}})
}

// listOf is the query of the list that a page shows beside an entry; empty on other pages.
func listOf(c *gin.Context) string {
	if c.Request.URL.Path != "/dlq" {
		return ""
	}
	q := untold(c).Query()
	q.Del("entry")
	return q.Encode()
}

// reopening is the form that takes a decision about one entry back; empty where another one was taken since, or where it cannot be taken back.
func (w *Web) reopening(ctx context.Context, o dlqtriage.Operation, list string) (string, []views.Param, error) {
	if !o.Action.Reopens() {
		return "", nil, nil
	}
	e, err := w.cfg.Query.Entry(ctx, single(o))
	if err != nil || e.Action != o.ID || !dlqtriage.ActionReopen.AppliesTo(e.Status) {
		return "", nil, err
	}
	return entryAddress(e.ID), []views.Param{
		{Name: "action", Value: string(dlqtriage.ActionReopen)}, {Name: "revision", Value: strconv.FormatUint(e.Revision, 10)}, {Name: "reason", Value: undoReason},
		{Name: "key", Value: "undo-" + o.ID}, {Name: "step", Value: "do"}, {Name: "list", Value: list},
	}, nil
}

func (w *Web) doneAlert(c *gin.Context, id string) (*views.Done, error) {
	if w.cfg.Alerts == nil {
		return nil, nil
	}
	a, err := w.cfg.Alerts.Get(c.Request.Context(), id)
	if err != nil || a.Acknowledged == nil || w.ago(a.Acknowledged.At) {
		return nil, err
	}
	out := &views.Done{Text: "Acknowledged: " + views.Cut(a.What, 120)}
	if a.State != alerts.StateResolved {
		w.offerOnBoard(c, out, "unack", id)
	}
	return out, nil
}

func (w *Web) doneSilence(c *gin.Context, id string) (*views.Done, error) {
	if w.cfg.Alerts == nil {
		return nil, nil
	}
	_, silences, err := w.cfg.Alerts.List(c.Request.Context())
	for _, s := range silences {
		if s.ID == id && !w.ago(s.CreatedAt) {
			out := &views.Done{Text: "Silenced: " + views.Matchers(s.Matchers)}
			w.offerOnBoard(c, out, "end", id)
			return out, err
		}
	}
	return nil, err
}

// offerOnBoard lets a notice take back what was done on the board of alerts.
func (w *Web) offerOnBoard(c *gin.Context, d *views.Done, step, id string) {
	if w.mayNot(c.Request.Context(), access.TriageApply).Say == "" && c.Request.URL.Path == "/alerts" {
		d.Post, d.Fields = untold(c).RequestURI(), []views.Param{{Name: "step", Value: step}, {Name: "id", Value: id}}
	}
}
