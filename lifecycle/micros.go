package lifecycle

import "time"

// Micros is an instant as microseconds since the Unix epoch, UTC: the resolution and form in which every store keeps time. Zero
// means "not known", never 1970.
type Micros int64

// MicrosOf converts t; the zero time gives zero.
func MicrosOf(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	return Micros(t.UnixMicro())
}

// Known reports whether the instant is known.
func (m Micros) Known() bool { return m != 0 }

// Time converts m to a UTC time; unknown gives the zero time.
func (m Micros) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// Add shifts m by d. An unknown instant stays unknown.
func (m Micros) Add(d time.Duration) Micros {
	if m == 0 {
		return 0
	}
	return m + Micros(d.Microseconds())
}

// Sub is the time from o to m. It is zero when either is not known.
func (m Micros) Sub(o Micros) time.Duration {
	if m == 0 || o == 0 {
		return 0
	}
	return time.Duration(m-o) * time.Microsecond
}

// Truncate rounds m down to a multiple of d since the epoch, for time buckets.
func (m Micros) Truncate(d time.Duration) Micros {
	step := Micros(d.Microseconds())
	if m < 0 || step <= 0 {
		return m
	}
	return m - m%step
}

// earliest and latest are the joins of instants: unknown is the neutral element.

func earliest(a, b Micros) Micros {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func latest(a, b Micros) Micros { return max(a, b) }
