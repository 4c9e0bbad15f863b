#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, and only those that are missing.
set -euo pipefail

packages=(make pkg-config python3 gcc libc6-dev libxxhash-dev liblz4-dev libicu-dev libstemmer-dev libpq-dev
    libssl-dev libedit-dev libcsv-dev libmicrohttpd-dev)
[ "${1:-}" = postgres ] && packages+=(postgresql)
[ "${1:-}" = studio ] && packages+=(chromium chromium-driver python3-selenium)
[ "${1:-}" = bench ] && packages+=(liblmdb-dev libsqlite3-dev librocksdb-dev libxapian-dev libsqlcipher-dev postgresql
    valgrind)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
