package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// frame is what a page says about itself beyond its body.
type frame struct {
	title   string
	section string
	status  int // Zero: 200.
	search  bool
	banners []views.Banner
	ownGaps bool // The page says itself which gaps concern it.
	still   bool // The page does not follow the fleet.

	every  time.Duration // The page follows the fleet no more often than that; zero for once a second.
	ended  string        // The page is about this task, which has ended: others that change are no reason to look at once; empty for other pages.
	secret bool          // The page shows a secret on purpose: nothing in it is masked, and nothing keeps it.

	snapshot  *query.FleetSnapshot
	uncounted bool // The snapshot could not be had: it counts nothing.
}

// render writes a page in its frame.
func (w *Web) render(c *gin.Context, f frame, body templ.Component) error {
	page := views.Page(w.shell(c, f, preferencesOf(c)))
	document := templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		return page.Render(templ.WithChildren(ctx, body), out)
	})
	if !f.secret {
		return w.renderDocument(c, f.status, document)
	}
	shown, err := w.write(c, document)
	if err != nil {
		return err
	}
	w.send(c, f.status, "no-store", shown)
	return nil
}

// renderDocument writes a whole document, without what is masked.
func (w *Web) renderDocument(c *gin.Context, status int, document templ.Component) error {
	page, err := w.write(c, document)
	if err != nil {
		return err
	}
	w.send(c, status, "private, no-cache", w.cfg.Mask.HTML(page))
	return nil
}

// write renders a document before anything is sent, so that an error can still become a problem page.
func (w *Web) write(c *gin.Context, document templ.Component) ([]byte, error) {
	e := views.Env{Asset: w.assets.URL, Zone: preferencesOf(c).zone, Now: w.now()}
	var buf bytes.Buffer
	err := document.Render(views.With(c.Request.Context(), e), &buf)
	return buf.Bytes(), err
}

// send sends a page, which caches keep as it says.
func (w *Web) send(c *gin.Context, status int, cache string, page []byte) {
	page = harmless(page)
	h := c.Writer.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", cache)
	h.Set("Vary", "Cookie")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	c.Status(max(status, http.StatusOK))
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow()
		return
	}
	if _, err := c.Writer.Write(page); err != nil {
		w.cfg.Log.DebugContext(c.Request.Context(), "page not delivered", "error", err)
	}
}

// fail answers with a problem page. Users read the table's text; operators read the cause in the log.
func (w *Web) fail(c *gin.Context, err error) {
	p := httperr.From(err)
	httperr.Log(c.Request, w.cfg.Log, p)
	if c.Writer.Written() {
		return
	}
	snap, unknown := w.snapshotOfFailure(c)
	page := views.ProblemPage{Title: p.Title, Detail: p.Detail, Status: p.Status, Code: string(p.Code), Retryable: p.Retryable, Here: c.Request.URL.RequestURI(), All: listAbove(c.Request.URL.Path)}
	if p.Status == http.StatusNotFound {
		missing(c, &page)
	}
	if err := w.render(c, frame{title: page.Title, status: p.Status, search: true, snapshot: snap, uncounted: unknown != nil, still: true}, views.Problem(page)); err != nil {
		httperr.Write(c.Writer, c.Request, w.cfg.Log, err)
	}
}

// failurePatience is how long a problem page waits for what stands on every page.
const failurePatience = 500 * time.Millisecond

// snapshotOfFailure is what stands on a problem page, an empty one with an error where that cannot be had soon. The request may have run
// out of time: from here on its context has no end, because nothing is left but to write the page.
func (w *Web) snapshotOfFailure(c *gin.Context) (*query.FleetSnapshot, error) {
	endless := context.WithoutCancel(c.Request.Context())
	c.Request = c.Request.WithContext(endless)
	ctx, release := context.WithTimeout(endless, failurePatience)
	defer release()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return &query.FleetSnapshot{}, err
	}
	return snap, nil
}

func unescape(s string) string {
	if t, err := url.PathUnescape(s); err == nil {
		return t
	}
	return s
}

// address writes a path with parameters, without those that are empty.
func address(path string, v url.Values) string {
	q := url.Values{}
	for name, values := range v {
		values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
		if len(values) > 0 {
			q[name] = values
		}
	}
	if len(q) == 0 {
		return whole(path)
	}
	return path + "?" + q.Encode()
}

// messageAddress is the body of a message, on the page of its task.
func messageAddress(id string, key lifecycle.MessageKey) string {
	return taskView{id: id}.address(url.Values{"tab": {"payload"}, "message": {key.String()}})
}

func agentAddress(name string) string {
	if name == "." || name == ".." || name == "" {
		return "/tasks?agent=" + url.QueryEscape(name)
	}
	return "/agents/" + url.PathEscape(name)
}

var errNoID = httperr.New(httperr.NotFound, errors.New("the address names no task"))
