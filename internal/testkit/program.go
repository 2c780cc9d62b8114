package testkit

import (
	"os"
	"slices"
	"strings"
)

// ProgramEnv is the environment for a program that a test starts: the test's own, and more. The program collects its garbage as it does for its users:
// GOGC is for the tests (scripts/test.sh).
func ProgramEnv(more ...string) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
	return append(own, more...)
}
