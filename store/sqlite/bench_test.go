package sqlite_test

import (
	"flag"
	"testing"

	"fleetglass/store/storetest"
)

var benchEvents = flag.Int("events", 400_000, "events stored before the reads are measured")

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, *benchEvents, open) }
