package masking

import (
	"fmt"
	"strings"
)

// path is a place in a JSON value: names of fields, and * for any field or element.
type path []string

// parsePath reads a path such as $.payload.items[*].iban. The $ may be left out.
func parsePath(text string) (path, error) {
	rest := strings.TrimPrefix(text, "$")
	rest = strings.NewReplacer("[*]", ".*", "['", ".", "']", "", "[", ".", "]", "").Replace(rest)
	var out path
	for _, step := range strings.Split(strings.TrimPrefix(rest, "."), ".") {
		if step == "" {
			return nil, fmt.Errorf("%q is not a path such as $.payload.items[*].iban", text)
		}
		out = append(out, step)
	}
	return out, nil
}

// matches reports whether a place is what the path names.
func (p path) matches(place []string) bool {
	if len(p) != len(place) {
		return false
	}
	for i, step := range p {
		if step != "*" && !strings.EqualFold(step, place[i]) {
			return false
		}
	}
	return true
}
