# Hornbeam. `make demo` shows it with real data, `make test` runs all tests.

SWIFT ?= swift
PREFIX ?= /usr/local
# CI treats warnings as errors, and so do these targets.
STRICT = -Xswiftc -warnings-as-errors
SOURCES = Package.swift Sources Tests Examples Benchmarks/Package.swift Benchmarks/Sources fuzz/Package.swift fuzz/Sources

.PHONY: demo demo-mirror test docs build deps lint format bench bench-smoke bench-report bench-text counts counts-baseline crash hostile faults readers mirrors soak tsan asan outside fuzz install clean

demo: deps
	Scripts/make-demo-data.sh data/debian
	$(SWIFT) build -c release --product debian-catalogue
	$(SWIFT) build -c release --product hornbeam
	$(SWIFT) build -c release --product hornbeam-studio
	.build/release/debian-catalogue demo data/debian data/catalogue.hornbeam
	@echo
	@echo "Look at it in a browser: .build/release/hornbeam studio data/catalogue.hornbeam"

# The catalogue mirrored into the demo's own PostgreSQL server.
demo-mirror: demo
	Scripts/install-dependencies.sh postgres
	.build/release/debian-catalogue mirror data/catalogue.hornbeam /tmp/hornbeam-mirror.$$$$

# Tests and sanitizers run with self-checks, and tests also with the lower layers optimized (Package.swift).
tsan asan: export HORNBEAM_CHECKS = 1
test: export HORNBEAM_OPTIMIZED_TESTS = 1
test: deps lint
	Scripts/install-dependencies.sh postgres
	$(SWIFT) build --build-tests $(STRICT)
	Scripts/run-tests.sh $(STRICT)
	Scripts/make-docs.sh .build/debug .build/docs
	Scripts/run-proof.sh .build/debug crash 20000
	Scripts/run-proof.sh .build/debug hostile 50000
	Scripts/run-proof.sh .build/debug faults 4000
	Scripts/run-proof.sh .build/debug readers 10000
	Scripts/install.sh .build/c-interface/prefix
	PREFIX=$(CURDIR)/.build/c-interface/prefix Scripts/test-c-interface.sh
	PREFIX=$(CURDIR)/.build/c-interface/prefix Scripts/test-outside.sh
	Scripts/install-dependencies.sh studio
	Scripts/test-studio.sh .build/debug

# The guides and the public API as a static site in .build/docs.
docs: deps
	$(SWIFT) build
	Scripts/make-docs.sh .build/debug .build/docs

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

# Any command of hornbeam-bench: make bench BENCH="run --workload random --n 100000".
BENCHMARKS = $(SWIFT) build --package-path Benchmarks -c release
HORNBEAM_BENCH = Benchmarks/.build/release/hornbeam-bench
bench:
	@Scripts/install-dependencies.sh bench
	$(BENCHMARKS)
	$(HORNBEAM_BENCH) $(BENCH)

# Every workload once at a tiny size, with every installed engine, to check that all give right answers.
bench-smoke: deps
	Scripts/bench-smoke.sh

# Measures the figures of Docs/performance.md: an hour or two. REPORT=FILE uses those of an earlier run.
REPORT ?= Benchmarks/.build/report.json
bench-report:
	@Scripts/install-dependencies.sh bench
	$(BENCHMARKS)
	test -e $(REPORT) || $(HORNBEAM_BENCH) run --json $(REPORT)
	$(HORNBEAM_BENCH) report $(REPORT) --markdown Docs/performance.md --svg Docs/performance.svg
	$(HORNBEAM_BENCH) scaling --instructions --markdown Docs/performance.md

# Measures the figures of full text: makes the texts once (600 MB of Debian's packages and RFCs), then half an hour
# for each round.
TEXT_DATA = data/text
bench-text:
	@Scripts/install-dependencies.sh bench
	Scripts/make-demo-data.sh data/debian
	Scripts/make-text-data.py $(TEXT_DATA) --debian data/debian
	$(BENCHMARKS)
	$(HORNBEAM_BENCH) text --data $(TEXT_DATA) --runs $(or $(RUNS),3) --json Benchmarks/.build/text.json \
	    --markdown Docs/performance.md $(TEXT)

# Instructions and allocations per operation, compared with the baseline. counts-baseline writes a new baseline.
COUNTS = Benchmarks/Baselines/counts.json
counts:
	@Scripts/install-dependencies.sh bench
	$(BENCHMARKS)
	$(HORNBEAM_BENCH) counts --check $(COUNTS)

