#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clicks through the studio's page in a headless Chromium (Tests/StudioPageTests):
#     Scripts/test-studio.sh BINARIES [SCREENSHOTS]
# BINARIES is the folder of `hornbeam` and `hornbeam-studio`; screenshots of all views go into the folder SCREENSHOTS.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
binaries=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hornbeam-studio.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ -z "${2:-}" ] || mkdir -p "$2"
/usr/bin/python3 "$root/Tests/StudioPageTests/studio_page_test.py" "$binaries" "$work" ${2:+"$2"}
