package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// operationAddress is the page of an operation.
func operationAddress(id string) string { return "/operations/" + url.PathEscape(id) }

// operator is the service of operations, or the reason why there is none.
func (w *Web) operator() (*dlqtriage.Operations, error) {
	if w.cfg.Operations == nil {
		return nil, httperr.New(httperr.Unavailable, nil).WithDetail("This server does not act on dead letters.")
	}
	return w.cfg.Operations, nil
}

// operations is the list of operations. It is read forward only.
func (w *Web) operations(c *gin.Context) error {
	ctx := c.Request.Context()
	service, err := w.operator()
	if err != nil {
		return err
	}
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	binding := query.Binding("/operations", nil)
	p := views.OperationsPage{Links: links(c, "/operations", "/api/v1/operations", nil)}
	var before *decision.ActionPlace
	at, err := readCursor(c.Query("cursor"), binding)
	if err != nil {
		return err
	}
	if at != nil {
		before, p.First = &decision.ActionPlace{CreatedAt: at.At, ID: at.Key}, "/operations"
	}
	found, err := service.List(ctx, before, rowsPerPage+1)
	if err != nil {
		return err
	}
	if len(found) > rowsPerPage {
		found = found[:rowsPerPage]
		last := found[rowsPerPage-1]
		cursor := query.Cursor{At: last.CreatedAt, Key: last.ID}
		p.Older = address("/operations", url.Values{"cursor": {cursor.Encode(binding)}})
	}
	names, err := w.operationNames(ctx, found)
	if err != nil {
		return err
	}
	for _, o := range found {
		p.Rows = append(p.Rows, views.OperationRow{Operation: o, Href: operationAddress(o.ID), On: cmp.Or(names[single(o)], operationWords(o)), Entry: single(o)})
	}
	if len(found) == 0 {
		p.Empty = views.EmptyState{Kind: "healthy", Say: "No operation yet.", Why: "What is done about dead letters is listed here, with how far it is.", Links: []views.Chip{{Href: openDead, Label: "DLQ"}}}
	}
	return w.render(c, frame{title: "Operations", section: "operations", search: true, snapshot: snap}, views.Operations(p))
}

// single is the id of the one entry that an operation is about; empty where it is about several.
func single(o dlqtriage.Operation) string {
	if !o.Bulk && len(o.Selector.IDs) == 1 {
		return o.Selector.IDs[0]
	}
	return ""
}

// operationNames are what the entries are called that single operations are about, by their ids.
func (w *Web) operationNames(ctx context.Context, all []dlqtriage.Operation) (map[string]string, error) {
	var ids []string
	for _, o := range all {
		if id := single(o); id != "" {
			ids = append(ids, id)
		}
	}
	return w.entryNames(ctx, ids)
}

// entryNames are what entries are called, by their ids. One that is not known, as a message in flight is none, is left out.
func (w *Web) entryNames(ctx context.Context, ids []string) (map[string]string, error) {
	slices.Sort(ids)
	found, err := w.cfg.Query.EntriesNamed(ctx, slices.Compact(ids))
	names := map[string]string{}
	for _, e := range found {
		names[e.ID] = views.EntryName(e)
	}
	return names, err
}

// operationWords say what an operation is about.
func operationWords(o dlqtriage.Operation) string {
	if id := single(o); id != "" {
		return views.Cut(id, 60)
	}
	return counted(o.Counts.Selected, "dead letter", "dead letters")
}

// selectedHref is the list of what an operation selected; empty where no list shows it.
func selectedHref(o dlqtriage.Operation) string {
	switch s := o.Selector; {
	case s.Operation != "":
		return operationAddress(s.Operation)
	case s.Filter != nil:
		return address("/dlq", s.Filter.Values())
	case len(s.IDs) == 1:
		return entryAddress(s.IDs[0])
	case len(s.IDs) <= rowsPerPage:
		return address("/dlq", url.Values{"id": s.IDs})
	}
	return ""
}

