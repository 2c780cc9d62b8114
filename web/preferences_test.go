package web_test

import (
	"strings"
	"testing"

	"fleetglass/web/webtest"
)

func TestPreferencesAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for query, want := range map[string]struct{ cookie, location string }{
		"theme=dark&back=/tasks":                     {"fleetglass_theme=dark", "/tasks"},
		"tz=Europe%2FBerlin&back=%2Ftasks%3Fq%3Dx":   {"fleetglass_tz=Europe", "/tasks?q=x"},
		"tz=No%2FWhere&back=/":                       {"", "/"},
		"theme=dark&back=https%3A%2F%2Fevil.example": {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%2Fevil.example":         {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%5Cevil.example":         {"fleetglass_theme=dark", "/"},
		"theme=dark&back=%2F%0Aevil":                 {"fleetglass_theme=dark", "/"},
		"theme=%22%3E%3Cscript%3E&back=/":            {"", "/"},
	} {
		answer := s.fetch(t, "/preferences?"+query, nil)
		_ = answer.Body.Close()
		if got := answer.Header.Get("Location"); answer.StatusCode != 303 || got != want.location {
			t.Errorf("%s: got %d to %q, want 303 to %q", query, answer.StatusCode, got, want.location)
		}
		if got := answer.Header.Get("Set-Cookie"); !strings.HasPrefix(got, want.cookie) || (want.cookie == "") != (got == "") {
			t.Errorf("%s: cookie %q, want %q", query, got, want.cookie)
		}
	}
	wants{`html[data-theme="dark"]`: "", "#rows time[title$='CET']": "", `.prefs [value="local"][aria-pressed="true"]`: ""}.check(t,
		s.get(t, "/tasks", 200, "fleetglass_theme=dark", "fleetglass_tz=Europe%2FBerlin"))
	wants{"html[data-theme]": "=0", "#rows time[title$='UTC']": ""}.check(t, s.get(t, "/tasks", 200, "fleetglass_theme=<b>", "fleetglass_tz=../../etc/passwd"))
}

func TestTimesOfFormsAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	doc := s.get(t, "/tasks?from=2026-11-20T12:30&to=2026-11-20T13:00", 200, "fleetglass_tz=Europe%2FBerlin")
	wants{`[data-copy-link][href*="from=2026-11-20T11%3A30%3A00Z"]`: "", `#own-from[value="2026-11-20T12:30"]`: ""}.check(t, doc)
}
