package failurelog

import (
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// Collections.
const (
	FailureCollection = "failure-log"
	MetricsCollection = "dlq-metrics"
)

// maxReason is how many bytes of a reason are kept: a document holds a megabyte, and an indexed text 1,500 bytes.
const maxReason = 10_000

// fields are those of a document. Times are milliseconds since 1970, as in the records of the contract; what is not known is null.
type fields map[string]any

// failure is the document of an entry, and its id.
func failure(e dlqtriage.Entry) (id string, doc fields) {
	return strings.ReplaceAll(e.ID, "/", "."), fields{
		"entryId": e.ID, "taskId": e.TaskID, "messageId": e.MessageID, "agentId": e.Agent, "type": e.Type,
		"category": string(e.Category), "detail": e.Detail, "kind": string(e.Kind), "path": string(e.Path),
		"reason": shortened(e.Reason), "rule": e.Classification.Rule, "classifiedBy": e.Classification.By,
		"deliveries": e.Deliveries, "generation": e.Generation, "failedAt": millis(e.FailedAt), "date": e.FailedAt.Time().Format(time.DateOnly),
		"status": string(e.Status), "outcome": string(e.Outcome), "resolvedAt": millis(e.ResolvedAt),
	}
}

// metrics is the document of an hour, and its id.
func metrics(h Hour) (id string, doc fields) {
	doc = fields{
		"hour": millis(h.At), "date": h.At.Time().Format(time.DateOnly), "messages": h.Messages, "entries": h.Entries, "rate": nil,
		"autoResolved": h.AutoResolved, "humanRequired": h.HumanRequired, "medianResolutionMs": nil,
	}
	if h.Messages > 0 {
		doc["rate"] = float64(h.Entries) / float64(h.Messages)
	}
	if h.Median > 0 {
		doc["medianResolutionMs"] = h.Median.Milliseconds()
	}
	return h.At.Time().Format("2006-01-02T15"), doc
}

func millis(at lifecycle.Micros) any {
	if !at.Known() {
		return nil
	}
	return int64(at) / 1000
}

func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxReason {
		return text
	}
	end := maxReason
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
