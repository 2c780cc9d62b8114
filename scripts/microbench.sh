#!/bin/sh
# Runs the benchmarks of the module one package at a time (they would disturb each other) and prints a table of medians. COUNT
# repeats each (default 6), BENCH selects by name, PACKAGES narrows. Absolute figures move from machine to machine: compare rows of one
# run, or two runs on one machine (OLD=before.txt names the earlier results).
set -eu
cd "$(dirname "$0")/.."
results=${OUT:-bench.out}
packages=${PACKAGES:-$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u)}
# shellcheck disable=SC2086 # The list is meant to split.
go test -p 1 -run '^$' -bench "${BENCH:-.}" -benchmem -count "${COUNT:-6}" -timeout 30m $packages >"$results" || { cat "$results"; exit 1; }
# shellcheck disable=SC2086
go tool -modfile=tools/go.mod benchstat ${OLD:-} "$results"
