#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs `swift test` with the given arguments, and repeats the failures at the end, because thousands of lines of
# passed tests come between them.
set -uo pipefail

log=.build/tests.log
"${SWIFT:-swift}" test "$@" 2>&1 | tee "$log"
code=$?
if [ "$code" != 0 ]; then
    echo
    echo "What failed:"
    grep -aE -A 3 'recorded an issue|Fatal error|unexpected signal|error: ' "$log" | cut -c 1-1000 | head -100
fi
exit "$code"
