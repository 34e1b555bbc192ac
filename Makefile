# Everything here first makes the machine ready (scripts/bootstrap.sh), so a fresh checkout needs no other step.
#
#   make run         build the gateway and start it on 127.0.0.1:7717 (ARGS="..." goes to `toolway serve`)
#   make install     put the program on the PATH (PREFIX=/usr/local; PROFILE=dist builds what packages contain)
#   make test        format, lint, every test in Rust, Python and Java; closes with the counts
#   make test-fast   the same without the end-to-end, Python and Java parts
#   make conformance  the conformance suite of MCP, through the gateway and against its own client (within `make test`)
#   make conformance-fixture  the same suite against the tests' own MCP server, without a gateway
#   make test-genai  the crate genai reads what our adapters read
#   make test-small-model  one tool call of a real, small model (builds llama.cpp: some minutes the first time)
#   make android     the library for Android apps that offer tools, and two sample apps
#   make bench       the tables of figures
#   make hostile     attacks on a gateway from every role, and what others notice of them
#   make bench-android  what the bridge to apps costs, in a Java virtual machine and over adb
#   make fuzz        coverage-guided fuzzing, which continues an interrupted run (FUZZ_SECONDS for each target, 60 unless said)
#   make fmt         format the code

SHELL := /bin/sh
TARGET_DIR := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
# Where rustup puts its commands; a shell that has not been restarted since does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

ARGS ?=
# `dev` builds in minutes. `dist` takes longer and gives the smaller, faster program of the packages.
PROFILE ?= dev
PROFILE_DIR = $(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

.PHONY: help run install test test-fast conformance conformance-fixture test-genai test-small-model android bench hostile bench-android fuzz fmt

help:
	@sed -n 's/^#   \(make .*\)/  \1/p' Makefile

run:
	@scripts/bootstrap.sh run
	@scripts/build.sh $(PROFILE)
	@exec $(TARGET_DIR)/$(PROFILE_DIR)/toolway serve $(ARGS)

install:
	@scripts/bootstrap.sh run
	@scripts/build.sh $(PROFILE)
	@scripts/install.sh $(TARGET_DIR)/$(PROFILE_DIR)/toolway "$(PREFIX)"

test:
	@scripts/bootstrap.sh test
	@scripts/test.sh all

test-fast:
	@scripts/bootstrap.sh check
	@scripts/test.sh fast

conformance:
	@scripts/bootstrap.sh test
	@scripts/conformance.sh

conformance-fixture:
	@scripts/bootstrap.sh test
	@scripts/conformance.sh --fixture

test-genai:
	@scripts/bootstrap.sh run
	cargo test --manifest-path tests/genai/Cargo.toml

test-small-model:
	@scripts/bootstrap.sh test
	@scripts/test-small-model.sh

android:
	@scripts/bootstrap.sh android
	@scripts/android.sh
	@scripts/check-android.sh

bench:
	@scripts/bootstrap.sh run
	@scripts/bench.sh $(ARGS)

hostile:
	@scripts/bootstrap.sh run
	cargo build --profile dist --package toolway --package toolway-load
	TOOLWAY_BIN=$(TARGET_DIR)/dist/toolway $(TARGET_DIR)/dist/toolway-load --hostile $(ARGS)

bench-android:
	@scripts/bootstrap.sh android
	@scripts/bench-android.sh

fuzz:
	@scripts/bootstrap.sh run
	@scripts/fuzz.sh $(ARGS)

fmt:
	cargo fmt --all