counts-baseline:
	@Scripts/install-dependencies.sh bench
	$(BENCHMARKS)
	$(HORNBEAM_BENCH) counts --write $(COUNTS)

# The proofs at length, in release builds: a process for each core, with seeds from SEED on. Docs/testing.md describes
# them.
PROOF = $(SWIFT) build -c release --product hornbeam-proof && Scripts/run-proof.sh .build/release

# Power losses and kills at every call of random lives.
crash: deps
	$(PROOF) crash $(or $(STATES),1000000) $(SEED)

# Damaged and forged files.
hostile: deps
	$(PROOF) hostile $(or $(MUTATIONS),1000000) $(SEED)

# Failing calls to the file.
faults: deps
	$(PROOF) faults $(or $(FAULTS),100000) $(SEED)

# Processes that read beside one that writes and dies.
readers: deps
	$(PROOF) readers $(or $(SNAPSHOTS),1000000) $(SEED)

# Threads in a process that is killed again and again.
soak: deps
	$(PROOF) soak $(or $(MINUTES),10) $(SEED)

# Mirrors in PostgreSQL whose programs, servers and connections die.
mirrors: deps
	Scripts/install-dependencies.sh postgres
	$(SWIFT) build -c release --product mirror-worker
	.build/release/mirror-worker lives $(or $(LIVES),300) $(or $(SEED),1)

# Readers and writers under the thread sanitizer, which needs help with Swift's Mutex: Scripts/tsan-mutex.c. The tests
# with several threads run in groups: all at once, some would exceed their time limits. ForkTests run beside no other
# thread, whose lock in the sanitizer a child could find held.
TSAN = TSAN_OPTIONS=halt_on_error=1 LD_PRELOAD=$(CURDIR)/.build/tsan/tsan-mutex.so
TSAN_TESTS = $(TSAN) .build/tsan/debug/hornbeamPackageTests.xctest --testing-library swift-testing --filter
tsan: deps
	$(SWIFT) build --sanitize=thread --scratch-path .build/tsan --product hornbeam-proof
	clang -shared -fPIC -O1 -Wall -Wextra -Werror -o .build/tsan/tsan-mutex.so Scripts/tsan-mutex.c
	$(TSAN) .build/tsan/debug/hornbeam-proof threads 4 $(SEED)
	$(SWIFT) build --build-tests --sanitize=thread --scratch-path .build/tsan
	$(TSAN_TESTS) 'ConcurrencyProofTests|StripedCount|IdlePlaces|IdleReads|PinnedAgain|PageStoreTests|GroupCommit|CheckpointWorker|ArrearsTests|UnwrittenPages|PageCache|DatabaseTests|ObservationTests|LiveConcurrency'
	$(TSAN_TESTS) 'WatchTests|LinuxFileTests|CheckpointSteps|CommitPace|ClosingTests|StoreThreads|WriterTurn|Shrinking|RecoveringWriter|CollationTests|PendingWritingTests/concurrent'
	$(TSAN_TESTS) 'ForkTests|AsyncWrite|CancelledReads|ContextUse|UpkeepTests|OperationLog|KeptSearchers|LiveSections|LongLivedRead' --no-parallel
	$(TSAN_TESTS) 'IndexBuildTests|ParallelBuild|RegisteredIndexTests|RegisteredState'
	$(TSAN_TESTS) 'StudioLifeTests|StudioWriteTests|ParcelServiceTests'

# Damaged and forged files, and some of the other proofs, under the address sanitizer.
asan: deps
	$(SWIFT) build --sanitize=address --scratch-path .build/asan --product hornbeam-proof
	Scripts/run-proof.sh .build/asan/debug hostile $(or $(MUTATIONS),20000) $(SEED)
	Scripts/run-proof.sh .build/asan/debug crash 2000 $(SEED)
	Scripts/run-proof.sh .build/asan/debug faults 400 $(SEED)
	Scripts/run-proof.sh .build/asan/debug readers 2000 $(SEED)

# Each fuzz target, or only TARGET, for SECONDS.
fuzz: deps
	FUZZ_SECONDS=$(or $(SECONDS),60) Scripts/run-fuzzers.sh $(TARGET)

install:
	Scripts/install.sh $(PREFIX)

clean:
	rm -rf .build Benchmarks/.build fuzz/.build data
