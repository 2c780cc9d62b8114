package requestkey

import (
	"bytes"
	"encoding/json"
	"io"
)

// fingerprint tells one request from another under the same key. White space and the order of members of a JSON body make no difference;
// numbers keep their digits.
func fingerprint(query string, body []byte) string {
	return digest("fingerprint", query, string(canonical(body)))
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
