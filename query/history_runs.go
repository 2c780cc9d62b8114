package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

// RunHistory is how long tasks ran that completed in each step. Its steps are not shorter than five minutes.
type RunHistory struct {
	Span  HistorySpan
	All   RunsOfType   // Over all types.
	Types []RunsOfType // The one with most tasks first, ties by name.
}

// RunsOfType is the distribution of running times of one task type over time.
type RunsOfType struct {
	Type  string
	Whole lifecycle.Typical // Of the whole span.
	Steps []RunStep
}

// Others reports whether it stands for the types that are not counted apart ([lifecycle.OtherNames]).
func (r RunsOfType) Others() bool { return r.Type == lifecycle.OtherNames }

// RunStep is the distribution of one step. The figures are read from a scale: they are at most 19 % above the true value.
type RunStep struct {
	At      lifecycle.Micros
	Typical lifecycle.Typical
	Buckets map[string]int64 // Tasks by [lifecycle.DurationBucket].
}

// OfType returns the distribution of a type, or nil.
func (h RunHistory) OfType(name string) *RunsOfType {
	i := slices.IndexFunc(h.Types, func(r RunsOfType) bool { return r.Type == name })
	if i < 0 {
		return nil
	}
	return &h.Types[i]
}

// runSpan is the span in the steps of running times, with the metric that has them.
func runSpan(span HistorySpan) (HistorySpan, lifecycle.Metric) {
	switch {
	case span.Step >= 24*time.Hour:
		return span, lifecycle.MetricRunningDay
	case !span.minutes():
		return span, lifecycle.MetricRunning
	}
	step := max(span.Step, lifecycle.RunningMinutes)
	out := HistorySpan{From: span.From.Truncate(step), To: span.To.Truncate(step), Step: step}
	if out.To < span.To {
		out.To = out.To.Add(step)
	}
	return out, lifecycle.MetricRunningMin
}

// runs reads how long tasks ran.
func (s *Service) runs(ctx context.Context, span HistorySpan, agent string) (RunHistory, error) {
	span, metric := runSpan(span)
	out := RunHistory{Span: span}
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{metric}, span.From, span.To, agent != "")
	if err != nil {
		return out, err
	}
	all, byType := newRuns("", span), map[string]*RunsOfType{}
	for c, n := range cells {
		i, inside := span.step(c.Bucket)
		cut := strings.LastIndexByte(c.Label, '|')
		if !inside || cut < 0 || n <= 0 || (agent != "" && c.Agent != agent) {
			continue
		}
		typ, bucket := c.Label[:cut], c.Label[cut+1:]
		if byType[typ] == nil {
			byType[typ] = newRuns(typ, span)
		}
		all.Steps[i].Buckets[bucket] += n
		byType[typ].Steps[i].Buckets[bucket] += n
	}
	out.All = all.done()
	for _, r := range byType {
		out.Types = append(out.Types, r.done())
	}
	slices.SortFunc(out.Types, func(a, b RunsOfType) int {
		return cmp.Or(cmp.Compare(b.Whole.Sample, a.Whole.Sample), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}

func newRuns(typ string, span HistorySpan) *RunsOfType {
	r := &RunsOfType{Type: typ, Steps: make([]RunStep, span.Steps())}
	for i := range r.Steps {
		r.Steps[i] = RunStep{At: span.At(i), Buckets: map[string]int64{}}
	}
	return r
}

// done reads the figures from the counts.
func (r *RunsOfType) done() RunsOfType {
	whole := map[string]int64{}
	for i := range r.Steps {
		r.Steps[i].Typical = lifecycle.TypicalOf(r.Steps[i].Buckets)
		for bucket, n := range r.Steps[i].Buckets {
			whole[bucket] += n
		}
	}
	r.Whole = lifecycle.TypicalOf(whole)
	return *r
}
