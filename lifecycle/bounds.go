package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bound is one end of [Bounds].
type Bound struct {
	At   int64
	Set  bool // There is such an end.
	Open bool // The end itself does not belong to it.
}

// Bounds are the least and the most that a number may be. The zero value has no end and holds every number.
type Bounds struct {
	Least, Most Bound
}

// Asked reports whether there is an end at all.
func (b Bounds) Asked() bool { return b.Least.Set || b.Most.Set }

// Holds reports whether a number lies within.
func (b Bounds) Holds(n int64) bool {
	if b.Least.Set && (n < b.Least.At || b.Least.Open && n == b.Least.At) {
		return false
	}
	return !b.Most.Set || n < b.Most.At || !b.Most.Open && n == b.Most.At
}

// narrow adds an end. It errors where nothing is left.
func (b *Bounds) narrow(op string, n int64) error {
	end := Bound{At: n, Set: true, Open: op == ">" || op == "<"}
	if op != "<" && op != "<=" && (!b.Least.Set || n > b.Least.At || n == b.Least.At && end.Open) {
		b.Least = end
	}
	if op != ">" && op != ">=" && (!b.Most.Set || n < b.Most.At || n == b.Most.At && end.Open) {
		b.Most = end
	}
	if b.Least.Set && b.Most.Set && (b.Least.At > b.Most.At || b.Least.At == b.Most.At && (b.Least.Open || b.Most.Open)) {
		return fmt.Errorf("has two bounds that nothing can meet: both must hold, as in attempt:>=2 attempt:<5")
	}
	return nil
}

// written lists the ends as pairs of an operator and a value.
func (b Bounds) written(value func(int64) string) (out [][2]string) {
	if b.Least.Set && b.Least == b.Most {
		return [][2]string{{"", value(b.Least.At)}}
	}
	add := func(end Bound, op string) {
		if end.Set && !end.Open {
			op += "="
		}
		if end.Set {
			out = append(out, [2]string{op, value(end.At)})
		}
	}
	add(b.Least, ">")
	add(b.Most, "<")
	return out
}

// opposite is the operator that holds where op does not.
func opposite(op string) string {
	return map[string]string{">": "<=", ">=": "<", "<": ">=", "<=": ">"}[op]
}

// mirrored is the operator for the time at which something happened, where op compares its age.
func mirrored(op string) string {
	return map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}[op]
}

// RunTime bounds how long workers had a message, in microseconds, as it is at one instant: an attempt that goes on counts until then.
type RunTime struct {
	Bounds
	AsOf Micros
}

// Of is how long workers had the newest message of a task until AsOf.
func (r RunTime) Of(s TaskSummary) time.Duration {
	if !s.HeldSince.Known() {
		return s.Running
	}
	return s.Running + max(0, r.AsOf.Sub(s.HeldSince))
}

func (t QueryTerm) compared() (op string, err error) {
	op = t.Op
	if op == "" {
		return "", fmt.Errorf("needs one of >, >=, < and <= before %q", t.Value)
	}
	if t.Not {
		op = opposite(op)
	}
	return op, nil
}

// setAttempt narrows by the number of the last attempt. A number alone is that number.
func setAttempt(f *Filter, t QueryTerm, _ time.Time) error {
	n, err := strconv.ParseUint(t.Value, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a number of an attempt; write attempt:>1 or attempt:3", t.Value)
	}
	op := t.Op
	switch {
	case op == "" && t.Not:
		return fmt.Errorf("cannot exclude one number with a minus; write attempt:<%d or attempt:>%d", n, n)
	case t.Not:
		op = opposite(op)
	}
	return f.Attempt.narrow(op, int64(n))
}

// setRan narrows by the time in the hands of workers.
func setRan(f *Filter, t QueryTerm, now time.Time) error {
	d, ok := ParseSpan(t.Value)
	if !ok {
		return fmt.Errorf("%q is not a duration; write duration:>30s, with a unit such as ms, s, m, h or d", t.Value)
	}
	op, err := t.compared()
	if err != nil {
		return err
	}
	f.Ran.AsOf = MicrosOf(now)
	return f.Ran.narrow(op, d.Microseconds())
}

// setPublished narrows by the time at which the newest message was published, or by its age.
func setPublished(f *Filter, t QueryTerm, now time.Time) error {
	at, isTime := parseTime(t.Value)
	age, isAge := ParseSpan(t.Value)
	if !isTime && !isAge {
		return fmt.Errorf("%q is neither a span nor a time; write published:<2h for what is younger than two hours, or published:>2026-01-31", t.Value)
	}
	op, err := t.compared()
	if err != nil {
		return err
	}
	if isAge {
		at, op = MicrosOf(now.Add(-age)), mirrored(op)
	}
	return f.Published.narrow(op, int64(at))
}

// maxSpan keeps spans within what a duration holds.
const maxSpan = 36500 * 24 * time.Hour

// ParseSpan reads a duration such as 500ms, 30s, 1h30m or 7d; not a negative one.
func ParseSpan(s string) (d time.Duration, ok bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil && n <= 36500
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0 && d <= maxSpan && s != "0"
}

func spanText(micros int64) string { return (time.Duration(micros) * time.Microsecond).String() }

func numberText(n int64) string { return strconv.FormatInt(n, 10) }

func instantOf(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }
