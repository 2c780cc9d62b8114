package requestkey

import (
	"net/http/httptest"
	"testing"
)

func TestOnlyWhatChangesARequestChangesItsFingerprint(t *testing.T) {
	t.Parallel()
	of := func(query, body string) string {
		return fingerprint(httptest.NewRequestWithContext(t.Context(), "POST", "/?"+query, nil), []byte(body))
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":{"c":2,"d":3}}`, "{\n\"b\": {\"d\":3,\"c\":2}, \"a\": 1}", true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":1} {}`, false},
		{`not json`, `not json`, true},
		{``, `null`, false},
	} {
		if got := of("", tt.a) == of("", tt.b); got != tt.same {
			t.Errorf("%q and %q have the same fingerprint: %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
	if of("a=1", "") == of("", "a=1") {
		t.Error("query and body are not kept apart")
	}
}
