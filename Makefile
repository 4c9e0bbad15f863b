# Hornbeam. `make demo` shows it at work on real data, `make test` runs all tests.

SWIFT ?= swift
PREFIX ?= /usr/local
# CI treats warnings as errors; so does everyone who runs the tests.
STRICT = -Xswiftc -warnings-as-errors
SOURCES = Package.swift Sources Tests Examples Benchmarks/Package.swift Benchmarks/Sources fuzz/Package.swift fuzz/Sources

.PHONY: demo test build deps lint format bench crash hostile outside fuzz install clean

demo: deps
	Scripts/make-demo-data.sh data/debian
	$(SWIFT) build -c release --product debian-catalogue
	$(SWIFT) build -c release --product hornbeam
	.build/release/debian-catalogue demo data/debian data/catalogue.hornbeam

test: deps lint
	$(SWIFT) build --build-tests $(STRICT)
	$(SWIFT) test $(STRICT)
	Scripts/run-proof.sh .build/debug crash 20000
	Scripts/run-proof.sh .build/debug hostile 50000
	Scripts/run-proof.sh .build/debug faults 4000
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

# The proofs at length, in release builds, a process for each core with seeds from SEED on. Docs/testing.md tells what
# each shows.
PROOF = $(SWIFT) build -c release --product hornbeam-proof && Scripts/run-proof.sh .build/release

# Power losses and kills at every call of random lives.
crash: deps
	$(PROOF) crash $(or $(STATES),1000000) $(SEED)

# Damaged and forged files.
hostile: deps
	$(PROOF) hostile $(or $(MUTATIONS),1000000) $(SEED)

# Calls to the file that fail.
faults: deps
	$(PROOF) faults $(or $(FAULTS),100000) $(SEED)

# Threads at work in a process that is killed again and again.
soak: deps
	$(PROOF) soak $(or $(MINUTES),10) $(SEED)

# Readers and writers under the thread sanitizer.
tsan: deps
	$(SWIFT) build --sanitize=thread --scratch-path .build/tsan --product hornbeam-proof
	TSAN_OPTIONS=halt_on_error=1 .build/tsan/debug/hornbeam-proof threads 4 $(SEED)
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/tsan
	TSAN_OPTIONS=halt_on_error=1 $(SWIFT) test --skip-build --sanitize=thread --scratch-path .build/tsan \
	    --filter 'ConcurrencyProofTests|PageStoreTests|GroupCommit|BackgroundCheckpoint|PageCache|DatabaseTests'

# Damaged and forged files under the address sanitizer.
asan: deps
	$(SWIFT) build --sanitize=address --scratch-path .build/asan --product hornbeam-proof
	Scripts/run-proof.sh .build/asan/debug hostile $(or $(MUTATIONS),20000) $(SEED)

# Each fuzz target, or TARGET alone, for SECONDS.
fuzz: deps
	FUZZ_SECONDS=$(or $(SECONDS),60) Scripts/run-fuzzers.sh $(TARGET)

install:
	Scripts/install.sh $(PREFIX)

clean:
	rm -rf .build Benchmarks/.build fuzz/.build data
