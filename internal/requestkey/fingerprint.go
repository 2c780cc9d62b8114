package requestkey

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// fingerprint tells one request from another under the same key. White space and the order of members of a JSON body make no difference;
// numbers keep their digits.
func fingerprint(r *http.Request, body []byte) string {
	return digest(append([]string{"fingerprint", r.URL.RawQuery, string(canonical(body))}, attributes(r.Header)...)...)
}

// attributes are the headers that are part of what a request brings: those of a CloudEvent in binary form.
func attributes(header http.Header) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if strings.HasPrefix(name, "Ce-") {
			out = append(out, name, strings.Join(header[name], ","))
		}
	}
	return out
}

// canonical is a JSON body with sorted member names and without white space, and any other body as it is.
func canonical(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return body
	}
	if _, err := d.Token(); err != io.EOF {
		return body // Something follows.
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return body
	}
	return sorted
}
