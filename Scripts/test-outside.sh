#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests libhornbeam.so from the outside: the calls it makes, power losses, failing calls and damaged files. The test
# program knows only hornbeam.h, and a preloaded library is between it and the system (Tests/OutsideTests).
#     Scripts/test-outside.sh [FACTOR [SEED]]
# runs FACTOR times the amount of a test run (default 1). With PREFIX, the library installed there is tested; SWIFT
# and CONFIGURATION are those of install.sh. Prints one line for each of the four, and failures with their seeds.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
factor=${1:-1}
seed=${2:-1}
# In memory, if there is such a folder, so that syncs take no time.
base=${TMPDIR:-/tmp}
[ -d /dev/shm ] && [ -w /dev/shm ] && base=/dev/shm
work=$(mktemp -d "$base/hornbeam-outside.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=${PREFIX:-}
if [ -z "$prefix" ]; then
    prefix=$work/prefix
    "$root/Scripts/install.sh" "$prefix"
fi

flags="-std=c11 -O1 -g -Wall -Wextra -Wno-missing-field-initializers -Werror -I$prefix/include"
sources=$(ls "$root"/Tests/OutsideTests/*.c | grep -v /preload.c)
# Names of files have no spaces; the flags are split into words.
${CC:-cc} $flags -fPIC -shared "$root/Tests/OutsideTests/preload.c" -o "$work/outside_preload.so" -ldl
${CC:-cc} $flags $sources -o "$work/outside_test" "-L$prefix/lib" -lhornbeam "-Wl,-rpath,$prefix/lib" -lpthread

status=0
run() { # run KIND SIZE
    mkdir "$work/$1"
    "$work/outside_test" "$1" "$work/$1" --size $(($2 * factor)) --seed "$seed" || status=1
    rm -rf "${work:?}/$1"
}
run calls 1
run crashes 6000
run faults 1500
run damage 2000
exit $status
