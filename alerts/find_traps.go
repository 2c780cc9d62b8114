package alerts

import (
	"slices"
	"strings"
)

// Trap is one kind of trap in the configuration of the broker, as the doctor names it.
type Trap struct {
	Code     string // The doctor's.
	Severity Severity
	Title    string
	Why, Fix string   // Fix is that of the first place.
	On       []string // The streams and consumers that it was found on.
}

// toldOtherwise are traps of which other rules tell by what happens, which says more.
var toldOtherwise = []string{"nobody_takes", "consumer_paused"}

// blinding are traps through which nobody watches: what happens there is not seen at all.
var blinding = []string{"capture_missing", "capture_uncovered"}

// trapsThat finds the doctor's traps of a severity.
func trapsThat(severity Severity) func(*Facts, Rule) []Finding {
	return func(f *Facts, _ Rule) []Finding {
		var out []Finding
		for _, t := range f.Traps {
			if t.Severity != severity || slices.Contains(toldOtherwise, t.Code) {
				continue
			}
			found := Finding{
				Key: t.Code, Count: int64(len(t.On)), What: t.Title + ": " + cut(strings.Join(t.On, ", "), 120), Why: t.Why, Next: t.Fix, Page: "/doctor#" + t.Code,
			}
			if slices.Contains(blinding, t.Code) {
				found.Harm = HarmBlind
			}
			out = append(out, found)
		}
		return out
	}
}
