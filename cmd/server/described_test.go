package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// described is what the OpenAPI document says of the answers of one call.
type described struct {
	Responses map[string]struct {
		Headers map[string]any
		Content map[string]struct{ Examples map[string]any }
	}
}

// What stands before the handlers refuses requests too: their answers, the codes in them and the headers that they need are in the document.
func TestRefusalsBeforeTheHandlersAreInTheDocument(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t, "--max-body", "1kB")
	var document struct {
		Paths map[string]map[string]described
	}
	admin, many := with(secrets["admin"]), with(secrets["admin"])
	if err := json.NewDecoder(r.request(http.MethodGet, "/openapi.json", admin, nil).Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		many.Set(fmt.Sprintf("X-%d", n), "x")
	}
	text, foreign := with(secrets["admin"]), http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example.org"}}
	text.Set("Content-Type", "text/plain")
	seen := map[string]int{}
	for path, calls := range document.Paths {
		place := strings.NewReplacer("{", "", "}", "").Replace(path)
		for method, call := range calls {
			method = strings.ToUpper(method)
			answers := []*http.Response{
				r.request(method, place+"?"+strings.Repeat("x", 17<<10), admin, nil),
				r.request(method, place, many, nil),
				r.request(method, place+"?a=%zz", admin, nil),
				r.request(method, place+"?no-such-parameter=1", admin, nil),
				r.request(method, place, with("fg_"+strings.Repeat("stranger", 5)), nil),
				r.request(method, place, http.Header{"Host": {"evil.example.org"}}, nil),
				r.request(method, place, foreign, nil),
			}
			if method == http.MethodPost {
				large := strings.NewReader(strings.Repeat(" ", 2000))
				answers = append(answers, r.request(method, place, text, strings.NewReader("{}")), r.request(method, place, admin, large))
			}
			for _, got := range answers {
				seen[call.holds(t, method+" "+path, got)]++
			}
		}
		others := slices.Collect(maps.Values(calls))
		got := r.request(http.MethodPut, place, admin, nil)
		seen[others[0].holds(t, "PUT "+path, got)]++
		for method := range calls {
			if allow := got.Header.Get("Allow"); !strings.Contains(allow, strings.ToUpper(method)) {
				t.Errorf("PUT %s: Allow is %q, and the document has %s", path, allow, method)
			}
		}
	}
	for _, code := range []string{"uri_too_long", "header_too_large", "bad_request", "unknown_parameter", "unauthenticated", "forbidden", "method_not_allowed", "unsupported_media_type", "body_too_large"} {
		if seen[code] == 0 {
			t.Errorf("no answer was %s; there were %v", code, seen)
		}
	}
}

// holds holds an answer to the document, and returns the code of the problem that it tells of; empty for none.
func (d described) holds(t *testing.T, what string, got *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.Request.Method == http.MethodHead {
		t.Fatal(what, err)
	}
	response, is := d.Responses[strconv.Itoa(got.StatusCode)]
	mediaType, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	content, hasType := response.Content[mediaType]
	if !is || !hasType {
		t.Errorf("%s: the document has no answer %s of type %q", what, got.Status, mediaType)
		return ""
	}
	for _, name := range []string{"Allow", "WWW-Authenticate", "Retry-After"} {
		if sent := got.Header.Get(name) != ""; sent != (response.Headers[name] != nil) {
			t.Errorf("%s: %s has header %s: %t, and the document says otherwise", what, got.Status, name, sent)
		}
	}
	var problem struct{ Code string }
	if got.StatusCode < 400 {
		return ""
	}
	if err := json.Unmarshal(body, &problem); err != nil || content.Examples[problem.Code] == nil {
		t.Errorf("%s: %s has code %q, which the document does not name there: %v", what, got.Status, problem.Code, slices.Sorted(maps.Keys(content.Examples)))
	}
	return problem.Code
}
