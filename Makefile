# Hornbeam. `make demo` shows it at work on real data, `make test` runs all tests.

SWIFT ?= swift
PREFIX ?= /usr/local
# CI treats warnings as errors; so does everyone who runs the tests.
STRICT = -Xswiftc -warnings-as-errors
SOURCES = Package.swift Sources Tests Examples Benchmarks/Package.swift Benchmarks/Sources fuzz/Package.swift fuzz/Sources

.PHONY: demo test outside build deps lint format bench fuzz install clean

demo: deps
	Scripts/make-demo-data.sh data/debian
	$(SWIFT) build -c release --product debian-catalogue
	$(SWIFT) build -c release --product hornbeam
	.build/release/debian-catalogue demo data/debian data/catalogue.hornbeam

test: deps lint
	$(SWIFT) build --build-tests $(STRICT)
	$(SWIFT) test $(STRICT)
	Scripts/install.sh .build/c-interface/prefix
	PREFIX=$(CURDIR)/.build/c-interface/prefix Scripts/test-c-interface.sh
	PREFIX=$(CURDIR)/.build/c-interface/prefix Scripts/test-outside.sh

# Power losses, failing calls and damaged files through the C interface: FACTOR times as many as in a test run.
outside: deps
	Scripts/test-outside.sh $(or $(FACTOR),50) $(or $(SEED),1)

build: deps
	$(SWIFT) build -c release

deps:
	@Scripts/install-dependencies.sh

lint:
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)

format:
	$(SWIFT) format format --in-place --recursive --parallel $(SOURCES)

bench:
	@Scripts/install-dependencies.sh bench
	$(SWIFT) run --package-path Benchmarks -c release hornbeam-bench $(BENCH)

# Each fuzz target for FUZZ_SECONDS.
fuzz: deps
	Scripts/run-fuzzers.sh

install:
	Scripts/install.sh $(PREFIX)

clean:
	rm -rf .build Benchmarks/.build fuzz/.build data
