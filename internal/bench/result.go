package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is one row: a figure, what it is held against, and whether that is enough. Missing numbers are null in JSON.
type Result struct {
	Name     string    `json:"name"`                // Names the row from run to run, such as "ingest/sqlite".
	What     string    `json:"what"`                // What was measured, in a few words.
	Unit     string    `json:"unit"`                // Of the value and the baseline.
	Value    float64   `json:"value"`               // Median of the runs.
	Baseline *float64  `json:"baseline"`            // Median of the runs; null where the row has none.
	Ratio    *float64  `json:"ratio"`               // Median of the ratios of the runs, each against the baseline measured beside it.
	Judged   string    `json:"judged"`              // What floor and goal speak of: "ratio" or "value".
	Higher   bool      `json:"higher_is_better"`    // Of what is judged.
	Floor    *float64  `json:"floor"`               // Null where none is set.
	Goal     *float64  `json:"goal"`                // Null where none is set.
	Met      *bool     `json:"met"`                 // Whether the floor is kept; null without a floor.
	GoalMet  *bool     `json:"goal_met"`            // Likewise.
	Runs     int       `json:"runs"`                // Runs, or samples of a distribution.
	Values   []float64 `json:"values"`              // Of each run, in order; of a distribution p50, p90, p99 and the highest.
	Bases    []float64 `json:"baselines,omitempty"` // Of each run, in order.
	Note     string    `json:"note,omitempty"`
}

// Report is everything that one invocation measured.
type Report struct {
	Schema  int       `json:"schema"` // 1.
	Time    time.Time `json:"time"`
	Commit  string    `json:"commit"` // With "-dirty" where files differed from it.
	Go      string    `json:"go"`
	CPUs    int       `json:"cpus"`
	Load    string    `json:"load"` // Of the machine at the beginning: averages over 1, 5 and 15 minutes.
	Form    string    `json:"form"`
	Events  int       `json:"events"` // Stored where a row speaks of stored events.
	Results []Result  `json:"results"`
}

// Ruler says what is asked of a row.
type Ruler struct {
	Floor, Goal float64
	Lower       bool // The lower, the better.
}

// Ratio is a row whose runs are held against a baseline, run by run. Both lists have the same length, at least one.
func Ratio(name, what, unit string, values, baselines []float64, r *Ruler) Result {
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / baselines[i]
	}
	base, ratio := Median(baselines), Median(ratios)
	out := Value(name, what, unit, values, nil)
	out.Baseline, out.Ratio, out.Bases, out.Judged = &base, &ratio, baselines, "ratio"
	out.judge(ratio, r)
	return out
}

// Value is a row that is judged by itself: the median of its runs.
func Value(name, what, unit string, values []float64, r *Ruler) Result {
	out := Result{Name: name, What: what, Unit: unit, Value: Median(values), Judged: "value", Runs: len(values), Values: values, Higher: perSecond(unit)}
	out.judge(out.Value, r)
	return out
}

// Distribution is a row of many samples that is judged by one of its quantiles.
func Distribution(name, what, unit string, samples []float64, q float64, r *Ruler) Result {
	shape := []float64{Quantile(samples, 0.5), Quantile(samples, 0.9), Quantile(samples, 0.99), Quantile(samples, 1)}
	out := Result{Name: name, What: what, Unit: unit, Value: Quantile(samples, q), Judged: "value", Runs: len(samples), Values: shape, Higher: perSecond(unit)}
	out.judge(out.Value, r)
	out.Note = fmt.Sprintf("p50 %s, p90 %s, p99 %s, highest %s %s", figure(shape[0]), figure(shape[1]), figure(shape[2]), figure(shape[3]), unit)
	return out
}

// perSecond tells rates, of which more is better, from times and sizes.
func perSecond(unit string) bool { return strings.HasSuffix(unit, "/s") }

func (r *Result) judge(figure float64, ruler *Ruler) {
	if ruler == nil {
		return
	}
	enough := func(bound float64) *bool {
		ok := figure >= bound
		if ruler.Lower {
			ok = figure <= bound
		}
		return &ok
	}
	r.Higher, r.Floor, r.Goal = !ruler.Lower, &ruler.Floor, &ruler.Goal
	r.Met, r.GoalMet = enough(ruler.Floor), enough(ruler.Goal)
}

// judgedByValue turns a row with a baseline into one that is judged by its own figure.
func (r Result) judgedByValue(ruler *Ruler) Result {
	r.Judged = "value"
	r.judge(r.Value, ruler)
	return r
}

// With returns the row with a note.
func (r Result) With(note string) Result {
	r.Note = note
	return r
}

// Median is the middle of the figures, zero of none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(figures))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Quantile is the smallest figure that is not exceeded by the share q of all, zero of none.
func Quantile(figures []float64, q float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(figures))
	at := int(q*float64(len(s))+0.999999) - 1
	return s[min(max(at, 0), len(s)-1)]
}
