package api

import (
	"testing"

	"fleetglass/lifecycle"
)

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
