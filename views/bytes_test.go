package views

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrettyJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in, want string
		limit          int
		more           bool
	}{
		{"nested", `{"a":[1,{"b":"x, {y}"}],"c":{}}`, "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x, {y}\"\n    }\n  ],\n  \"c\": {}\n}", 1000, false},
		{"escaped quote", `{"a":"\"{"}`, "{\n  \"a\": \"\\\"{\"\n}", 1000, false},
		{"text", "hello\nworld", "hello\nworld", 1000, false},
		{"cut text", "hello world", "hello", 5, true},
		{"cut JSON", `{"a":1,"b":2}`, "{\n  \"a\": ", 9, true},
		{"binary", "\x00\x01\x02\x03", "00000000  00 01 02 03                                       |....|\n", 1000, false},
		{"empty", "", "", 1000, false},
		{"control characters", "{\"a\":\"\u202e\x1b\"}", "{\n  \"a\": \"\uFFFD␛\"\n}", 1000, false},
	} {
		got, more := PrettyJSON([]byte(test.in), test.limit)
		if got != test.want || more != test.more {
			t.Errorf("%s: got %q, %v; want %q, %v", test.name, got, more, test.want, test.more)
		}
	}
}

func FuzzPrettyJSON(f *testing.F) {
	for _, s := range []string{`{"taskId":"t-1","payload":{"title":"x"}}`, `[[[[`, `{"a":"\\"}`, "\xff{", `"`, `{"a":`, "{}]]}", strings.Repeat("[", 500)} {
		f.Add([]byte(s), 200)
	}
	f.Fuzz(func(t *testing.T, body []byte, limit int) {
		if limit < 1 || limit > 1<<16 {
			return
		}
		got, more := PrettyJSON(body, limit)
		if !utf8.ValidString(got) {
			t.Errorf("not text: %q", got)
		}
		var want bytes.Buffer
		if !more && json.Valid(body) && bytes.IndexFunc(body, func(r rune) bool { return r < ' ' || r > '~' }) < 0 && bytes.ContainsAny(body[:1], "{[") && len(body) < 200 {
			if err := json.Indent(&want, body, "", "  "); err == nil && got != want.String() {
				t.Errorf("%s: got %s, want %s", body, got, want.String())
			}
		}
		if limit > 100 && len(got) > 4*limit+8000 {
			t.Errorf("limit %d: got %d bytes", limit, len(got))
		}
	})
}

func TestALargePayloadCostsNoMoreThanItsBeginning(t *testing.T) {
	body := []byte(`{"files":[` + strings.Repeat(`{"path":"a"},`, 400_000) + `{}]}`)
	if n := testing.AllocsPerRun(5, func() { PrettyJSON(body, 64<<10) }); n > 20_000 {
		t.Errorf("%v allocations", n)
	}
	got, more := PrettyJSON(body, 64<<10)
	if !more || len(got) > 65<<10 {
		t.Errorf("got %d bytes, more %v", len(got), more)
	}
}
