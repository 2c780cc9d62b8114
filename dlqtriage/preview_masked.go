package dlqtriage

import (
	"encoding/json"

	"fleetglass/masking"
)

// Masked is the preview as it may be shown: without what the masker hides in payload, headers and differences. What is published stays as it is.
func (v Preview) Masked(m *masking.Masker) Preview {
	if m == nil {
		return v
	}
	if v.Message != nil {
		shown := Message{Subject: v.Message.Subject, Payload: m.Body(v.Message.Payload), Headers: make(map[string]string, len(v.Message.Headers))}
		for name, value := range v.Message.Headers {
			shown.Headers[name] = m.Header(name, value)
		}
		v.Message = &shown
	}
	diff := make([]Difference, len(v.Diff))
	for i, d := range v.Diff {
		diff[i] = Difference{Op: d.Op, Path: d.Path, Before: json.RawMessage(m.At(d.Path, d.Before)), After: json.RawMessage(m.At(d.Path, d.After))}
	}
	v.Diff = diff
	return v
}
