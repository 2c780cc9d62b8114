package views

import (
	"slices"
	"testing"
)

func TestALineBreaksWithinNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": {""}, "plain words": {"plain words"}, "ends here.": {"ends here."}, "a.b_c": {"a.", "b_", "c"}, "ü.ö": {"ü.", "ö"}, "_": {"_"},
	} {
		if got := breaks(text); !slices.Equal(got, want) {
			t.Errorf("%q breaks as %q, want %q", text, got, want)
		}
	}
}
