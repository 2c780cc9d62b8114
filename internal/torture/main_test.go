//go:build linux

package torture

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// The environment by which a run is chosen, and by which the test binary learns which process of the harness it is.
const (
	envForm  = "FLEETGLASS_TORTURE"      // "long" for the long form; anything else is the short one.
	envSeed  = "FLEETGLASS_TORTURE_SEED" // A number; default the time.
	envDir   = "FLEETGLASS_TORTURE_DIR"  // Where logs, journals and data are kept; default a directory that is removed.
	envRole  = "FLEETGLASS_TORTURE_ROLE"
	envOrder = "FLEETGLASS_TORTURE_ORDER" // What a process of the harness is to do, as JSON.
)

// roles are the processes that the test binary can be.
var roles = map[string]func(order []byte) error{"fleet": beTheFleet, "broker": beTheBroker, "node": beTheNode}

func TestMain(m *testing.M) {
	role := roles[os.Getenv(envRole)]
	if role == nil {
		os.Exit(runAll(m))
	}
	if err := role([]byte(os.Getenv(envOrder))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runAll runs all tests at once, however few processors there are: most of the time they wait.
func runAll(m *testing.M) int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set(form("8", "4")); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	code := m.Run()
	if built.Load() {
		if path, err := program(); err == nil {
			_ = os.Remove(path)
		}
	}
	return code
}

// long reports whether the long form was asked for.
func long() bool { return os.Getenv(envForm) == "long" }

// form chooses between the two.
func form[T any](short, whole T) T {
	if long() {
		return whole
	}
	return short
}

// seedOf is the seed of a run, said in the log so that it can be repeated.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv(envSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", envSeed, err)
		}
	}
	t.Logf("repeat with %s=%d", envSeed, seed)
	return seed
}

// order is what a process of the harness is told.
func order(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
