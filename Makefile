# What each target does is in the file it runs; make itself is only for convenience.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

build: ## the stripped binary, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/nanobot ./cmd/nanobot

test: ## everything that CI tests
	sh .ci/test

lint: ## formatting, vet, dependency directions and more
	sh .ci/lint

bench: ## the README's table, measured here and now
	sh .ci/bench

.PHONY: build test lint bench
