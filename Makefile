# Everything that people and machines do with this repository. `make` alone lists the targets.
SHELL := /bin/sh
# The compiler takes a fifth less CPU where it collects garbage less often.
GO ?= GOGC=400 go
TOOL := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# One set of flags for all commands: what one of them has compiled serves the others. gin's MessagePack, which nothing here speaks, would take longer to
# compile than any other package.
FLAGS := -trimpath -tags=nomsgpack
export GOFLAGS := $(FLAGS) $(filter-out $(FLAGS),$(GOFLAGS))
export CGO_ENABLED := 0
GOFILES = $(shell git ls-files '*.go' | grep -v '_templ\.go$$')

.DEFAULT_GOAL := help
.PHONY: help build run test verify fmt-check lint generate generate-check linter tidy-check bench microbench pages firefox image-test torture brokers fuzz screenshots readme-images up down

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/fleetglass
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/fleetglass ./cmd/server

run: build ## Build and start the embedded demo on http://127.0.0.1:8080
	./bin/fleetglass --demo $(ARGS)

test: ## Install what the tests need, run all tests, say how many passed and failed
	./scripts/install-test-deps.sh
	./scripts/test.sh

verify: fmt-check tidy-check ## Check format, lint (with all that go vet finds), generated files, go.mod, imports and the compose file
	$(MAKE) --no-print-directory generate-check
	$(GO) test -ldflags=-w -vet=off ./internal/archtest ./cmd/server -run 'Tree|Table|README|Reference' -count=1
	cd deploy/composetest && GOWORK=off $(GO) test -count=1 ./...
	cd deploy/kubernetestest && GOWORK=off $(GO) test -count=1 ./...
	$(MAKE) --no-print-directory lint

fmt-check:
	@unformatted=$$(gofmt -l $(GOFILES)); if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi

tidy-check:
	$(GO) mod tidy -diff

linter: # Builds golangci-lint, which the first run would do.
	@$(TOOL) golangci-lint version >/dev/null

lint: ## Run golangci-lint (the first run builds it)
	$(TOOL) golangci-lint run ./...

generate: ## Regenerate templ components, the row codec and documentation
	@for dir in $$(git ls-files '*.templ' | xargs -n1 dirname | sort -u); do (cd $$dir && $(TOOL) templ generate -log-level warn) || exit 1; done
	$(GO) generate ./...
	@$(GO) test -ldflags=-w -vet=off ./cmd/server -run TestREADMEListsEverySetting -update -count=1 >/dev/null

generate-check: generate ## Fail when generated files differ from the committed ones
	@git diff --exit-code --stat -- "*_templ.go" "*_gen.go" docs/ README.md || { echo "generated files differ: run make generate and commit"; exit 1; }

bench: ## Measure against baselines of the same run: a table and bench.json (EVENTS=10000000 is the long form; see scripts/bench.sh)
	./scripts/bench.sh

microbench: ## Run the Go benchmarks of every package and print a table of medians
	./scripts/microbench.sh

pages: ## Check every page with axe at four widths in both schemes, and measure open pages over 1,000,000 tasks (about 30 minutes)
	FLEETGLASS_PAGES=long $(GO) test ./web -run 'NoPageHasAnAccessibilityViolation|AnOpenPageCostsLittle' -parallel 1 -count=1 -timeout 120m -v $(ARGS)

firefox: ## Load the main pages in Firefox (Debian: apt-get install firefox-esr)
	FLEETGLASS_FIREFOX=$$(command -v firefox-esr || command -v firefox) $(GO) test ./web -run FirefoxDraws -count=1 -v

image-test: ## Do the steps of the Dockerfile without an engine and run what comes of them (as root; Debian: apt-get install mmdebstrap)
	FLEETGLASS_IMAGE=1 $(GO) test ./cmd/server -run TheImageRunsWithoutAnEngine -count=1 -v

torture: ## Kill, freeze, cut off and starve everything, then compare with the fleet's own ledger; then 2,000 random worlds, 20,000 simulated brokers and ten times as many random histories (about 40 minutes)
	FLEETGLASS_TORTURE=long $(GO) test ./internal/torture -count=1 -timeout 60m -v $(ARGS)
	[ -n "$(ARGS)" ] || FLEETGLASS_TORTURE=long $(GO) test ./internal/situations -run 'RandomWorlds|KilledProgram' -count=1 -timeout 60m -v
	[ -n "$(ARGS)" ] || $(GO) test ./collectors/brokersync -run Simulated -count=1 -timeout 20m -v -simulations 20000
	[ -n "$(ARGS)" ] || $(GO) test ./lifecycle -count=1 -timeout 20m -times 10
	[ -n "$(ARGS)" ] || FLEETGLASS_TORTURE=long $(GO) test ./cmd/server -run 'BrokerThatIsAwayDuringActions|AnOnslaught' -count=1 -timeout 10m -v

brokers: ## Play the situations on older versions of nats-server (about 20 minutes on a quiet machine; ARGS=2.12.15 for one)
	./scripts/brokers.sh $(ARGS)

fuzz: ## Run every fuzz target for FUZZTIME (default 10s)
	./scripts/fuzz.sh

screenshots: build ## Write pictures of every page in five situations to screenshots/ (about 15 minutes; ARGS="-situations busy -pages task" for some)
	$(GO) run ./internal/screenshots -binary bin/fleetglass -out screenshots $(ARGS)

readme-images: build ## Make the pictures of the README anew
	$(GO) run ./internal/screenshots -binary bin/fleetglass -out screenshots -situations incident,busy,blind -pages overview,task,in-flight -widths 1440
	@mkdir -p docs/images
	cp screenshots/incident-overview-1440-light.png docs/images/overview.png
	cp screenshots/busy-task-1440-light.png docs/images/task.png
	cp screenshots/blind-in-flight-1440-dark.png docs/images/blind.png

up: ## Start the whole set with docker compose
	./scripts/up.sh

down: ## Stop it; the data stays in volumes
	docker compose down
