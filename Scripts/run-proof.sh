#!/usr/bin/env bash
# Runs hornbeam-proof from a folder of built products, in as many processes as there are cores. Arguments: the folder,
# the proof, the total amount, and the first seed (each process has its own). Stops all when one fails; its last line
# names the seed.
set -euo pipefail
products=$1 what=$2 amount=$3 seed=${4:-1}
cores=$(nproc)
share=$(((amount + cores - 1) / cores))
[ "$what" = soak ] && share=$amount

running=()
trap '[ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2>/dev/null || true' EXIT
for ((core = 0; core < cores; core++)); do
    SWIFT_BACKTRACE=enable=no "$products/hornbeam-proof" "$what" "$share" $((seed + core)) &
    running+=($!)
done
status=0
for process in "${running[@]}"; do
    wait -n || { status=$?; break; }
done
exit "$status"
