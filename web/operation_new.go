package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/query"
	"fleetglass/views"
)

// usualRate is how many entries a second an operation acts on unless somebody says otherwise.
const usualRate = "10"

// sampleItems is how many of the first entries a dry run shows.
const sampleItems = 10

// bulkRequest is an operation that somebody asks for, as a form says it.
type bulkRequest struct {
	selection views.BulkSelection
	typed     views.ActionTyped
	rate      string
	dlqtriage.BulkRequest
	wrong string // What cannot be read; empty where all can.
}

// newOperation shows what an operation would do.
func (w *Web) newOperation(c *gin.Context) error {
	service, err := w.operator()
	if err != nil {
		return err
	}
	r, err := w.readBulk(c, c.Request.URL.Query())
	if err != nil {
		return err
	}
	return w.showBulk(c, service, r, r.wrong, http.StatusOK)
}

// startOperation begins an operation, once however often its form is sent, and leads to its page. What was not judged before is judged first.
func (w *Web) startOperation(c *gin.Context) error {
	service, err := w.operator()
	if err != nil {
		return err
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxActionForm)
	if err := c.Request.ParseForm(); err != nil {
		return httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	r, err := w.readBulk(c, form)
	if err != nil {
		return err
	}
	if err := w.cfg.Access.Authorize(access.From(c.Request.Context()), actionNeeds(r.Action)); err != nil {
		if w.cfg.Denied != nil {
			w.cfg.Denied(c.Request, string(r.Action), err)
		}
		return err
	}
	switch {
	case r.wrong != "":
		return w.showBulk(c, service, r, r.wrong, http.StatusBadRequest)
	case r.Key == "" || form.Get("seen") != r.seen():
		return w.showBulk(c, service, r, "It changed after the dry run. Below is what it would do now.", http.StatusConflict)
	}
	o, err := service.Start(c.Request.Context(), r.BulkRequest)
	var refused *dlqtriage.Refusal
	if errors.As(err, &refused) {
		return w.showBulk(c, service, r, refused.Why, httperr.New(httperr.Code(refused.Code), err).Status)
	}
	if err != nil {
		return err
	}
	c.Redirect(http.StatusSeeOther, telling(operationAddress(o.ID), o.ID))
	return nil
}

// readBulk reads what a form asks for.
func (w *Web) readBulk(c *gin.Context, v url.Values) (r bulkRequest, err error) {
	r.typed = typedBulk(v)
	r.Action, r.Reason, r.Params = r.typed.Kind, r.typed.Reason, actionParams(r.typed, w.now())
	r.Actor, r.Key = actor(c), v.Get("key")
	r.rate = usualRate
	if v.Has("rate") {
		r.rate = v.Get("rate")
	}
	if r.rate != "" {
		if r.Rate, err = strconv.ParseFloat(r.rate, 64); err != nil {
			r.wrong = "The number of entries a second is not a number."
		}
	}
	if v.Has("tasks") {
		return r, w.readTasks(c.Request.Context(), &r, v)
	}
	return r, w.readSelection(&r, v)
}

// typedBulk is what was typed; what only one message has cannot be.
func typedBulk(v url.Values) views.ActionTyped {
	t := typedAction(v)
	t.Kind = cmp.Or(t.Kind, dlqtriage.ActionRetry)
	t.As = cmp.Or(t.As, dlqtriage.AsPlan)
	t.Wait = cmp.Or(t.Wait, views.WaitHour)
	t.Because = cmp.Or(t.Because, dlqtriage.BecauseObsolete)
	t.Class = cmp.Or(t.Class, string(dlqtriage.Unclassified)+"/")
	t.Payload, t.Headers, t.Model = "", "", ""
	if t.As == dlqtriage.AsEdited {
		t.As = dlqtriage.AsPlan
	}
	return t
}

// readSelection reads what the operation is to act on. A filter is read as by the list.
func (w *Web) readSelection(r *bulkRequest, v url.Values) error {
	filter, err := url.ParseQuery(v.Get("filter"))
	if err != nil {
		return httperr.Parameter("filter", "is no list of parameters")
	}
	s := views.BulkSelection{Of: v.Get("of"), All: v.Get("select") == "all", Filter: v.Get("filter"), Href: address("/dlq", filter)}
	switch {
	case s.Of != "":
		s.Words, s.Href = "What operation "+views.Cut(s.Of, 60)+" did, where nobody decided since.", operationAddress(s.Of)
		r.Selector.Operation = s.Of
	case s.All:
		f, err := dlqtriage.ParseEntryFilter(filter, w.now().Time())
		if err != nil {
			return err
		}
		if !f.To.Known() { // What dies from now on was not seen by whoever asks.
			f.To = w.now()
		}
		r.Selector.Filter = &f
		s.Filter, s.Words = f.Values().Encode(), "All that match "+filterWords(filter)+" and died before "+f.To.Time().UTC().Format("15:04:05 UTC")+"."
	default:
		s.IDs = unique(v["id"])
		r.Selector.IDs = s.IDs
		s.Words = "The rows that you ticked."
		if len(s.IDs) == 0 {
			return httperr.Parameter("id", "tick rows of the list, or select all that match")
		}
	}
	r.selection = s
	return nil
}

func unique(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}

// filterWords say what a filter selects.
func filterWords(v url.Values) string {
	var out []string
	for name, values := range v {
		for _, value := range values {
			if value != "" {
				out = append(out, name+": "+views.Cut(value, 60))
			}
		}
	}
	if len(out) == 0 {
		return "(no filter)"
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// seen stands for what is judged: the selection, the action and its parameters, but for times that move with the clock.
func (r bulkRequest) seen() string {
	judged := r.Params
	judged.Until = 0
	text, _ := json.Marshal(struct { // Texts can be written.
		Selector dlqtriage.Selector
		Action   dlqtriage.ActionKind
		Params   dlqtriage.Params
		Wait     string
	}{r.Selector, r.Action, judged, r.typed.Wait})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// showBulk shows what the operation would do, with what was typed.
func (w *Web) showBulk(c *gin.Context, service *dlqtriage.Operations, r bulkRequest, wrong string, status int) error {
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	p := views.BulkPage{
		BulkSelection: r.selection, Rate: r.rate, Key: newFormKey(), Seen: r.seen(), Off: w.mayNot(ctx, access.TriagePropose), May: w.mayNot(ctx, actionNeeds(r.Action)),
	}
	p.Form = w.bulkForm(ctx, r.typed, wrong)
	if err := w.judge(ctx, &p, service, r); err != nil {
		return err
	}
	f := frame{title: "Dry run: " + string(r.Action), section: "dlq", status: status, search: true, snapshot: snap, still: true}
	return w.render(c, f, views.Bulk(p))
}

func (w *Web) bulkForm(ctx context.Context, typed views.ActionTyped, wrong string) views.ActionForm {
	return w.actionForm(ctx, query.EntryDetail{}, typed).ForMany(wrong)
}

// judge adds the dry run. A refusal of the request itself is shown in its place.
func (w *Web) judge(ctx context.Context, p *views.BulkPage, service *dlqtriage.Operations, r bulkRequest) error {
	dry, err := service.DryRun(ctx, r.BulkRequest)
	var refused *dlqtriage.Refusal
	if errors.As(err, &refused) {
		p.Form.Wrong = cmp.Or(p.Form.Wrong, refused.Why)
		return nil
	}
	if err != nil {
		return err
	}
	p.Dry = &dry
	if p.Untaken, err = w.untaken(ctx, r); err != nil {
		return err
	}
	if p.Items, err = w.itemRows(ctx, dry.Items[:min(len(dry.Items), sampleItems)]); err != nil || r.Action != dlqtriage.ActionRetry || r.typed.As != dlqtriage.AsPlan {
		return err
	}
	return w.addPlans(ctx, p.Items)
}

// addPlans adds to entries that are eligible what a retry as planned does with them.
func (w *Web) addPlans(ctx context.Context, rows []views.ItemRow) error {
	f, places := dlqtriage.EntryFilter{}, map[string]int{}
	for i, row := range rows {
		if row.Status == dlqtriage.ItemQueued {
			f.IDs, places[row.Entry] = append(f.IDs, row.Entry), i
		}
	}
	if len(f.IDs) == 0 {
		return nil
	}
	found, err := w.cfg.Query.Entries(ctx, f, dlqtriage.EntryPageRequest{Limit: len(f.IDs)})
	for _, e := range found.Rows {
		if at, asked := places[e.ID]; asked {
			rows[at].Plan = &e.Plan
		}
	}
	return err
}

// untaken counts the messages that a retry would send where no consumer takes them now.
func (w *Web) untaken(ctx context.Context, r bulkRequest) (int64, error) {
	f := dlqtriage.EntryFilter{IDs: r.Selector.IDs}
	if r.Selector.Filter != nil {
		f = *r.Selector.Filter
	}
	waits := []dlqtriage.Status{dlqtriage.StatusOpen, dlqtriage.StatusDeferred}
	if len(f.Statuses) > 0 {
		waits = slices.DeleteFunc(waits, func(s dlqtriage.Status) bool { return !slices.Contains(f.Statuses, s) })
	}
	others := len(f.Paths) > 0 && !slices.Contains(f.Paths, dlqtriage.PathFilterRejected)
	if r.Action != dlqtriage.ActionRetry || r.Selector.Operation != "" || others || len(waits) == 0 {
		return 0, nil
	}
	f.Statuses = waits
	return w.cfg.Query.CountUntaken(ctx, f)
}
