package query

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCursorsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, c := range []Cursor{
		{}, {At: 1, Key: "a"}, {At: -1 << 62, Key: "\xff\x00/", Backward: true, Now: 1<<62 + 1}, {At: 1 << 62, Key: "ü"},
	} {
		got, err := DecodeCursor(c.Encode("list"), "list")
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", c, err, diff)
		}
		if _, err := DecodeCursor(c.Encode("list"), "lists"); err == nil {
			t.Errorf("%+v is taken for another list", c)
		}
	}
}

func TestBindingsNameListsNotPlaces(t *testing.T) {
	t.Parallel()
	base := Binding("/tasks", url.Values{"agent": {"a", "b"}, "state": {"failed"}})
	same := []url.Values{
		{"agent": {"b", "a"}, "state": {"failed"}},
		{"agent": {"a", "b"}, "state": {"failed"}, "limit": {"5"}, "cursor": {"x"}},
		{"agent": {"a", "", "b"}, "state": {"failed"}, "type": {""}},
	}
	for _, q := range same {
		if got := Binding("/tasks", q); got != base {
			t.Errorf("%v: %s, want %s", q, got, base)
		}
	}
	for _, q := range []url.Values{{"agent": {"a"}, "state": {"failed"}}, {"agent": {"a", "b"}, "state": {"failed"}, "sort": {"published"}}} {
		if Binding("/tasks", q) == base {
			t.Errorf("%v is taken for the same list", q)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(Cursor{At: 5, Key: "blog", Now: 7}.Encode("b"))
	f.Add("AAAAAAAAAAAAAA")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := DecodeCursor(text, "b")
		if err == nil && c.Encode("b") != text {
			t.Errorf("%q reads as %+v, which is written %q", text, c, c.Encode("b"))
		}
	})
}

func TestPlacesAreOrderedTotally(t *testing.T) {
	t.Parallel()
	ordered := []Cursor{{At: -5, Key: "b"}, {At: 1, Key: "a"}, {At: 1, Key: "b"}, {At: 2}, {At: 0, Key: "a"}, {At: 0, Key: "b"}}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := a.Compare(b), compareInts(i, j); got != want {
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
