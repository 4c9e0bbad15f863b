#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds libhornbeam.so, the C interface, with the Swift runtime inside, and installs it:
#     Scripts/install.sh PREFIX
# puts PREFIX/lib/libhornbeam.so.0 (and libhornbeam.so, a link to it), PREFIX/include/hornbeam.h and
# PREFIX/lib/pkgconfig/hornbeam.pc in place; and PREFIX/bin/hornbeam, the command, if it is built. It needs the runtime
# of Swift unless "swift build -c release --static-swift-stdlib --product hornbeam" has built it. DESTDIR is honoured;
# SWIFT names another swift command, CONFIGURATION another build than "release".
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 PREFIX" >&2
    exit 2
fi
mkdir -p "${DESTDIR:-}$1"
prefix=$1
case $prefix in
/*) ;;
*) prefix=$(cd "$prefix" && pwd) ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
target=${DESTDIR:-}$prefix
configuration=${CONFIGURATION:-release}

# Libraries of the system are linked statically too, so that a C program needs only Hornbeam: where their archives are
# installed, pkg-config gives the linker a folder that has only those.
static=$root/.build/c-interface/static
mkdir -p "$static"
for name in xxhash lz4; do
    archive=$(${CC:-cc} -print-file-name=lib$name.a)
    [ -f "$archive" ] || continue
    ln -sf "$archive" "$static/lib$name.a"
    printf 'Name: %s\nDescription: its archive\nVersion: %s\nLibs: -L%s -l%s\n' "$name" \
        "$(pkg-config --modversion "lib$name" 2>/dev/null || echo 1)" "$static" "$name" > "$static/lib$name.pc"
done
PKG_CONFIG_PATH=$static${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH

# A build folder of its own: the flags differ from the programs' flags, and neither build should discard the other's.
set -- --package-path "$root" --scratch-path "$root/.build/c-interface" -c "$configuration" -Xswiftc -static-stdlib \
    -Xlinker -soname=libhornbeam.so.0
${SWIFT:-swift} build "$@" --product HornbeamC
built=$(${SWIFT:-swift} build "$@" --show-bin-path)/libHornbeamC.so

# Not built here: it needs more libraries than C programs do.
command=$(${SWIFT:-swift} build --package-path "$root" -c "$configuration" --show-bin-path)/hornbeam

version=$(sed -n 's/^#define HB_VERSION "\(.*\)"$/\1/p' "$root/Sources/CHornbeam/include/hornbeam.h")
install -d "$target/lib/pkgconfig" "$target/include"
# Keeps the linker's symbols; the debugger's would be nine tenths of the file.
strip --strip-unneeded -o "$target/lib/libhornbeam.so.0.new" "$built"
chmod 755 "$target/lib/libhornbeam.so.0.new"
# Renamed into place, so that a program that has mapped the old one keeps it.
mv -f "$target/lib/libhornbeam.so.0.new" "$target/lib/libhornbeam.so.0"
ln -sf libhornbeam.so.0 "$target/lib/libhornbeam.so"
install -m 644 "$root/Sources/CHornbeam/include/hornbeam.h" "$target/include/hornbeam.h"
cat > "$target/lib/pkgconfig/hornbeam.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: hornbeam
Description: An embedded database in one file: ordered trees, transactions, crash safety
Version: $version
Libs: -L\${libdir} -lhornbeam
Cflags: -I\${includedir}
END
echo "installed Hornbeam $version for C in $target"
if [ -x "$command" ]; then
    install -d "$target/bin"
    install -m 755 "$command" "$target/bin/hornbeam.new"
    mv -f "$target/bin/hornbeam.new" "$target/bin/hornbeam"
    echo "installed the command in $target/bin"
fi
