package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// post sends a body to a server over nothing.
func post(t *testing.T, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := New(Config{API: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func TestWhatIsNoCallIsAnsweredAsAnErrorOfJSONRPC(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		status, code int
		id           string
	}{
		`{"jsonrpc":"2.0","id":7,"method":"no/such"}`:   {200, -32601, `7`},
		`{"jsonrpc":"2.0","id":"a","method":"no/such"}`: {200, -32601, `"a"`},
		`{"jsonrpc":"2.0","method":"no/such"}`:          {400, -32601, `null`}, // A notification.
		`{"jsonrpc":`:                                   {400, -32700, `null`},
		`hello`:                                         {400, -32700, `null`},
		``:                                              {400, -32700, `null`},
		`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`: {400, -32700, `null`},
		`[]`:                       {400, -32600, `null`},
		`17`:                       {400, -32600, `null`},
		`{"jsonrpc":"2.0","id":1}`: {400, -32600, `1`},
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                {400, -32600, `1`},
		`{"jsonrpc":"2.0","id":1,"method":17}`:                                    {400, -32600, `1`},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`: {200, -32602, `1`},
	} {
		got := post(t, body)
		var answer struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		err := json.Unmarshal(got.Body.Bytes(), &answer)
		if err != nil || got.Code != want.status || answer.Error.Code != want.code || string(answer.ID) != want.id || answer.JSONRPC != "2.0" || answer.Error.Message == "" {
			t.Errorf("%s: got %d %s, want %d with code %d and id %s", body, got.Code, got.Body, want.status, want.code, want.id)
		}
		if media := got.Header().Get("Content-Type"); media != "application/json" {
			t.Errorf("%s: Content-Type %q", body, media)
		}
	}
}

func TestWhatIsACallIsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	if got := post(t, `{"jsonrpc":"2.0","id":7,"method":"ping"}`); got.Code != 200 || got.Body.String() != `{"jsonrpc":"2.0","id":7,"result":{}}` {
		t.Errorf("ping: %d %s", got.Code, got.Body)
	}
	if got := post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.Code != http.StatusAccepted || got.Body.Len() > 0 {
		t.Errorf("a notification: %d %s", got.Code, got.Body)
	}
	if got := post(t, `{}`, "Content-Type", "text/plain"); got.Code != http.StatusUnsupportedMediaType {
		t.Errorf("another media type: %d %s", got.Code, got.Body)
	}
}
