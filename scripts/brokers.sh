#!/bin/sh
# Plays the rows of internal/situations on versions of nats-server that a fleet may have: those given, else the newest of each minor version that is
# supported before the one that is compiled in. Every broker and every Fleetglass is a process of its own, so the rows are played in three parts: a
# machine of two cores is too slow for all of them at once.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 2.11.17 2.12.15 2.14.9
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
go test -c -o "$dir/situations" ./internal/situations
play() {
	echo "nats-server $version: $1 $2"
	(cd internal/situations && FLEETGLASS_BROKER="$dir/$version/nats-server" "$dir/situations" -test.run "$1" -situation "$2" -test.timeout 20m) || failed=1
}
for version in "$@"; do
	GOBIN="$dir/$version" GOFLAGS= go install "github.com/nats-io/nats-server/v2@v$version"
	play OtherBroker ''
	for mode in live afterwards; do
		for rows in 'agents|causes|completion|leases|removal|settings|poison' 'consumers|delays|earlier|forgery|inventions|ledger|ways|gaps|resets' 'backups|beyond|changes|clocks|features|forgetting|held|memories|retries|rollups|several|spellings'; do
			play "NothingIsSaidThatMayNotBeSaid/$mode" "^($rows)/"
		done
	done
done
exit $failed
