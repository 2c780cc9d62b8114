package idempotency

import (
	"time"

	"fleetglass/lifecycle"
)

// maxMillis is the last millisecond of the year 9999: larger numbers are no milliseconds since 1970.
const maxMillis = 253_402_300_799_999

// readNumber reads milliseconds. Numbers beyond the year 9999 count as that year: positions are bound by Firestore's own time anyway.
func readNumber(v any) (lifecycle.Micros, bool) {
	switch n := v.(type) {
	case int64:
		return lifecycle.Micros(min(max(n, 0), maxMillis) * 1000), true
	case float64:
		if n != n {
			return 0, true
		}
		return lifecycle.Micros(min(max(n, 0), maxMillis) * 1000), true
	}
	return 0, false
}

func readTimestamp(v any) (lifecycle.Micros, bool) {
	t, ok := v.(time.Time)
	return lifecycle.MicrosOf(t), ok
}
