#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer and runs each, or only the named ones, for FUZZ_SECONDS (default 60), as many
# at once as there are cores. New inputs are kept in fuzz/corpus, an input that breaks a target in fuzz/regressions.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(FuzzFile FuzzJournal FuzzNode FuzzStore FuzzKeys FuzzRows FuzzText FuzzKeySlots FuzzTokens
    FuzzPostings FuzzTextQueries FuzzMapEntries FuzzStatements FuzzRequests)

HORNBEAM_FUZZING=1 ${SWIFT:-swift} build --package-path fuzz -c release --sanitize=fuzzer

fuzz() {
    local target=$1 log=fuzz/.build/$1.log
    mkdir -p "fuzz/corpus/$target" "fuzz/regressions/$target" "fuzz/seeds/$target"
    # Without the first setting, a trap may hang in the backtracer instead of writing its input.
    if SWIFT_BACKTRACE=enable=no "fuzz/.build/release/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" \
        -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="fuzz/regressions/$target/" -print_final_stats=1 -verbosity=0 >"$log" 2>&1; then
        echo "$target: $(grep -o 'number_of_executed_units: *[0-9]*' "$log" | grep -o '[0-9]*$') inputs, none broke it"
    else
        tail -40 "$log"
        echo "$target: BROKEN"
        return 1
    fi
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -n 1 -P "$(nproc)" bash -c 'fuzz "$1"' fuzz
