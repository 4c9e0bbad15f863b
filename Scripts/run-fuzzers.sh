#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer and runs each for FUZZ_SECONDS (default 60), or only those named.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(FuzzFile FuzzStore FuzzKeys FuzzText)

swift build --package-path fuzz -c release --sanitize=fuzzer
for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target" "fuzz/regressions/$target"
    echo "== $target for $seconds s"
    # Without this a trap may hang in the backtracer instead of leaving its input behind.
    SWIFT_BACKTRACE=enable=no "fuzz/.build/release/$target" "fuzz/corpus/$target" \
        -max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="fuzz/regressions/$target/" -print_final_stats=1 -verbosity=0
done
