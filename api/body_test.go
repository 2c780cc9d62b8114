package api

import (
	"net/http"
	"testing"
)

// A body that cannot be read is refused with the place that is wrong, and nothing of it is guessed.
func TestABodyIsRefusedWithThePlaceThatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.deadLetter("T1", 1)
	const act, bulk, silence = "/api/v1/dlq/TASKS:1/actions", "/api/v1/operations", "/api/v1/silences"
	for name, c := range map[string]struct {
		target, body, contentType string
		status                    int
		code, pointer             string
	}{
		"another type":             {act, `{"action":"retry","reason":"abc"}`, "text/plain", 415, "unsupported_media_type", "/header/Content-Type"},
		"a type that is none":      {act, `{}`, ";;", 415, "unsupported_media_type", "/header/Content-Type"},
		"what curl sends unasked":  {act, `{"reason":"abc"}`, "application/x-www-form-urlencoded", 400, "unknown_action", "/body/action"},
		"a charset":                {act, `{"reason":"abc"}`, "application/json; charset=utf-8", 400, "unknown_action", "/body/action"},
		"no UTF-8":                 {act, "{\"action\":\"discard\",\"reason\":\"a\xff\xfebc\"}", "application/json", 400, "invalid_body", "/body"},
		"an unknown field":         {act, `{"action":"retry","reason":"abc","params":{"dleay_ms":1}}`, "application/json", 400, "invalid_body", "/body/params/dleay_ms"},
		"a wrong type":             {act, `{"action":"retry","reason":"abc","params":{"delay_ms":"soon"}}`, "application/json", 400, "invalid_body", "/body/params/delay_ms"},
		"a text for a filter":      {bulk, `{"action":"retry","reason":"abc","selector":{"filter":"agent:ceo"}}`, "application/json", 400, "invalid_body", "/body/selector/filter"},
		"a number for an agent":    {bulk, `{"action":"retry","reason":"abc","selector":{"filter":{"agent":5}}}`, "application/json", 400, "invalid_body", "/body/selector/filter/agent"},
		"a filter that is unknown": {bulk, `{"action":"retry","reason":"abc","selector":{"filter":{"agnet":"ceo"}}}`, "application/json", 400, "invalid_body", "/body/selector/filter/agnet"},
		"within a list":            {silence, `{"matchers":[{"name":"rule","op":"=","value":5}]}`, "application/json", 400, "invalid_body", "/body/matchers/0/value"},
		"no object":                {act, `[]`, "application/json", 400, "invalid_body", "/body"},
		"two values":               {act, `{} {}`, "application/json", 400, "invalid_body", "/body"},
	} {
		a := f.do(http.MethodPost, c.target, c.body, "Content-Type", c.contentType, "Idempotency-Key", name)
		p := f.refused(a, c.status, c.code)
		if errors, _ := p["errors"].([]any); len(errors) != 1 || errors[0].(map[string]any)["pointer"] != c.pointer {
			t.Errorf("%s: errors %v, want pointer %s", name, p["errors"], c.pointer)
		}
	}
}

// A blank body counts as one that is left out, where it may be left out.
func TestABlankBodyIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.deadLetter("T1", 1)
	f.refused(f.do(http.MethodPost, "/api/v1/operations/none/cancel", " \n", "Idempotency-Key", "blank"), 404, "not_found")
	f.refused(f.do(http.MethodPost, "/api/v1/operations/none/cancel", "[]", "Idempotency-Key", "list"), 400, "invalid_body")
	f.refused(f.do(http.MethodPost, "/api/v1/dlq/TASKS:1/actions", " \n", "Idempotency-Key", "needed"), 400, "invalid_body")
}

func TestAFilterInABodyTakesOneValueOrAList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.deadLetter("T1", 1)
	f.deadLetter("T2", 2)
	for _, filter := range []string{`{"agent":"marketing"}`, `{"agent":["marketing","ceo"]}`, `{"agent":"marketing","status":"open","q":"agent:marketing"}`} {
		got := f.start(filter, `{"action":"discard","reason":"not needed","dry_run":true,"selector":{"filter":`+filter+`}}`)
		if got.Counts.Selected != 2 {
			t.Errorf("%s selected %+v", filter, got.Counts)
		}
	}
}

func TestAnEntryThatIsNamedTwiceIsSelectedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.deadLetter("T1", 1)
	f.works()
	const ids = `"selector":{"ids":["TASKS:1","TASKS:1"]}`
	dry := f.start("dry", `{"action":"discard","reason":"not needed","dry_run":true,`+ids+`}`)
	done := f.finished(f.start("run", `{"action":"discard","reason":"not needed",`+ids+`}`))
	if dry.Counts != (OperationCounts{Selected: 1, Eligible: 1}) || done.Counts != (OperationCounts{Selected: 1, Eligible: 1, Done: 1}) {
		t.Errorf("dry run %+v, operation %+v", dry.Counts, done.Counts)
	}
}
