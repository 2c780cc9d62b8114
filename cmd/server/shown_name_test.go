package main

import "testing"

// Who opens a demonstration sees on every page that it is one.
func TestADemonstrationSaysSoUnlessItHasAName(t *testing.T) {
	t.Parallel()
	for c, want := range map[*Config]string{
		{}:                                   "",
		{Demo: true}:                         "demo",
		{Environment: "production"}:          "production",
		{Demo: true, Environment: "staging"}: "staging",
	} {
		if got := c.shownName(); got != want {
			t.Errorf("demo %t, environment %q: pages show %q, want %q", c.Demo, c.Environment, got, want)
		}
	}
}
