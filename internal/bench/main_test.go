//go:build linux

package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// The environment by which the test binary learns which process of a measurement it is.
const (
	envRole  = "FLEETGLASS_BENCH_ROLE"
	envOrder = "FLEETGLASS_BENCH_ORDER" // What it is to do, as JSON.
)

// roles are the processes that the test binary can be.
var roles = map[string]func(order []byte) error{"broker": beTheBroker, "memory": beTheMemory}

var (
	flagForm     = flag.String("form", "smoke", "how much is measured: smoke, quick or long")
	flagEvents   = flag.Int("events", 0, "events stored where a row speaks of stored events; default that of the form")
	flagPostgres = flag.Int("postgres-events", 0, "the same in Postgres; default that of the form")
	flagTasks    = flag.Int("tasks", 0, "tasks recorded for ingest; default that of the form")
	flagEntries  = flag.Int("entries", 100_000, "dead letters that operations are measured with")
	flagRows     = flag.String("rows", "", "regular expression of the rows to measure; default all")
	flagJSON     = flag.String("json", "", "file that the results are written to")
	flagCompare  = flag.String("compare", "", "earlier results to compare with")
	flagProgram  = flag.String("program", "", "Fleetglass to measure; default built from the sources here")
	flagProfiles = flag.String("profiles", "", "directory that profiles of ingest, operations, inflight and pages are written to")
)

func TestMain(m *testing.M) {
	role := roles[os.Getenv(envRole)]
	if role == nil {
		code := m.Run()
		removeProgram()
		os.Exit(code)
	}
	if err := role([]byte(os.Getenv(envOrder))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
