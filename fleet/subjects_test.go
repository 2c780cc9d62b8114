package fleet_test

import (
	"testing"

	"fleetglass/fleet"
)

func TestSubjectCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, other string
		want           bool
	}{
		{">", "a.b", true},
		{"a.>", "a.b.>", true},
		{"a.>", "a", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.*.c", true},
		{"a.b.c", "a.*.c", false},
		{"a.b.>", "a.>", false},
		{"a.*", "a.>", false},
		{"a.*", "a.b.c", false},
		{"a.b.c", "a.b", false},
	} {
		if got := fleet.SubjectCovers(c.pattern, c.other); got != c.want {
			t.Errorf("%s covers %s: %v, want %v", c.pattern, c.other, got, c.want)
		}
	}
}
