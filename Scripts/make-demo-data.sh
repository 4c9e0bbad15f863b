#!/usr/bin/env bash
# Makes the demo's data set (the Debian package catalogue) in the given folder, unless it exists.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: make-demo-data.sh FOLDER}

[ -f "$out/manifest.json" ] && exit 0
# apt must know an archive before it can give the archive's address.
if [ -z "$(apt-get indextargets 2>/dev/null | head -n 1)" ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
fi
echo "Making the data set: the package catalogue of Debian 12 (main)"
rm -rf "$out.partial"
mkdir -p "$(dirname "$out")"
python3 "$here/make_debian.py" "$out.partial" >/dev/null
rm -rf "$out"
mv "$out.partial" "$out"
