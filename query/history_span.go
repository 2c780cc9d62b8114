package query

import (
	"errors"
	"net/url"
	"time"

	"fleetglass/lifecycle"
)

// HistorySpan is a span of time in steps. Steps begin at multiples of their length since 1970, UTC: that is where counters begin.
type HistorySpan struct {
	From, To lifecycle.Micros // To is the end of the last step, which may be in the future.
	Step     time.Duration
}

// MaxHistory is the longest span of a history.
const MaxHistory = 92 * 24 * time.Hour

// ErrHistoryLong says that a span is longer than [MaxHistory], ErrHistoryEmpty that it ends before it begins, or begins in the future.
var (
	ErrHistoryLong  = errors.New("the span is longer than 92 days")
	ErrHistoryEmpty = errors.New("the span must begin before it ends, and not in the future")
)

// LastHistory is the span that ends with the current step.
func LastHistory(now lifecycle.Micros, length time.Duration) HistorySpan {
	step := historyStep(length, length)
	from := since(now, length, step)
	return HistorySpan{From: from, To: from.Add(length), Step: step}
}

// HistoryBetween is a span that covers [from, to), in whole steps. An unknown to, or one in the future, means now.
func HistoryBetween(now, from, to lifecycle.Micros) (HistorySpan, error) {
	if !to.Known() || to > now {
		to = now + 1
	}
	switch {
	case !from.Known() || from >= to:
		return HistorySpan{}, ErrHistoryEmpty
	case to.Sub(from) > MaxHistory:
		return HistorySpan{}, ErrHistoryLong
	}
	step := historyStep(to.Sub(from), now.Sub(from))
	span := HistorySpan{From: from.Truncate(step), To: to.Truncate(step), Step: step}
	if span.To < to {
		span.To = span.To.Add(step)
	}
	return span, nil
}

// historySteps says up to which length a span has which step. Those below an hour need counters of minutes, which are kept for two days only.
var historySteps = []struct{ upTo, step time.Duration }{
	{2 * time.Hour, time.Minute}, {6 * time.Hour, 5 * time.Minute}, {12 * time.Hour, 15 * time.Minute},
	{72 * time.Hour, time.Hour}, {14 * 24 * time.Hour, 6 * time.Hour}, {MaxHistory, 24 * time.Hour},
}

// historyStep is the step of a span of that length that began so long ago.
func historyStep(length, ago time.Duration) time.Duration {
	for _, s := range historySteps {
		if length <= s.upTo && (s.step >= time.Hour || ago < lifecycle.MinutesKept-2*time.Hour) {
			return s.step
		}
	}
	return 24 * time.Hour
}

// Steps is how many steps there are.
func (s HistorySpan) Steps() int { return int(s.To.Sub(s.From) / s.Step) }

// At is where a step begins.
func (s HistorySpan) At(i int) lifecycle.Micros { return s.From.Add(time.Duration(i) * s.Step) }

func (s HistorySpan) minutes() bool { return s.Step < time.Hour }

// step is the step in which an instant is.
func (s HistorySpan) step(at lifecycle.Micros) (i int, inside bool) {
	if at < s.From || at >= s.To {
		return 0, false
	}
	return int(at.Sub(s.From) / s.Step), true
}

// HistoryRange is a span that ends now, with the name by which pages and API ask for it.
type HistoryRange struct {
	Key, Name string
	Length    time.Duration
}

// HistoryRanges are the spans that end now. The second is the default.
func HistoryRanges() []HistoryRange {
	return []HistoryRange{
		{"1h", "1 h", time.Hour}, {"24h", "24 h", 24 * time.Hour}, {"7d", "7 d", 7 * 24 * time.Hour}, {"30d", "30 d", 30 * 24 * time.Hour},
	}
}

// ParseHistory reads a span: from and to, as in a filter, or one of [HistoryRanges] by its key; the last 24 hours where nothing is asked for. The error
// joins *lifecycle.FilterErrors.
func ParseHistory(key, from, to string, now lifecycle.Micros) (HistorySpan, error) {
	if from == "" && to == "" {
		for _, r := range HistoryRanges() {
			if r.Key == key || (key == "" && r.Length == 24*time.Hour) {
				return LastHistory(now, r.Length), nil
			}
		}
		return HistorySpan{}, &lifecycle.FilterError{Parameter: "range", Detail: "must be 1h, 24h, 7d or 30d"}
	}
	f, err := lifecycle.ParseFilter(url.Values{"from": {from}, "to": {to}}, now.Time())
	if err != nil {
		return HistorySpan{}, err
	}
	span, err := HistoryBetween(now, f.From, f.To)
	if err != nil {
		return HistorySpan{}, &lifecycle.FilterError{Parameter: "from", Detail: err.Error()}
	}
	return span, nil
}
