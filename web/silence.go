package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// silenceForm is the form of a silence, filled in for the alerts that the address names.
func (w *Web) silenceForm(c *gin.Context) error {
	var lines []string
	for _, name := range alerts.Fields() {
		if value := c.Query(name); value != "" {
			lines = append(lines, alerts.Matcher{Name: name, Op: alerts.Equal, Value: value}.String())
		}
	}
	return w.showSilence(c, views.SilencePage{Matchers: strings.Join(lines, "\n"), Hours: "4"}, http.StatusOK)
}

func (w *Web) showSilence(c *gin.Context, p views.SilencePage, status int) error {
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	p.Off = w.mayNot(c.Request.Context(), access.TriageApply).Say != ""
	return w.render(c, frame{title: "Silence alerts", section: "alerts", status: status, search: true, snapshot: snap, still: true}, views.Silence(p))
}

// silence previews a silence, or makes it.
func (w *Web) silence(c *gin.Context) error {
	if w.cfg.Alerts == nil {
		return httperr.New(httperr.Unavailable, nil).WithDetail("This server keeps no alerts.")
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxSilenceForm)
	if err := c.Request.ParseForm(); err != nil {
		return httperr.New(httperr.InvalidBody, err)
	}
	form := c.Request.PostForm
	p := views.SilencePage{Matchers: typedText(form.Get("matchers")), Hours: form.Get("hours"), Comment: typedText(form.Get("comment"))}
	want, err := w.silenceOf(p, form.Get("until"))
	if err != nil {
		p.Wrong = err.Error()
		return w.showSilence(c, p, http.StatusBadRequest)
	}
	do := form.Get("step") == "do"
	if key := form.Get("key"); do && key != "" {
		want.ID = "sil-" + key
	}
	made, mutes, err := w.cfg.Alerts.Silence(c.Request.Context(), want, !do, pageActor(c))
	var refused *alerts.Refusal
	switch {
	case errors.As(err, &refused):
		p.Wrong = whatIsWrong(refused)
		return w.showSilence(c, p, http.StatusBadRequest)
	case err != nil:
		return err
	case do:
		c.Redirect(http.StatusSeeOther, telling("/alerts", made.ID)+"#silences")
		return nil
	}
	p.Notes = w.unknownNames(want.Matchers)
	p.Previews, p.Mutes, p.Until, p.Key = true, mutes, want.Until, newFormKey()
	return w.showSilence(c, p, http.StatusOK)
}

// whatIsWrong says why a silence was refused, and which matcher is to blame.
func whatIsWrong(r *alerts.Refusal) string {
	if len(r.Wrong) == 0 {
		return r.Why
	}
	place, isMatcher := strings.CutPrefix(r.Wrong[0].Pointer, "/matchers/")
	number, _, _ := strings.Cut(place, "/")
	if n, err := strconv.Atoi(number); isMatcher && err == nil {
		return fmt.Sprintf("Matcher %d: %s", n+1, r.Wrong[0].Why)
	}
	return r.Wrong[0].Why
}

// unknownNames say which matchers match nothing ever, because no rule or severity is called so.
func (w *Web) unknownNames(all []alerts.Matcher) []string {
	known := map[string][]string{"severity": {}, "rule": {}}
	for _, s := range alerts.Severities() {
		known["severity"] = append(known["severity"], string(s))
	}
	for _, r := range w.rules() {
		known["rule"] = append(known["rule"], string(r.ID))
	}
	var out []string
	for _, m := range all {
		if names, fixed := known[m.Name]; fixed && m.Op == alerts.Equal && !slices.Contains(names, m.Value) {
			out = append(out, fmt.Sprintf("No %s is called %q: this silence mutes nothing.", m.Name, m.Value))
		}
	}
	return out
}

// silenceOf reads what was typed. The second form names the time that the preview showed.
func (w *Web) silenceOf(p views.SilencePage, until string) (alerts.Silence, error) {
	out := alerts.Silence{Comment: p.Comment}
	for _, line := range strings.Split(p.Matchers, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m, err := alerts.ParseMatcher(line)
		if err != nil {
			return out, err
		}
		out.Matchers = append(out.Matchers, m)
	}
	hours, err := strconv.Atoi(p.Hours)
	if err != nil || hours < 1 {
		return out, errors.New("say for how long")
	}
	out.Until = w.now().Add(time.Duration(hours) * time.Hour)
	if at, err := strconv.ParseInt(until, 10, 64); err == nil {
		out.Until = lifecycle.Micros(at)
	}
	return out, nil
}

// boardRefusal is the problem of a refusal; any other error stays as it is.
func boardRefusal(err error) error {
	var refused *alerts.Refusal
	if errors.As(err, &refused) {
		return httperr.New(httperr.Conflict, err).WithDetail("%s", refused.Why)
	}
	return err
}
