# What each target does is in the file it runs; make itself is only for convenience.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

SOAK ?= 30m

build: ## the stripped programs, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ ./cmd/...

package: ## a .deb, a .rpm, a .apk and an archive with checksums, in dist/
	VERSION='$(VERSION)' sh deploy/package/build

docs: ## the manual as a site that needs no server, in dist/docs/; the first time takes two minutes more
	VERSION='$(VERSION)' sh deploy/site/build

release: ## every file of a release, in dist/: VERSION=v1.2.3 [BASE=https://example.org/nanobot] [KEY=key.pem]
	VERSION='$(VERSION)' BASE='$(BASE)' KEY='$(KEY)' sh deploy/package/release

test: ## everything that CI tests
	sh .ci/test

test-long: ## in full what test runs briefly: kill -9 loops, floods, soaks, fuzzing; about an hour
	sh .ci/long

test-agents: ## real agents from npm against a model, and bots against nanobot-sim, on loopback; needs node and npm
	go test -tags agents -count=1 -timeout 60m -p 1 -run 'TestRealAgents|UsesTheTools|FromNPM' -v \
		./gateway/tools ./cmd/nanobot ./cmd/nanobot-sim

test-systemd: ## the units, nanobot bots and the page on servers, on a real systemd in namespaces; needs root and systemd
	NANOBOT_TEST_SYSTEMD=1 go test -count=1 -v ./deploy/systemd

test-release: ## a release for all platforms: made twice, installed, run under QEMU and systemd, and the manual in Chromium; minutes; as root
	NANOBOT_TEST_RELEASE=1 go test -count=1 -timeout 60m -v ./deploy/package ./deploy/site
	NANOBOT_TEST_RELEASE=1 go test -count=1 -run '^TestThePageSetsUpAServer$$' -v ./deploy/systemd

soak: ## the daemon on fake networks that fail, with kills and reloads, for SOAK=30m; NANOBOT_SEED=n does the same again
	SOAK='$(SOAK)' go test -race -count=1 -timeout 0 -run '^TestSoak$$' -v ./cmd/nanobot

lint: ## formatting, vet, dependency directions and more
	sh .ci/lint

bench: ## the tables of docs/performance.md, measured here and now
	sh .ci/bench

bench-outside: ## the real binary beside bare processes, through a Bot API server in a process of its own; four minutes
	go test -run '^$$' -bench '^BenchmarkFromOutside$$' -benchtime 1x -timeout 20m ./cmd/nanobot

.PHONY: build package docs release test test-long test-agents test-systemd test-release soak lint bench bench-outside
