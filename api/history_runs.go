package api

import (
	"strconv"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// runError is how much figures that are read from the scale of running times may be above the true value.
const runError = 0.19

func runHistoryOf(h query.RunHistory) RunHistory {
	out := RunHistory{From: Instant(h.Span.From), StepS: int64(h.Span.Step.Seconds()), Error: runError, All: runsOfType(h.All), Types: make([]RunsOfType, len(h.Types))}
	for i, r := range h.Types {
		out.Types[i] = runsOfType(r)
	}
	return out
}

func runsOfType(r query.RunsOfType) RunsOfType {
	out := RunsOfType{Type: Text(r.Type), Others: r.Others(), Whole: maybeTypical(r.Whole), Steps: make([]Maybe[RunStep], len(r.Steps))}
	if r.Others() {
		out.Type = ""
	}
	for i, s := range r.Steps {
		typical := maybeTypical(s.Typical)
		if typical.Value == nil {
			continue
		}
		step := RunStep{Typical: *typical.Value, UpTo: make(map[string]int64, len(s.Buckets))}
		for bucket, n := range s.Buckets {
			step.UpTo[strconv.FormatInt(lifecycle.BucketDuration(bucket).Milliseconds(), 10)] += n
		}
		out.Steps[i] = just(step)
	}
	return out
}
