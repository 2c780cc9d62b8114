#!/bin/sh
# Measures Fleetglass against baselines of the same run, prints a table and writes the results as JSON (docs/performance.md).
#   EVENTS    events stored where a row speaks of stored events; from a million on it is the long form, which takes longest for 10000000
#   POSTGRES_EVENTS  the same in Postgres; default that of the form, 200000 or 3000000
#   TASKS     tasks recorded for ingest; default that of the form, 8000 or 60000
#   ENTRIES   dead letters that operations are measured with; default 100000
#   FORM      quick (about five minutes) or long; default by EVENTS
#   ROWS      regular expression of the rows: ingest, shards, saturated, fresh, answers, actions, operations, inflight, history, reads, memory, pages, start
#   OUT       file of the results; default bench.json
#   OLD       earlier results to compare with
#   PROFILES  directory for CPU and heap profiles of ingest, operations, inflight and pages
#   PROGRAM   a built Fleetglass to measure instead of these sources
set -eu
cd "$(dirname "$0")/.."
# Paths are those of the caller; the rows run in the directory of their package.
absolute() { case "$1" in '' | /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac; }
if [ -z "${FORM:-}" ]; then
	FORM=quick
	[ "${EVENTS:-0}" -lt 1000000 ] || FORM=long
fi
[ -z "${PROFILES:-}" ] || mkdir -p "$PROFILES"
go test ./internal/bench -count=1 -timeout 6h -run 'TestRows$' -v -args \
	-form "$FORM" -events "${EVENTS:-0}" -postgres-events "${POSTGRES_EVENTS:-0}" -tasks "${TASKS:-0}" -entries "${ENTRIES:-100000}" -rows "${ROWS:-}" -json "$(absolute "${OUT:-bench.json}")" \
	-compare "$(absolute "${OLD:-}")" -profiles "$(absolute "${PROFILES:-}")" -program "$(absolute "${PROGRAM:-}")"