// operation is one operation, with what became of its entries.
func (w *Web) operation(c *gin.Context) error {
	ctx := c.Request.Context()
	service, err := w.operator()
	if err != nil {
		return err
	}
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	o, err := service.Get(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	names, err := w.operationNames(ctx, []dlqtriage.Operation{o})
	if err != nil {
		return err
	}
	here := operationAddress(o.ID)
	p := views.OperationPage{
		Operation: o, Links: links(c, here, "/api/v1"+here, nil), On: cmp.Or(names[single(o)], operationWords(o)), Entry: single(o), OnHref: selectedHref(o),
		Partly: o.DryRun && o.Counts.Selected > dlqtriage.FirstItems, CancelOff: w.mayNot(ctx, access.TriageApply),
	}
	if o.Undoable(w.now()) {
		p.UndoHref = undoAddress(o.ID)
		p.UndoOff = w.mayNot(ctx, access.TriagePropose)
	}
	if err := w.fillItems(ctx, &p, service, c.Request.URL.Query()); err != nil {
		return err
	}
	title := fmt.Sprintf("%s %s", o.Action, p.On)
	return w.render(c, frame{title: title, section: "operations", search: true, snapshot: snap}, views.Operation(p))
}

// fillItems adds a page of the entries, those of a status where the address names one.
func (w *Web) fillItems(ctx context.Context, p *views.OperationPage, service *dlqtriage.Operations, v url.Values) error {
	here := operationAddress(p.ID)
	q := dlqtriage.ItemQuery{Status: dlqtriage.ItemStatus(v.Get("status")), Limit: rowsPerPage}
	if q.Status != "" && !slices.Contains(dlqtriage.ItemStatuses(), q.Status) {
		return &lifecycle.FilterError{Parameter: "status", Detail: fmt.Sprintf("%q is none of %q", q.Status, dlqtriage.ItemStatuses())}
	}
	narrowed := url.Values{"status": {string(q.Status)}}
	if text := v.Get("from"); text != "" {
		at, err := dlqtriage.ParseItemPlace(text)
		if err != nil {
			return &lifecycle.FilterError{Parameter: "from", Detail: "is not a place in this list"}
		}
		q.From, p.First = at, address(here, narrowed)
	}
	found, err := service.Items(ctx, p.ID, q)
	if err != nil {
		return err
	}
	if p.Items, err = w.itemRows(ctx, found.Items); err != nil {
		return err
	}
	if found.Next != nil {
		narrowed.Set("from", found.Next.String())
		p.Next = address(here, narrowed)
	}
	if p.Bulk && !p.DryRun {
		p.Tabs = itemTabs(here, p.Counts, q.Status)
	}
	return nil
}

// itemRows names the entries of an operation.
func (w *Web) itemRows(ctx context.Context, items []dlqtriage.Item) ([]views.ItemRow, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Entry
	}
	names, err := w.entryNames(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]views.ItemRow, len(items))
	for i, item := range items {
		out[i] = views.ItemRow{Item: item, Name: cmp.Or(names[item.Entry], views.Cut(item.Entry, 60)), Href: entryAddress(item.Entry)}
	}
	return out, nil
}

// itemTabs lead to the entries of each status.
func itemTabs(here string, c dlqtriage.Counts, current dlqtriage.ItemStatus) []views.Tab {
	var out []views.Tab
	for _, t := range []struct {
		status dlqtriage.ItemStatus
		label  string
		count  int64
	}{{"", "All", c.Done + c.Blocked + c.Failed}, {dlqtriage.ItemBlocked, "Blocked", c.Blocked}, {dlqtriage.ItemFailed, "Failed", c.Failed}} {
		if t.count > 0 || t.status == current {
			out = append(out, views.Tab{Href: address(here, url.Values{"status": {string(t.status)}}), Label: t.label, Count: views.Count(t.count), Current: t.status == current})
		}
	}
	return out
}

// cancelOperation ends an operation: what was not begun is left alone. It leads back to where the form says, else to the page of the operation.
func (w *Web) cancelOperation(c *gin.Context) error {
	service, err := w.operator()
	if err != nil {
		return err
	}
	o, err := service.Cancel(c.Request.Context(), c.Param("id"), actor(c), "cancelled on its page")
	if err != nil {
		return err
	}
	back := operationAddress(o.ID)
	if from := c.PostForm("back"); from != "" {
		back = localPath(from)
	}
	c.Redirect(http.StatusSeeOther, telling(back, o.ID))
	return nil
}

// actor is who asks, as the audit names it.
func actor(c *gin.Context) decision.Actor {
	who := access.From(c.Request.Context())
	return decision.Actor{Name: who.Name, Role: who.Role(), TokenID: who.TokenID(), Via: decision.ViaPage}
}
