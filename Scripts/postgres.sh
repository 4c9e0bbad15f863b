#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A PostgreSQL server in FOLDER, which listens only on a Unix socket there: for the mirror's demo and benchmark.
#
#     Scripts/postgres.sh start FOLDER            makes it if need be, starts it, and prints its URL
#     Scripts/postgres.sh standby FOLDER PRIMARY  makes a standby of the server in PRIMARY, whose commits wait from then
#                                                 on until one of its standbys has them
#     Scripts/postgres.sh kill FOLDER             ends all its processes by SIGKILL
#     Scripts/postgres.sh remove FOLDER           stops it, and removes the folder
set -eu

folder=$(realpath -m "$2")
binaries=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$binaries" ]; then
    echo "there is no PostgreSQL server: Scripts/install-dependencies.sh postgres" >&2
    exit 1
fi

# PostgreSQL refuses to run as root.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$@")
    else
        "$@"
    fi
}

make_folder() {
    mkdir -p "$folder"
    chmod 711 "$folder"
    [ "$(id -u)" -ne 0 ] || chown postgres "$folder"
}

# Its socket is in its folder.
configure() {
    as_server sh -c 'cat >>"$0"' "$folder/data/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$folder'
		shared_buffers = 64MB
	END
}

start() {
    as_server "$binaries/pg_ctl" -D "$folder/data" -l "$folder/log" -w start >/dev/null
    echo "postgresql://hornbeam@/postgres?host=$folder"
}

case $1 in
start)
    if [ ! -d "$folder/data" ]; then
        make_folder
        as_server "$binaries/initdb" --no-sync -A trust -E UTF8 --locale=C -U hornbeam -D "$folder/data" >/dev/null
        configure
    fi
    start
    ;;
standby)
    primary=$(realpath "$3")
    make_folder
    as_server "$binaries/pg_basebackup" -h "$primary" -U hornbeam -D "$folder/data" -R -c fast --no-sync
    configure
    start
    for statement in "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'" "SELECT pg_reload_conf()"; do
        psql -qAt -h "$primary" -U hornbeam -d postgres -c "$statement" >/dev/null
    done
    ;;
kill)
    postmaster=$(head -1 "$folder/data/postmaster.pid")
    # The postmaster is stopped first, so that it starts no more children.
    kill -STOP "$postmaster"
    for process in $(ps -o pid= --ppid "$postmaster") "$postmaster"; do kill -KILL "$process"; done
    while kill -0 "$postmaster" 2>/dev/null; do sleep 0.02; done
    rm -f "$folder/data/postmaster.pid"
    ;;
remove)
    as_server "$binaries/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$folder"
    ;;
esac
