package api

import (
	"mime"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// Every call that reads is made, with ids of what there is and without, and each answer is what the document says of that status and media type.
func TestRealAnswersAreWhatTheDocumentSays(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("marketing")
		f.deadLetter("T1", 1)
		f.completed("T2", "marketing", 2)
		f.published("T3", "marketing", 3)
		f.delivered("T3", "marketing", 3, 1)
		f.commit()
		f.act("/api/v1/dlq/TASKS:1", "kept", `{"action":"quarantine","reason":"look at it"}`)
		operation := f.start("dry", `{"action":"reopen","reason":"a mistake","dry_run":true,"selector":{"ids":["TASKS:1"]}}`)
		there := strings.NewReplacer(
			"/tasks/{task_id}", "/tasks/T2", "/agents/{agent}", "/agents/marketing", "/dlq/{id}", "/dlq/TASKS:1", "/operations/{id}", "/operations/"+operation.ID,
			"/duplicates/cases", "/duplicates/cases?layer=stream",
		)
		checked := 0
		for path, item := range f.api.huma.OpenAPI().Paths {
			if item.Get == nil || path == Base+"/stream" {
				continue
			}
			for _, target := range []string{there.Replace(path), path} {
				if f.answersAsDescribed(item.Get, strings.NewReplacer("{", "no-", "}", "").Replace(target)) {
					checked++
				}
			}
		}
		if checked < 60 {
			t.Errorf("only %d answers were JSON", checked)
		}
	})
}

// answersAsDescribed makes a call and holds its answer to the description of the operation. It reports whether the answer is JSON.
func (f *fixture) answersAsDescribed(op *huma.Operation, target string) bool {
	f.t.Helper()
	a := f.do("GET", target, "")
	described := op.Responses[strconv.Itoa(a.status)]
	mediaType, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if described == nil || described.Content[mediaType] == nil {
		f.t.Errorf("GET %s: %d %s is not described", target, a.status, mediaType)
		return false
	}
	if !strings.HasSuffix(mediaType, "json") {
		return false
	}
	checkSchema(f.t, f.api.huma.OpenAPI().Components.Schemas, described.Content[mediaType].Schema, a.body)
	return true
}
