package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// entryAddress is the page of an entry.
func entryAddress(id string) string { return "/dlq/" + url.PathEscape(id) }

// eventAddress is an event on the page of its task.
func eventAddress(task string, id lifecycle.EventID) string {
	return lifecycle.PageOfTask(task) + "#ev-" + id.String()
}

// entryPlace is where an entry is shown: beside the list that a query names, or on its own page where the query is empty or cannot be read.
func entryPlace(list, id string) string {
	v, err := url.ParseQuery(list)
	if list == "" || err != nil {
		return entryAddress(id)
	}
	v.Set("entry", id)
	return address("/dlq", v)
}

// deadLetter is all that is known of a message that died.
func (w *Web) deadLetter(c *gin.Context) error {
	if c.Request.URL.Path == statsPath {
		return w.deadStatistics(c)
	}
	ctx := c.Request.Context()
	snap, err := w.snapshot(ctx)
	if err != nil {
		return err
	}
	found, err := w.cfg.Query.Entry(ctx, rest(c, "/dlq/"))
	if err != nil {
		return err
	}
	p := w.entryPage(ctx, found, "")
	p.Links = links(c, p.Href, "/api/v1"+p.Href, nil)
	return w.render(c, frame{title: "DLQ: " + views.Cut(found.ID, 60), section: "dlq", search: true, snapshot: snap}, views.DeadLetter(p))
}

// chosenEntry is the entry that the address of a list names, for the pane beside it.
func (w *Web) chosenEntry(ctx context.Context, q entryQuery) (*views.EntryPage, error) {
	found, err := w.cfg.Query.Entry(ctx, q.chosen)
	if err != nil {
		return nil, err
	}
	p := w.entryPage(ctx, found, q.beside(found.ID).Encode())
	p.Close = address("/dlq", q.beside(""))
	return &p, nil
}

// entryPage is what is shown of an entry. List is the query of the list beside which it stands; empty on its own page.
func (w *Web) entryPage(ctx context.Context, found query.EntryDetail, list string) views.EntryPage {
	p := views.EntryPage{
		Entry: found.Entry, Href: entryAddress(found.ID), TaskHref: lifecycle.PageOfTask(found.TaskID), Plan: found.Plan, Diff: found.Diff,
		Risk: riskWords(found.Risk), Missing: found.Missing, History: found.History, Unread: !w.cfg.Query.EntriesRead().Known(), InQueue: found.InQueue,
		Actions: w.actionPanel(ctx, found, list),
	}
	if found.Agent != "" {
		p.AgentHref = agentAddress(found.Agent)
	}
	p.Evidence, p.Used = entryEvidence(found), usedFor(found)
	p.Effects = effectWords(&found.Record.Facts)
	if c := found.Record.Facts.Completion; c != nil {
		p.Recorded, p.Gone = c.At, found.Record.Facts.RecordGoneAt()
	}
	if s := found.Record.Summary; s.Message == found.Key {
		p.Worked, p.Waited = s.Running, s.Waiting
	}
	p.Headers, p.Body = originalOf(found)
	if !found.Next.Key.IsZero() {
		p.NextHref = lifecycle.PageOfTask(found.Next.TaskID)
		if found.Outcome == dlqtriage.OutcomeDiedAgain {
			id := dlqtriage.EntryID(found.Next.Key)
			p.NextEntry = entryAddress(id)
			if next, err := w.cfg.Query.EntriesNamed(ctx, []string{id}); err == nil && len(next) == 1 {
				p.DiedAgain = next[0].FailedAt
			}
		}
	}
	if found.RetryOf != "" {
		p.OfHref = entryAddress(found.RetryOf)
	}
	for _, e := range found.Events {
		p.Events = append(p.Events, views.EntryEvent{Event: e, Href: eventAddress(found.TaskID, e.ID)})
	}
	return p
}

// entryEvidence is what the class of an entry rests on, with how that is known: as the event is known that says it, else as its source says.
func entryEvidence(found query.EntryDetail) []views.EntryEvidence {
	var out []views.EntryEvidence
	for _, e := range found.Classification.Evidence {
		shown := views.EntryEvidence{Evidence: e, Provenance: dlqtriage.ProvenanceOf(e)}
		text := strings.Trim(e.Text, "…") // It may be an excerpt.
		for _, event := range found.Events {
			if speaksOf(found, event) && event.Kind != lifecycle.Classified && text != "" && strings.Contains(event.Detail.Reason, text) && (shown.Provenance == "" || shown.Provenance == event.Provenance) {
				shown.Provenance, shown.Href = event.Provenance, eventAddress(found.TaskID, event.ID)
				break
			}
		}
		out = append(out, shown)
	}
	return out
}

