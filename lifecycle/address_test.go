package lifecycle_test

import (
	"net/url"
	"testing"

	"fleetglass/lifecycle"
)

func TestATaskIsOneSegmentThatReadsBack(t *testing.T) {
	t.Parallel()
	base := &url.URL{Path: "/tasks/"}
	for id, want := range map[string]string{".": "%2E", "..": "%2E%2E", "counts": "%63ounts", "a/b": "a%2Fb", "...": "...", "a b": "a%20b", "%2F": "%252F"} {
		got := lifecycle.TaskSegment(id)
		joined, err := base.Parse("/tasks/" + got)
		if got != want || err != nil || joined.Path != "/tasks/"+id {
			t.Errorf("%q is %s and reads back as %v, %v", id, got, joined, err)
		}
	}
}

// Browsers fold dot segments, also escaped ones: such a name cannot be the end of a path.
func TestThePageOfATaskIsReachedByABrowser(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{".": "/task?id=.", "..": "/task?id=..", "a/b": "/tasks/a%2Fb", "counts": "/tasks/counts"} {
		if got := lifecycle.PageOfTask(id); got != want {
			t.Errorf("page of %q: %s, want %s", id, got, want)
		}
	}
}
