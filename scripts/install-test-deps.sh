#!/bin/sh
# Installs what the tests need beside Go: Debian's PostgreSQL (a throw-away cluster per test binary), Chromium (the pages in a
# real browser), Prometheus (which reads
# metrics and rules) and its Alertmanager (which is told of alerts). Does nothing where they are there. Works as root or through sudo.
set -eu

have_postgres() { ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1; }
have_chromium() { command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; }

have_prometheus() { command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1; }
have_alertmanager() { command -v prometheus-alertmanager >/dev/null 2>&1; }

packages=""
have_postgres || packages="$packages postgresql"
have_chromium || packages="$packages chromium"
have_prometheus || packages="$packages prometheus"
have_alertmanager || packages="$packages prometheus-alertmanager"
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "The tests need PostgreSQL, Chromium, prometheus and prometheus-alertmanager. Missing here:$packages. Install them and run this again." >&2
	exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || { echo "The tests need:$packages. Install them as root: apt-get install --no-install-recommends$packages" >&2; exit 1; }
	as_root=sudo
fi
echo "Installing for the tests:$packages"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# The same browser without its windows takes a quarter less time, where it is packaged.
if apt-cache show chromium-headless-shell >/dev/null 2>&1; then packages="$packages chromium-headless-shell"; fi
# shellcheck disable=SC2086 # The list is meant to split.
$as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
