package lifecycle

import (
	"slices"
	"testing"
)

func TestFiltersMatchAsTheBrokerMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter, subject string
		want            bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.b.c", false},
		{"a.b.c", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a.b.c", false},
		{"a.*", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"*.b.*", "a.b.c", true},
		{"*.b.*", "a.c.c", false},
		{"a.>.c", "a.>.c", true}, // Only a last > is a wildcard.
		{"a.*b", "a.xb", false},  // Only a whole token is.
	} {
		if got := matches(c.filter, c.subject); got != c.want {
			t.Errorf("matches(%q, %q) = %t, want %t", c.filter, c.subject, got, c.want)
		}
	}
	if !MatchesAny(nil, "a.b") || !MatchesAny([]string{"x", "a.*"}, "a.b") || MatchesAny([]string{"x", "y"}, "a.b") {
		t.Error("several filters: any one matches, none matches everything")
	}
}

func TestFiltersNameTheAgentsWhoseTasksTheyMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filters []string
		agents  []string
		all     bool
	}{
		{nil, nil, true},
		{[]string{"genbrain.agents.cto.tasks.>"}, []string{"cto"}, false},
		{[]string{"genbrain.agents.cto.tasks.review", "genbrain.agents.cso.tasks.>", "genbrain.agents.cto.tasks.plan"}, []string{"cto", "cso"}, false},
		{[]string{"org.genbrain.agents.cto.tasks.>"}, []string{"cto"}, false},
		{[]string{"genbrain.*.cto.tasks.>"}, []string{"cto"}, false},
		{[]string{"genbrain.agents.cto.tasks.>", "genbrain.agents.*.tasks.review"}, nil, true},
		{[]string{"genbrain.agents.>"}, nil, true},
		{[]string{"genbrain.>"}, nil, true},
		{[]string{">"}, nil, true},
		{[]string{"genbrain.agents"}, nil, false},
	} {
		if agents, all := (ConsumerState{Filters: c.filters}).TakesOf(); !slices.Equal(agents, c.agents) || all != c.all {
			t.Errorf("%v: %v, all: %v", c.filters, agents, all)
		}
	}
}
