package api

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// description is the text above the calls in the OpenAPI document.
const description = `What happened to every task of a fleet, attempt by attempt, from what crossed the broker.

Names are snake_case. Times are RFC 3339, UTC, with microseconds. Sequences and other 64-bit numbers are strings of digits. What is not
known is null, never zero. Lists have the envelope data, page, as_of, gaps; page.next and page.prev are cursors, also given as links in
the Link header. A cursor belongs to its filter and order. Unknown query parameters are refused. Failures are problem documents
(RFC 9457). Values of a repeated parameter are alternatives; different parameters must all match. Text that comes from the fleet
(titles, payloads, reasons, reports) is untrusted.`

// describe builds the calls and the document that describes them.
func (a *API) describe() {
	a.huma = huma.NewAPI(a.humaConfig(), &a.calls)
	a.huma.UseMiddleware(a.refuseUnknown)
	a.describeTasks()
	a.describeTask()
	a.describeFleet()
	a.describeHistory()
	a.describeMap()
	a.describeDoctor()
	a.describeRestarts()
	a.describeDuplicates()
	a.describeEntries()
	a.describeReconciliations()
	a.describePrevention()
	a.describeRisk()
	a.describePolicy()
	a.describeSuggestions()
	a.describeReports()
	a.describeActions()
	a.describeOperations()
	a.describeAlerts()
	a.describeAudit()
	a.describeTokens()
	a.describeReveal()
	a.describeStream()
	a.describeBlindness()
	a.describeProbes()
	// Problems replace huma's own error model.
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}

func (a *API) humaConfig() huma.Config {
	cfg := huma.DefaultConfig("Fleetglass", a.cfg.Options.Version)
	cfg.AllowAdditionalPropertiesByDefault = true // Fields may be added.
	cfg.CreateHooks = nil                         // No $schema fields in answers.
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.Info.Description = description
	cfg.Components.SecuritySchemes = securitySchemes()
	format := huma.Format{Marshal: a.writeMasked, Unmarshal: json.Unmarshal}
	cfg.Formats = map[string]huma.Format{"application/json": format, "json": format}
	cfg.Tags = []*huma.Tag{
		{Name: "tasks", Description: "What happened to tasks."},
		{Name: "fleet", Description: "What the fleet does now."},
		{Name: "duplicates", Description: "Where duplicates ended: nothing ran twice, or what did."},
		{Name: "reconciliations", Description: "Whether what was published adds up with what became of it."},
		{Name: "decisions", Description: "Who decided what, and what came of it."},
		{Name: "triage", Description: "Why messages died, what should happen next, and what prevents it."},
		{Name: "alerts", Description: "What needs attention, who looks after it, and who is told."},
		{Name: "access", Description: "Who may do what."},
		{Name: "reports", Description: "What agents report by themselves."},
		{Name: "live", Description: "What changes."},
		{Name: "observation", Description: "What we could not see or read."},
		{Name: "probes", Description: "How Fleetglass itself is."},
	}
	return cfg
}

// encodedOnce is an answer that was encoded for its tag already. whole is what the text says: an answer that embeds another has more
// fields, and then the text is not its own.
type encodedOnce interface {
	encoded() (whole any, text []byte, err error)
}

// writeMasked writes an answer without what has the form of a token.
func (a *API) writeMasked(w io.Writer, v any) error {
	if a.cfg.Mask == nil || shownWhole(v) {
		return writeJSON(w, v)
	}
	var text bytes.Buffer
	if err := writeJSON(&text, v); err != nil {
		return err
	}
	_, err := (escaping{w}).Write(a.cfg.Mask.Answer(text.Bytes()))
	return err
}

// shownWhole reports whether an answer shows on purpose what is hidden elsewhere: the secret of a new token, a payload that somebody revealed.
func shownWhole(v any) bool {
	switch v.(type) {
	case NewToken, RevealedPayload:
		return true
	}
	return false
}

// writeJSON keeps the default escaping of <, > and &: answers carry untrusted text.
func writeJSON(w io.Writer, v any) error {
	w = escaping{w}
	if once, ok := v.(encodedOnce); ok {
		whole, text, err := once.encoded()
		if err != nil {
			return err
		}
		if reflect.TypeOf(whole) == reflect.TypeOf(v) {
			_, err = w.Write(append(text, '\n'))
			return err
		}
	}
	return json.NewEncoder(w).Encode(v)
}
