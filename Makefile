GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
LINT     = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: build demo test race generate check-generated lint vet bench cross mutate clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/pve-mcp ./cmd/pve-mcp

demo: build
	./bin/pve-mcp demo

test:
	$(GO) test -timeout 20m ./...

race:
	$(GO) test -race -timeout 40m ./...

generate:
	$(GO) generate ./...

check-generated:
	$(GO) run ./cmd/pvegen -in apidoc/facts/pve-9.2.json -out generated -check

vet:
	$(GO) vet ./...

lint:
	$(LINT) run ./...

cross:
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/pve-mcp
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/pve-mcp

# Breaks the code on purpose; every breakage must make a test fail.
mutate:
	$(GO) run ./internal/mutate

bench: build
	$(GO) run ./internal/bench

clean:
	rm -rf bin dist
