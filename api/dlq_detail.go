package api

import (
	"encoding/json"
	"strconv"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// EntryDetail is all that is known of a message that died.
type EntryDetail struct {
	Entry
	Original EntryOriginal `json:"original"`
	Timeline []Event       `json:"timeline" nullable:"false" doc:"Events of its task in causal order, at most 2,000."`
	History  []Operation   `json:"history" nullable:"false" doc:"What was done about it, the newest first."`
	Gaps     []GapRef      `json:"gaps" nullable:"false" doc:"Spans within the task's time in which we may have been blind."`
	AsOf     Instant       `json:"as_of"`
}

// EntryOriginal is the message that died.
type EntryOriginal struct {
	Subject         Text                `json:"subject"`
	Headers         map[string][]string `json:"headers" doc:"Untrusted."`
	Payload         json.RawMessage     `json:"payload" doc:"Null where none is kept. Untrusted."`
	PayloadEncoding Text                `json:"payload_encoding" doc:"json, text or base64." example:"json"`
	SizeBytes       int64               `json:"size_bytes" doc:"Of the whole body." example:"512"`
	PayloadHash     Text                `json:"payload_hash" doc:"SHA-256 of the body, in hexadecimal digits."`
	Truncated       bool                `json:"truncated"`
	WhyMissing      Text                `json:"why_missing" doc:"Why the body is not shown, or not whole."`
}

func revisionText(r uint64) string { return strconv.FormatUint(r, 10) }

func (a *API) entryDetailOf(d query.EntryDetail) EntryDetail {
	now := a.now()
	out := EntryDetail{
		Entry: entryOf(d.EntryRow, now), Original: originalOf(d), Timeline: make([]Event, len(d.Events)), History: make([]Operation, len(d.History)),
		Gaps: append(refsOf(d.Gaps), a.unreadQueue()...), AsOf: Instant(now),
	}
	for i, e := range d.Events {
		out.Timeline[i] = eventOf(e)
	}
	for i, h := range d.History {
		out.History[i] = operationOf(h)
	}
	return out
}

func originalOf(d query.EntryDetail) EntryOriginal {
	out := EntryOriginal{Subject: Text(d.Subject), Headers: map[string][]string{}, WhyMissing: Text(d.Missing), Payload: json.RawMessage("null")}
	if m := deadMessageOf(d); m != nil && m.Stored != nil {
		out.SizeBytes, out.PayloadHash = m.Stored.Size, Text(m.Stored.PayloadHash)
	}
	if p := d.Payload; p != nil {
		shown, encoding := payloadShown(p.Body)
		out.Payload, out.PayloadEncoding, out.SizeBytes, out.Truncated = shown, Text(encoding), p.Size, p.Truncated
		if p.Headers != nil {
			out.Headers = p.Headers
		}
	}
	return out
}

// deadMessageOf are the facts of the message that died; nil where they are no longer kept.
func deadMessageOf(d query.EntryDetail) *lifecycle.MessageFacts {
	for i := range d.Record.Messages {
		if d.Record.Messages[i].Key == d.Key {
			return &d.Record.Messages[i]
		}
	}
	return nil
}
