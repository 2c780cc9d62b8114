package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document is an answer of the API, of which a text is made. What is missing reads as empty: the structured content has all of it.
type document struct{ value any }

func read(body []byte) document {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	_ = d.Decode(&v) // It was seen to be JSON.
	return document{v}
}

// at goes to a field of a field: "next.what".
func (d document) at(path string) document {
	if path == "" {
		return d
	}
	for name := range strings.SplitSeq(path, ".") {
		object, _ := d.value.(map[string]any)
		d = document{object[name]}
	}
	return d
}

// text is the value there as a text; null and what is missing are empty.
func (d document) text(path string) string {
	switch v := d.at(path).value.(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// list is the list there.
func (d document) list(path string) []document {
	items, _ := d.at(path).value.([]any)
	out := make([]document, len(items))
	for i, item := range items {
		out[i] = document{item}
	}
	return out
}

// fields are the names of the object there, sorted.
func (d document) fields(path string) map[string]document {
	object, _ := d.at(path).value.(map[string]any)
	out := make(map[string]document, len(object))
	for name, v := range object {
		out[name] = document{v}
	}
	return out
}

// has reports whether something other than null is there.
func (d document) has(path string) bool { return d.at(path).value != nil }

// json is the value there as indented JSON.
func (d document) json(path string) string {
	text, _ := json.MarshalIndent(d.at(path).value, "", "  ") // It was decoded from JSON.
	return string(text)
}
