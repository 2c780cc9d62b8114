#!/bin/sh
# Runs every test of every module here and closes with one plain line. PACKAGES narrows the main module, TESTFLAGS adds flags.
set -u
cd "$(dirname "$0")/.."

# Brokers and stores that the tests start write through to their disk at every step. A hundred of them at once make a disk so slow that a broker answers late,
# so their files are in memory where there is room and programs may run from it.
room=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -ge 4096 ] && memory=$(mktemp -d /dev/shm/fleetglass-tests-XXXXXX); then
	chmod 755 "$memory" # Postgres runs as another user.
	cp /bin/true "$memory/runs"
	if "$memory/runs" 2>/dev/null; then export TMPDIR="$memory"; fi
fi
# Compiling and testing take a good part less CPU where garbage is collected less often. Programs that tests start do not hear of it.
export GOGC="${GOGC:-400}"
results=$(mktemp -d)
trap 'rm -rf "$results" ${memory:+"$memory"}' EXIT INT TERM
gotestsum="go tool -modfile=$PWD/tools/go.mod gotestsum --format pkgname --hide-summary=skipped"

# Most packages wait for a broker, a database or a browser: one more than there are cores run at once. Without debug information they link in half of
# the time, and make verify vets.
# The time limit ends a package that hangs: on a busy machine the slowest ones take three times their usual five minutes.
flags="-count=1 -timeout 40m -trimpath -ldflags=-w -vet=off ${TESTFLAGS:-}"
together="-p $(($(nproc) + 1))"

# The slow packages begin first, the slowest before the others, so that none of them is alone at the end.
slow="web cmd/server store/postgres internal/bench lifecycle collectors/brokersync api internal/crashpoints dlqtriage/monitor store/sqlite"

# These run a hundred stories against the clock at once: beside other packages a small machine is late for their deadlines.
alone="internal/situations internal/torture"

status=0
# shellcheck disable=SC2046,SC2086 # Flags and packages are meant to split.
if [ -n "${PACKAGES:-}" ]; then
	$gotestsum --jsonfile "$results/main.json" -- $flags $together $PACKAGES || status=1
else
	packages=$(go list ./...) || exit 1
	$gotestsum --jsonfile "$results/main.json" -- $flags $together $(printf './%s ' $slow) $(echo "$packages" | grep -v -F "$(printf '/%s\n' $alone)") || status=1
	for package in $alone; do
		$gotestsum --jsonfile "$results/$(basename "$package").json" -- $flags "./$package" || status=1
	done
	(cd deploy/composetest && GOWORK=off $gotestsum --jsonfile "$results/compose.json" -- -timeout 2m ./...) || status=1
	(cd deploy/kubernetestest && GOWORK=off $gotestsum --jsonfile "$results/kubernetes.json" -- -timeout 2m ./...) || status=1
fi

go build -o "$results/testsummary" ./internal/testsummary || exit 1
echo
"$results/testsummary" -allow scripts/allowed-skips.txt "$results"/*.json || status=1
exit $status
