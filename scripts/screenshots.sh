#!/bin/sh
# Starts a demonstration on free ports with data of its own, lets its story unfold for STORY seconds (default 45), and writes pictures of
# every page to OUT (default ./screenshots).
set -eu
cd "$(dirname "$0")/.."
data=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$data"' EXIT INT TERM
bin/fleetglass --demo --listen 127.0.0.1:0 --nats-listen 127.0.0.1:0 --data-dir "$data" 2>"$data/log" &
server=$!
address=""
for _ in $(seq 100); do
	address=$(sed -n 's|.*msg=serving pages=\(http://[^ ]*\).*|\1|p' "$data/log")
	[ -n "$address" ] && break
	kill -0 "$server" || { cat "$data/log"; exit 1; }
	sleep 0.1
done
echo "The demonstration runs at $address; pictures in ${STORY:-45} s."
sleep "${STORY:-45}"
go run ./internal/screenshots -url "$address" -out "${OUT:-screenshots}"
ls "${OUT:-screenshots}"
