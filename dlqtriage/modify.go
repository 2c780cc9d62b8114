package dlqtriage

import (
	"encoding/json"
	"errors"
)

// ErrNotAnObject is what [ModifyPayload] says of a payload that is not a JSON object: nothing can be written into it. Modifications then
// travel in the header X-Modifications alone.
var ErrNotAnObject = errors.New("the payload is not a JSON object")

// Rewrite is what is to be written into a payload. What is zero leaves the payload as it is.
type Rewrite struct {
	Agent         string // Becomes assignee.
	Model         string // Becomes model.
	Version       int64  // Becomes version, which the idempotency key ends with.
	Modifications []Modification
}

// ModifyPayload writes modifications into a payload of the wire contract (SPEC 1) and says what differs. Everything else in the payload
// stays as it was, in its order. Without anything to write the payload is returned as it is, whatever it is.
func ModifyPayload(payload []byte, r Rewrite) ([]byte, []Difference, error) {
	if r.Agent == "" && r.Model == "" && r.Version == 0 && len(r.Modifications) == 0 {
		return payload, []Difference{}, nil
	}
	o, err := decodeObject(payload)
	if err != nil {
		return nil, nil, err
	}
	if r.Agent != "" {
		o.set("assignee", r.Agent)
	}
	if r.Model != "" {
		o.set("model", r.Model)
	}
	if r.Version != 0 {
		o.set("version", r.Version)
	}
	for _, m := range r.Modifications {
		m.write(o)
	}
	out := o.encode()
	return out, DiffPayload(payload, out), nil
}

// write writes one modification into a payload.
func (m Modification) write(o *object) {
	switch m.Type {
	case ModifyCompress:
		o.set("max_context_tokens", m.MaxTokens)
	case ModifyLimitOutput:
		if m.MaxTokens > 0 {
			o.set("max_output_tokens", m.MaxTokens)
		}
	case ModifyValidate:
		o.set("validate_output", true)
	case ModifyPreviousError:
		o.set("previous_error", m.Text)
	}
	if m.Type == ModifyFocus || m.Type == ModifyConcise {
		o.instruct(m.Text)
	}
}

// instruct adds a text to the list of instructions, once.
func (o *object) instruct(text string) {
	var list []any
	if json.Unmarshal(o.values["instructions"], &list) != nil {
		var single string
		if json.Unmarshal(o.values["instructions"], &single) == nil {
			list = []any{single}
		}
	}
	for _, t := range list {
		if t == text {
			return
		}
	}
	o.set("instructions", append(list, text))
}
