package views

import "slices"

// LegendItem explains one thing that a timeline shows.
type LegendItem struct {
	Kind string // A kind of bar, lease, gap or break; empty for a mark.
	Look look
}

// legendOf lists what is in a timeline, and nothing else.
func legendOf(tl Timeline) []LegendItem {
	used := map[string]bool{"gap": len(tl.Gaps) > 0, "break": len(tl.Axis.Breaks) > 0}
	var marks []LegendItem
	for _, l := range tl.Lanes {
		for _, b := range l.Bars {
			used[string(b.Kind)] = true
		}
		used["lease"] = used["lease"] || l.Lease != nil
		used["beat"] = used["beat"] || len(l.Beats) > 0
		for _, m := range l.Marks {
			if item := (LegendItem{Look: m.Look}); !slices.Contains(marks, item) {
				marks = append(marks, item)
			}
		}
	}
	var out []LegendItem
	for _, k := range legendWords {
		if used[k.Kind] {
			out = append(out, k)
		}
	}
	return append(out, marks...)
}

var legendWords = []LegendItem{
	{"waiting", look{Word: "waiting"}}, {"running", look{Word: "running"}}, {"silent", look{Word: "running, no sign of life"}},
	{"unsplit", look{Word: "waiting or running, delivery not observed"}}, {"lease", look{Word: "lease"}}, {"beat", look{Word: "heartbeat"}},
	{"gap", look{Word: "not observed"}}, {"break", look{Word: "waiting, compressed"}},
}
