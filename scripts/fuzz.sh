#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME (default 10s), one after the other; stops at the first finding.
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do
	for target in $(grep -h '^func Fuzz' "$dir"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do
		echo "$dir $target"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}"
	done
done
