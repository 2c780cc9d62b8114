// Package bench measures Fleetglass against baselines of the same run: ratios hold from machine to machine, absolute figures do not.
// The rows are tests of this package, because they run real brokers, databases and programs that end with the test; scripts/bench.sh
// runs them, and `make test` only proves with tiny numbers that they work. docs/performance.md says what each row measures.
package bench
