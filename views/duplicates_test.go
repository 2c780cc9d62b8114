package views

import (
	"testing"

	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

func TestANetRateIsALowerBoundWhereSomethingIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unknown int64
		want    string
	}{{0, "0.500 %"}, {1, "≥ 0.500 %"}} {
		r := LedgerRow{Row: duplicates.Row{Published: 200, Found: map[lifecycle.Layer]int64{lifecycle.LayerExecution: 1, lifecycle.LayerUnknown: c.unknown}}}
		if got := netRate(r); got != c.want || (netRateNote(r) == "") != (c.unknown == 0) {
			t.Errorf("%d unknown: %q, %q; want %q", c.unknown, got, netRateNote(r), c.want)
		}
	}
}
