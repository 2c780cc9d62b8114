package api

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

func TestCursorsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, c := range []cursor{
		{}, {At: 1, Key: "a"}, {At: -1 << 62, Key: "\xff\x00/", Backward: true, Now: 1<<62 + 1}, {At: 1 << 62, Key: "ü"},
	} {
		got, err := decodeCursor(c.encode("list"), "list")
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", c, err, diff)
		}
		if _, err := decodeCursor(c.encode("list"), "lists"); err == nil {
			t.Errorf("%+v is taken for another list", c)
		}
	}
}

func TestBindingsNameListsNotPlaces(t *testing.T) {
	t.Parallel()
	base := bindingOf("/tasks", url.Values{"agent": {"a", "b"}, "state": {"failed"}})
	same := []url.Values{
		{"agent": {"b", "a"}, "state": {"failed"}},
		{"agent": {"a", "b"}, "state": {"failed"}, "limit": {"5"}, "cursor": {"x"}},
		{"agent": {"a", "", "b"}, "state": {"failed"}, "type": {""}},
	}
	for _, q := range same {
		if got := bindingOf("/tasks", q); got != base {
			t.Errorf("%v: %s, want %s", q, got, base)
		}
	}
	for _, q := range []url.Values{{"agent": {"a"}, "state": {"failed"}}, {"agent": {"a", "b"}, "state": {"failed"}, "sort": {"published"}}} {
		if bindingOf("/tasks", q) == base {
			t.Errorf("%v is taken for the same list", q)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{At: 5, Key: "blog", Now: 7}.encode("b"))
	f.Add("AAAAAAAAAAAAAA")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text, "b")
		if err == nil && c.encode("b") != text {
			t.Errorf("%q reads as %+v, which is written %q", text, c, c.encode("b"))
		}
	})
}

func TestPlacesAreOrderedTotally(t *testing.T) {
	t.Parallel()
	ordered := []cursor{{At: -5, Key: "b"}, {At: 1, Key: "a"}, {At: 1, Key: "b"}, {At: 2}, {At: 0, Key: "a"}, {At: 0, Key: "b"}}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := comparePlaces(a, b), compareInts(i, j); got != want {
				t.Errorf("%+v against %+v: %d, want %d", a, b, got, want)
			}
		}
	}
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestWeakComparisonOfTags(t *testing.T) {
	t.Parallel()
	tag := entityTag("content")
	if tag != entityTag("content") || tag == entityTag("other") {
		t.Errorf("tag %s does not follow the content", tag)
	}
	for header, want := range map[string]bool{tag: true, tag[2:]: true, "*": true, `"x", ` + tag: true, `"x"`: false, "": false, `W/"x"`: false} {
		if got := matches([]string{header}, tag); got != want {
			t.Errorf("If-None-Match %q: %v, want %v", header, got, want)
		}
	}
	if matches([]string{"*"}, "") {
		t.Error("an answer without a tag matched")
	}
}

func TestInstantsAndSequencesReadBack(t *testing.T) {
	t.Parallel()
	for _, want := range []Instant{0, 1, Instant(lifecycle.MicrosOf(exampleTime(0).Time()))} {
		b, _ := want.MarshalJSON()
		var got Instant
		if err := got.UnmarshalJSON(b); err != nil || got != want {
			t.Errorf("%s reads as %d, %v, want %d", b, got, err, want)
		}
	}
	for _, want := range []Sequence{0, 1, 1<<53 + 1, 1<<64 - 1} {
		b, _ := want.MarshalJSON()
		var got Sequence
		if err := got.UnmarshalJSON(b); err != nil || got != want {
			t.Errorf("%s reads as %d, %v, want %d", b, got, err, want)
		}
	}
}
