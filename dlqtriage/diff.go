package dlqtriage

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Difference is one place in which two payloads differ, in the manner of JSON Patch (RFC 6902).
type Difference struct {
	Op     string          `json:"op"`     // add, remove or replace.
	Path   string          `json:"path"`   // A JSON pointer (RFC 6901); empty for the whole payload.
	Before json.RawMessage `json:"before"` // Null where there was nothing.
	After  json.RawMessage `json:"after"`  // Null where there is nothing.
}

// The operations of a difference.
const (
	OpAdd     = "add"
	OpRemove  = "remove"
	OpReplace = "replace"
)

// DiffPayload lists what differs between two payloads, in the order of the paths. Payloads that are not JSON are compared as texts. Two
// spellings of one JSON value do not differ.
func DiffPayload(before, after []byte) []Difference {
	out := []Difference{}
	a, b := readJSON(before), readJSON(after)
	diffValue(&out, "", a, b)
	return out
}

// readJSON decodes a payload; what is not JSON becomes a text. Numbers keep their digits.
func readJSON(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if json.Valid(text) && d.Decode(&v) == nil {
		return v
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

func diffValue(out *[]Difference, path string, a, b any) {
	ma, mapA := a.(map[string]any)
	mb, mapB := b.(map[string]any)
	la, listA := a.([]any)
	lb, listB := b.([]any)
	switch {
	case mapA && mapB:
		diffObject(out, path, ma, mb)
	case listA && listB:
		diffList(out, path, la, lb)
	case !sameJSON(a, b):
		*out = append(*out, Difference{OpReplace, path, rawJSON(a), rawJSON(b)})
	}
}

func diffObject(out *[]Difference, path string, a, b map[string]any) {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		va, inA := a[key]
		vb, inB := b[key]
		diffMember(out, path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), va, inA, vb, inB)
	}
}

func diffList(out *[]Difference, path string, a, b []any) {
	for i := range max(len(a), len(b)) {
		var va, vb any
		if i < len(a) {
			va = a[i]
		}
		if i < len(b) {
			vb = b[i]
		}
		diffMember(out, path+"/"+strconv.Itoa(i), va, i < len(a), vb, i < len(b))
	}
}

func diffMember(out *[]Difference, path string, a any, inA bool, b any, inB bool) {
	switch null := json.RawMessage("null"); {
	case inA && inB:
		diffValue(out, path, a, b)
	case inA:
		*out = append(*out, Difference{OpRemove, path, rawJSON(a), null})
	default:
		*out = append(*out, Difference{OpAdd, path, null, rawJSON(b)})
	}
}

func sameJSON(a, b any) bool { return bytes.Equal(rawJSON(a), rawJSON(b)) }

func rawJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v) // It was decoded from JSON, or is a text.
	return text
}
