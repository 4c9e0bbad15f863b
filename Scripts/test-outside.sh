#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of libhornbeam.so from the outside: the calls it makes, power losses, failing calls and damaged files, by a program that knows
# hornbeam.h alone and a preloaded library between it and the system (Tests/OutsideTests).
#     Scripts/test-outside.sh [FACTOR [SEED]]
# does FACTOR times as much as a test run does (1). PREFIX tests what is installed there; SWIFT and CONFIGURATION are those of
# install.sh. Prints one line for each of the four, and what failed with its seed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
factor=${1:-1}
seed=${2:-1}
# In memory, if there is such a folder: no sync is waited for.
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
# The names of files hold no spaces; the flags are words.
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
