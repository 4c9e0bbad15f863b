#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a static site of the guides and the public API with the toolchain's docc; a warning is an error. PRODUCTS is
# the folder of a debug build; SITE is replaced. `python3 -m http.server -d SITE` serves it; it begins at
# /documentation/hornbeam.
#
#     Scripts/make-docs.sh PRODUCTS SITE
set -euo pipefail
cd "$(dirname "$0")/.."
products=$1 site=$2
# The toolchain's docc, wherever its swift is linked from.
tools=$(dirname "$(realpath "$(command -v "${SWIFT:-swift}")")")

modules=(Hornbeam HornbeamEngine HornbeamStatements HornbeamMapReduce HornbeamSecondaryIndexes HornbeamHandKept
    HornbeamPostgres HornbeamEncryption)
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT

options=(-I "$products/Modules")
for shims in CHornbeamShims CCrypto; do options+=(-Xcc "-fmodule-map-file=$products/$shims.build/module.modulemap"); done
for map in Sources/C*/module.modulemap; do options+=(-Xcc "-fmodule-map-file=$map"); done
# Headers of system libraries that are not in /usr/include itself.
for flag in $(pkg-config --cflags-only-I libpq); do options+=(-Xcc "$flag"); done

target=$(uname -m)-unknown-linux-gnu
for module in "${modules[@]}"; do
    "$tools/swift-symbolgraph-extract" -module-name "$module" -target "$target" "${options[@]}" -output-dir "$graphs" \
        -minimum-access-level public
done
rm -rf "$site"
"$tools/docc" convert Sources/Hornbeam/Hornbeam.docc --additional-symbol-graph-dir "$graphs" --output-path "$site" \
    --transform-for-static-hosting --fallback-display-name Hornbeam --fallback-bundle-identifier hornbeam \
    --warnings-as-errors
