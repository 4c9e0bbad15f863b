#!/usr/bin/env bash
# Runs every benchmark workload once at a tiny size, with Hornbeam and the installed peers, and fails on a wrong
# answer, because benchmarks that are never run break. Also runs the commands that make the documents' figures.
set -euo pipefail
cd "$(dirname "$0")/.."

swift=${SWIFT:-swift}
"$swift" build --package-path Benchmarks -c release
bench=$PWD/Benchmarks/.build/release/hornbeam-bench
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

printf '<!-- figures -->\n<!-- end of figures -->\n<!-- entities -->\n<!-- end of entities -->\n<!-- mirror -->\n<!-- end of mirror -->\n<!-- scaling -->\n<!-- end of scaling -->\n<!-- full text -->\n<!-- end of full text -->\n' >report.md
"$bench" list >/dev/null
"$bench" run --smoke --json run.json >/dev/null
"$bench" compare run.json run.json >/dev/null
"$bench" report run.json --markdown report.md --svg report.svg
"$bench" text --smoke --json text.json --markdown report.md >/dev/null
"$bench" report text.json >/dev/null
"$bench" scaling --max 10000 --runs 1 --markdown report.md
"$bench" reliability updates --n 1500
"$bench" reliability growth --n 1500
"$bench" load 4

# No workload is missing, and the results can be read.
for workload in $("$bench" list | sed -n '/^  [a-z]/s/ *\([^ ]*\).*/\1/p'); do
    case $workload in
    get | put | commit | count | scan) ;; # of scaling
    open-cold) ;;                         # only root can measure it
    *) grep -q "\"$workload\"" run.json || { echo "bench-smoke: no figure of $workload"; exit 1; } ;;
    esac
done
for workload in build-none size-positions any-1-rare any-5-common phrase-2 phrase-2-filter near-2 fuzzy-1 wildcard-1 speed-index memory-build insert-1 insert-plain plain-bare insert-bare update-many after-many after-changes beside-search beside-write ndcg-10 map-stems; do
    grep -q "\"$workload\"" text.json || { echo "bench-smoke: no figure of $workload"; exit 1; }
done
grep -q 'phrase of 2 words' report.md
grep -q '</svg>' report.svg
grep -q '`entity-get`' report.md
grep -q 'equality on `@Unique`' report.md
grep -q '`mirror-restore`' report.md
echo "bench-smoke: all workloads give right answers"
