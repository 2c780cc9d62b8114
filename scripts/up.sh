#!/bin/sh
# Starts the set of docker-compose.yml; makes the secrets in .env the first time.
set -eu
cd "$(dirname "$0")/.."
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
if [ ! -f .env ]; then
	(umask 077 && printf 'FLEETGLASS_TOKEN=%s\nNATS_PASSWORD=%s\n' "$(random)" "$(random)" >.env)
	echo "Wrote .env with a token for Fleetglass and a password for NATS."
fi
if ! grep -q '^METRICS_TOKEN=' .env; then
	metrics=$(random)
	printf 'METRICS_TOKEN=%s\nMETRICS_TOKEN_SHA256=%s\n' "$metrics" "$(printf %s "$metrics" | sha256sum | cut -d' ' -f1)" >>.env
fi
docker compose up --build --detach --wait
echo "Pages: http://localhost:8080 (sign in with the token: FLEETGLASS_TOKEN in .env)"
echo "Broker for agents: nats://fleet:<NATS_PASSWORD in .env>@localhost:4222"
