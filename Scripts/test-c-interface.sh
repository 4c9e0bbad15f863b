#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the C interface into a folder of its own and tests it there, as its users find it: the header as C and as
# C++, the library's symbols and dependencies, a C program built with pkg-config, Python through ctypes. Prints "N
# passed, M failed" last. SWIFT and CONFIGURATION are those of install.sh; with PREFIX, the library installed there is
# tested.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hornbeam-c.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=${PREFIX:-}
if [ -z "$prefix" ]; then
    prefix=$work/prefix
    "$root/Scripts/install.sh" "$prefix"
fi
library=$prefix/lib/libhornbeam.so.0
passed=0
failed=0

# check NAME COMMAND...: one test, which passes if its command succeeds.
check() {
    name=$1
    shift
    if "$@" > "$work/output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$work/output"
    fi
}

exports_the_header() {
    sed -n 's/^\(int\|void\|const char\) .*\(hb_[a-z_]*\)(.*/\2/p; s/^const char \*\(hb_[a-z_]*\)(.*/\1/p' \
        "$prefix/include/hornbeam.h" | sort -u > "$work/declared"
    nm -D --defined-only "$library" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort -u > "$work/exported"
    [ "$(wc -l < "$work/declared")" -ge 32 ] && diff "$work/declared" "$work/exported"
}

needs_little() {
    ! readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so'
}

has_its_soname() {
    readelf -d "$library" | grep -q 'SONAME.*\[libhornbeam.so.0\]' &&
        [ "$(readlink "$prefix/lib/libhornbeam.so")" = libhornbeam.so.0 ]
}

compiles() { # compiles COMPILER STANDARD LANGUAGE
    printf '#include "hornbeam.h"\nint main(void) { hb_slice s = {0, 0}; return hb_version() == 0 || s.size; }\n' |
        "$1" "-std=$2" -x "$3" -Wall -Wextra -pedantic -Werror -I "$prefix/include" - -o "$work/header" \
            "-L$prefix/lib" -lhornbeam "-Wl,-rpath,$prefix/lib" &&
        "$work/header"
}

words_of_pkg_config() {
    words=$(sed -n "s|\${libdir}|$prefix/lib|; s|\${includedir}|$prefix/include|; s/^\(Libs\|Cflags\): //p" \
        "$prefix/lib/pkgconfig/hornbeam.pc")
    grep -q "^prefix=$prefix\$" "$prefix/lib/pkgconfig/hornbeam.pc" &&
        grep -q "^Version: $(sed -n 's/^#define HB_VERSION "\(.*\)"$/\1/p' "$prefix/include/hornbeam.h")\$" \
            "$prefix/lib/pkgconfig/hornbeam.pc" &&
        for program in capi_test contract_test machine_test; do
            # The output of pkg-config is split into words, as a shell does it.
            ${CC:-cc} -std=c11 -O1 -g -Wall -Wextra -Wno-missing-field-initializers -Werror \
                "$root/Tests/CAPITests/$program.c" -o "$work/$program" $words -lpthread "-Wl,-rpath,$prefix/lib" ||
                return 1
        done
}

# Runs a C program, which counts its own tests.
count_tests_of() {
    mkdir "$work/stores-$1"
    [ -x "$work/$1" ] || return 0
    "$work/$1" "$work/stores-$1" > "$work/output" || true
    summary=$(tail -n 1 "$work/output" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ -n "$summary" ]; then
        passed=$((passed + ${summary% *}))
        failed=$((failed + ${summary#* }))
    else
        echo "FAILED: $1 did not come to its end"
        failed=$((failed + 1))
    fi
}

check "the header is C99" compiles "${CC:-cc}" c99 c
check "the header is C++11" compiles "${CXX:-c++}" c++11 c++
check "the header is C++17" compiles "${CXX:-c++}" c++17 c++
check "the library exports what the header declares, and nothing else" exports_the_header
check "the library needs libc, libm, libstdc++ and libgcc alone" needs_little
check "the library has its name" has_its_soname
check "the C programs compile with the words of hornbeam.pc" words_of_pkg_config
check "the Python example runs" \
    env HORNBEAM_LIBRARY="$library" python3 "$root/Examples/python/hornbeam_example.py"

count_tests_of capi_test
count_tests_of contract_test
count_tests_of machine_test
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
