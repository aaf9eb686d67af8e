# SPDX-License-Identifier: Apache-2.0
# Needs Go and Python 3; everything else is fetched or built. `make help` lists the targets.

ENVOY_VERSION ?= # empty: $ENVOY_BIN, envoy on the PATH, else the pinned version
FUZZTIME      ?= 30s
OUT           := build/out
WASM          := $(OUT)/kvsteer.wasm
GOLANGCI      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHTIME     ?= 1s
TRACES        ?= ../shared/data/traces/mooncake

export ENVOY_VERSION

.DEFAULT_GOAL := help
.PHONY: help build wasm demo test test-full unit e2e fuzz bench bench-wasm bench-routing bench-e2e lint format check clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

build: wasm ## compile everything
	go build ./...
	cd e2e && go build ./...

# The compiler decides whether anything is to do, so the target is always run.
wasm: ## build the module, build/out/kvsteer.wasm
	@mkdir -p $(OUT)
	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o $(OUT)/compiled.wasm ./plugin
	go run ./build/straighten $(OUT)/compiled.wasm $(WASM)

demo: wasm ## replay one workload through Envoy: round robin, least request, kvsteer
	cd e2e && go run ./demo $(if $(TRACE),-trace $(abspath $(TRACE)))

test: unit e2e ## all tests
	@go run ./build/data
	@echo "make test: all tests passed"

test-full: ## all tests; absent public data is a failure, not a skip
	@go run ./build/data -require
	KVSTEER_REQUIRE_DATA=1 $(MAKE) test

unit: wasm ## tests of the packages and of the built module
	go test -timeout 20m ./...

e2e: wasm ## the built module in a real Envoy (ENVOY_VERSION)
	cd e2e && go test -timeout 30m ./...

fuzz: ## every fuzz target for FUZZTIME; findings to build/out/fuzz.json
	go run ./build/fuzz -time $(FUZZTIME) -out $(OUT)/fuzz.json

bench: ## native benchmarks
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) -benchmem ./policy/... ./expr/... ./plugin/...

bench-wasm: ## the benchmarks of the core in V8, under node
	go run ./build/benchwasm -benchtime $(BENCHTIME) ./policy/prefix ./policy/table ./policy/hrw ./policy

bench-routing: ## the routing tables of RATIONALE.md, by simulation
	go run ./policy/sim/bench -traces $(TRACES) -out $(OUT)/bench-routing

bench-e2e: wasm ## CPU per request beside bare Envoy
	cd e2e && go run ./bench

lint: ## static checks
	go vet ./...
	GOOS=wasip1 GOARCH=wasm go vet ./plugin
	cd e2e && go vet ./...
	go run $(GOLANGCI) run ./...
	cd e2e && go run $(GOLANGCI) run --config ../.golangci.yml ./...

format: ## gofmt
	gofmt -l -w build e2e expr plugin policy

check: lint test ## lint, tests, formatting and a clean tree
	test -z "$$(gofmt -l build e2e expr plugin policy)"
	test -z "$$(git status --porcelain)"

clean: ## remove what was built
	rm -rf $(OUT)