// speaksOf reports whether an event is about the message that died. Reports name it by its message id, which proves nothing where the task has
// several messages of that id.
func speaksOf(found query.EntryDetail, e lifecycle.Event) bool {
	if !e.Message.IsZero() {
		return e.Message == found.Key
	}
	named := 0
	for _, m := range found.Record.Messages {
		if m.Stored != nil && m.Stored.MsgID == e.Detail.MsgID {
			named++
		}
	}
	return e.Detail.MsgID != "" && e.Detail.MsgID == found.MessageID && named == 1
}

// usedFor sums what agents reported to have used for a message. Of several reports of an attempt the most counts. What names no attempt may be about one that another
// report names.
func usedFor(found query.EntryDetail) views.UsedModel {
	last := map[int]lifecycle.ModelUse{}
	for _, e := range found.Events {
		use, its := e.Detail.ModelUse, speaksOf(found, e) && found.Record.Facts.MayHaveHad(e.Agent, e.Detail.MsgID)
		if its && e.Provenance == lifecycle.Reported && use != (lifecycle.ModelUse{}) {
			last[e.Attempt] = last[e.Attempt].Most(use)
		}
	}
	if len(last) > 1 {
		delete(last, 0)
	}
	out := views.UsedModel{Attempts: len(last)}
	for _, n := range slices.Sorted(maps.Keys(last)) {
		out.Model = cmp.Or(last[n].Model, out.Model)
		out.InputTokens += last[n].InputTokens
		out.OutputTokens += last[n].OutputTokens
		out.CostUSD += last[n].CostUSD
	}
	return out
}

// effectWords say what is known of the effects of a task's work: what agents announced and confirmed, and what the side-effect log has.
func effectWords(f *lifecycle.TaskFacts) string {
	said := f.ReportedEffects()
	if len(said)+len(f.Effects) == 0 {
		return "none was seen in a report or a log"
	}
	open, more := unconfirmed(said), ""
	if f.IntentsCut {
		more = "at least "
	}
	out := more + counted(int64(len(said)), "step", "steps") + " announced, "
	if open > 0 {
		out += views.Count(open) + " of them not confirmed"
	} else {
		out += "all confirmed"
	}
	if n := int64(len(f.Effects)); n > 0 {
		out += "; " + counted(n, "effect", "effects") + " in the log"
	}
	return out
}

func unconfirmed(said []lifecycle.Effect) (n int64) {
	for _, e := range said {
		if !e.Confirmed() {
			n++
		}
	}
	return n
}

// effectsInShort say the same in a list; doubt is that a step was announced and nobody confirmed it.
func effectsInShort(f *lifecycle.TaskFacts) (say string, doubt bool) {
	said := f.ReportedEffects()
	if n := unconfirmed(said); n > 0 {
		return counted(n, "step", "steps") + " not confirmed", true
	}
	if n := int64(len(said)); n > 0 {
		return counted(n, "step", "steps") + " confirmed", false
	}
	if n := int64(len(f.Effects)); n > 0 {
		return counted(n, "effect", "effects") + " in the log", false
	}
	return "no effect seen", false
}

// shownBody is how much of a body the page of an entry shows, in bytes; the page of the task shows more.
const shownBody = 8000

func originalOf(d query.EntryDetail) (headers []views.Param, body string) {
	if d.Payload == nil {
		return nil, ""
	}
	for _, name := range slices.Sorted(maps.Keys(d.Payload.Headers)) {
		for _, value := range d.Payload.Headers[name] {
			headers = append(headers, views.Param{Name: name, Value: value})
		}
	}
	return headers, views.Printable(string(d.Payload.Body[:min(len(d.Payload.Body), shownBody)]))
}

// originalText is the message that died, for comparing.
func originalText(d query.EntryDetail) views.MessageText {
	out := views.MessageText{Subject: d.Subject}
	out.Headers, _ = originalOf(d)
	if d.Payload != nil {
		out.Body = d.Payload.Body
	}
	return out
}

func riskWords(r *dlqtriage.Risk) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f), from %s", 100*r.Probability, 100*r.Low, 100*r.High, counted(r.Sample, "task", "tasks"))
}
