package views

import (
	"os"
	"slices"
	"strings"
	"testing"

	"fleetglass/lifecycle"
)

func TestEveryKindHasAnIconAndATone(t *testing.T) {
	t.Parallel()
	sprite, err := os.ReadFile("../static/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	tones := []string{"run", "ok", "warn", "bad", "dead", "dup", "wait"}
	for _, r := range append(lifecycle.Kinds(), lifecycle.Kind("brand_new").Row()) {
		if !strings.Contains(string(sprite), `id="`+r.Icon+`"`) {
			t.Errorf("kind %s: the sprite has no icon %q", r.Kind, r.Icon)
		}
		if !slices.Contains(tones, r.Tone) {
			t.Errorf("kind %s: tone %q is none of %v", r.Kind, r.Tone, tones)
		}
	}
}
