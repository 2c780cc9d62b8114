package api

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestControlCharactersAreEscapedAndMeanTheSame(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a\u009b2J": "\x7f and \u0085 é Â ä\u0080", "plain": "text"}
	var out bytes.Buffer
	if err := writeJSON(&out, want); err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(out.Bytes(), func(r rune) bool { return r != '\n' && control(r) }); i >= 0 {
		t.Errorf("byte %d of %q", i, &out)
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 2 || got["a\u009b2J"] != want["a\u009b2J"] {
		t.Errorf("%v %q", err, got)
	}
}

func control(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
