package web_test

import (
	"fmt"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestTheBoardShowsAPartOfManyLeases(t *testing.T) {
	t.Parallel()
	story := webtest.Rich(noon)
	for i := range 130 {
		m := story.Publish(fmt.Sprintf("many-%03d", i), "backend", "implementation", "One of many", -20*1e9, "")
		story.Deliver(m, 1, lifecycle.Micros(0).Sub(lifecycle.Micros(int64(10e6+i))))
	}
	s := newSite(t, story.Batch, acting)
	wants{"#healthy tr[data-id]": "=25", "#healthy a[rel=next]": "More"}.check(t, s.get(t, "/in-flight", 200))
	first := s.get(t, "/in-flight?kind=healthy", 200)
	wants{"tr[data-id]": "=100", "tbody": "=1"}.check(t, first)
	last := s.get(t, first.Find("a[rel=next]").AttrOr("href", ""), 200)
	if n := last.Find("tr[data-id]").Length(); n < 30 || n >= 100 || last.Find("a[rel=next]").Length() != 0 {
		t.Errorf("the last part has %d leases", n)
	}
	s.get(t, "/in-flight?kind=healthy&from=-1", 400)
	s.get(t, "/in-flight?kind=nothing", 400)
}
