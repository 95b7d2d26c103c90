# `make demo` and `make test` do their own set-up on a fresh Debian 12 or 13.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
export PATH := $(CURDIR)/.tools/go/bin:$(CURDIR)/.tools/bin:$(PATH)
export GOFLAGS := -buildvcs=false

# Loading eBPF programs and making namespaces needs root: in demo and tests.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env)
GIT := git -c safe.directory='$(CURDIR)'
GO_TEST = gotestsum --format pkgname
FUZZTIME ?= 2s
SOAK ?= 10m
OUT ?= out
DATAPATH ?= xdp
KERNELS ?= all

# The layers of tests, by package; every package is in one of them. Those of the kernel and
# of namespaces drive real devices: one package at a time. What fails there is run once more,
# and both runs are printed: a machine that is shared can lose seconds at any moment.
REAL_TEST = $(GO_TEST) --rerun-fails=1 --rerun-fails-max-failures=4
REAL_FLAGS = -count=1 -p 1 -timeout 30m -exec '$(SUDO)'
MODULE := github.com/plumbline-upf/plumbline
KERNEL := ^$(MODULE)/(datapath|internal/doctor|lab/(generator|meter))(/|$$)
NAMESPACE := ^$(MODULE)/((cmd|internal/cli/ran|ran/gnb|lab|nfapi/conformance|p4/port|probe|upf/privilege)(/|$$)|upf$$)
BOOT := ^$(MODULE)/internal/kernels$$
packages = $$(go list ./... | grep -E '$(1)' | grep -vE '$(2)')

help: ## this text
	@grep -hE '^[a-z0-9-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{ printf "  make %-15s %s\n", $$1, $$2 }'

setup: ## install all that `make test` needs (Debian packages, Go, linters), when missing
	@scripts/setup test

build: ## bin/plumb; needs no clang: eBPF objects are committed
	@scripts/setup build
	commit=$$($(GIT) describe --always --dirty --abbrev=12 || true); \
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.commit=$$commit" -o bin/plumb ./cmd/plumb

PREFIX ?= /usr/local
DESTDIR ?=
DOC := $(PREFIX)/share/doc/plumbline

install: ## bin/plumb (make build), systemd units and examples of configurations, below PREFIX (/usr/local)
	@test -x bin/plumb || { echo 'make install: no bin/plumb: make build, as yourself' >&2; exit 1; }
	install -D -m 755 bin/plumb '$(DESTDIR)$(PREFIX)/bin/plumb'
	install -d '$(DESTDIR)$(PREFIX)/lib/systemd/system' '$(DESTDIR)$(DOC)'
	for unit in deploy/*.service; do \
		sed 's|/usr/local/bin/plumb|$(PREFIX)/bin/plumb|' "$$unit" > '$(DESTDIR)$(PREFIX)/lib/systemd/system/'"$${unit##*/}"; \
	done
	chmod 644 '$(DESTDIR)$(PREFIX)'/lib/systemd/system/plumb-*.service
	install -m 644 deploy/*.yaml '$(DESTDIR)$(DOC)'
	@echo 'make install: configurations: copy those of $(DOC) to /etc/plumbline'

demo: build ## a UPF, driven over PFCP, forwards real packets and is measured: a table and out/demo.html
	@OUT='$(OUT)' DATAPATH='$(DATAPATH)' $(SUDO) scripts/demo

test: setup lint generate-check unit kernel boot namespace fuzz ## everything that is checked, as CI does
	@echo 'make test: all passed'

quick: ## what has changed since the last commit: format, vet, tests of the changed packages
	@SUDO='$(SUDO)' scripts/quick '$(MODULE)' '$(KERNEL)|$(NAMESPACE)'

lint: setup ## golangci-lint (imports, errors, lengths, names) and shellcheck
	golangci-lint run ./...
	shellcheck scripts/* .ci/run

generate: setup ## eBPF objects and protobuf code, again from their sources
	@scripts/check-clang
	go generate ./...

generate-check: generate ## the committed generated code is what its sources give, P4 programs by their hashes
	go run ./p4/internal/record check
	$(GIT) diff --exit-code --stat -- '*_bpfel.o' p4/drop.p4 docs/nfapi-messages.md deploy/wireshark $$($(GIT) grep -lE '^// Code generated .* DO NOT EDIT\.$$' -- '*.go')

p4: ## P4 programs, again from their sources, where their compilers are on the PATH (p4/fronts.txt)
	@scripts/setup build
	scripts/p4

unit: setup ## tests that need no root, with the race detector; golden vectors, too
	CGO_ENABLED=1 $(GO_TEST) -- -race $(call packages,.,$(KERNEL)|$(NAMESPACE)|$(BOOT))

kernel: setup ## eBPF programs under BPF_PROG_RUN, and conformance of every datapath to the model
	$(REAL_TEST) --packages "$(call packages,$(KERNEL),^$$)" -- $(REAL_FLAGS)

boot: setup ## programs on the kernels of Debian 12 and 13, packets on that of 12, under qemu
	$(GO_TEST) -- -count=1 -timeout 30m ./internal/kernels

kernels: setup ## the whole on every kernel from 5.10 on (KERNELS=6.1,6.12-arm64: on those), and docs/kernels.md
	@scripts/setup arm64
	PLUMBLINE_KERNELS='$(KERNELS)' PLUMBLINE_RECORD=1 go test -count=1 -timeout 0 -v ./internal/kernels

arm64: setup ## tests of `make unit` built for arm64, under qemu: emulated, so it takes long
	@scripts/setup arm64
	scripts/arm64 $(call packages,.,$(KERNEL)|$(NAMESPACE)|$(BOOT))

namespace: setup ## end to end over veth pairs in namespaces, and scripts of each command
	$(REAL_TEST) --packages "$(call packages,$(NAMESPACE),$(KERNEL))" -- $(REAL_FLAGS)

fuzz: setup ## every fuzz target for FUZZTIME (2s; any Go duration)
	@EXEC='$(SUDO)' scripts/fuzz '$(FUZZTIME)'

soak: setup ## random scripts on every datapath against the model, for SOAK (10m; any Go duration)
	SOAK='$(SOAK)' go test -exec '$(SUDO)' -count=1 -timeout 0 -v -run '^TestRandom$$' ./datapath/xdp ./datapath/vector

bench: setup ## go benchmarks, five of each for benchstat: ns per packet in the kernel, sessions over N4
	go test -exec '$(SUDO)' -run '^$$' -bench 'Program|Establish' -count 5 -timeout 60m -p 1 ./datapath/xdp ./lab/n4load

clean: ## what was built; tools under .tools stay
	rm -rf bin $(OUT)

.PHONY: help setup build install demo test quick lint generate generate-check p4 unit kernel boot kernels arm64 namespace fuzz soak bench clean
