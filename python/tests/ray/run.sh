#!/usr/bin/env bash
# Workers that Ray starts, by hand: it takes some minutes, Linux, a Python with `slvr[ray]`, and a built checkout
# (cargo build -p slvrc).
#
#   PYTHON=.../bin/python python/tests/ray/run.sh
#
# Three clusters, one for each party, stand in for three organisations; a fourth one asks for no token. Ray listens on all
# addresses of a machine, whatever it is told. So all of it has a network of its own, with a loopback address and nothing
# else, processes of its own, of which none outlives it, and a /dev/shm of its own, in which nobody else has anything.
# What is done there, and compared, is in node/tests/deployment/ray.rs.
set -euo pipefail
cd "$(dirname "$0")/../../.."

# It looks through gigabytes for thousands of words.
test=(cargo test --offline --config profile.dev.package.slvr-node.opt-level=3 --workspace --test deployment)

if [ -z "${SLVR_RAY_FOLDER:-}" ]; then
    "${test[@]}" --no-run
    SLVR_RAY_FOLDER=$(mktemp -d)
    trap 'rm -rf "$SLVR_RAY_FOLDER"' EXIT
    export SLVR_RAY_FOLDER PYTHON=${PYTHON:-python3} SLVRC=${SLVRC:-$PWD/target/debug/slvrc}
    unshare --map-root-user --net --mount --pid --fork --mount-proc --kill-child "$0"
    exit
fi

trap "exit 1" INT TERM
ip link set lo up
mount -t tmpfs tmpfs /dev/shm
export RAY_USAGE_STATS_ENABLED=0 SLVR_RAY_PORTS=
for cluster in 0 1 2 3; do
    base=$((10000 + 100 * cluster))
    own=$SLVR_RAY_FOLDER/$cluster
    (umask 077 && od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >"$own.token")
    mode=token
    [ "$cluster" = 3 ] && mode=disabled
    # Each has ports of its own, and they start one after another: two that start at once take each other's.
    RAY_AUTH_MODE=$mode RAY_AUTH_TOKEN_PATH=$own.token "$PYTHON" -m ray.scripts.scripts start --head --block \
        --node-ip-address=127.0.0.1 --port=$base --object-manager-port=$((base + 1)) \
        --node-manager-port=$((base + 2)) --dashboard-agent-listen-port=$((base + 3)) \
        --dashboard-agent-grpc-port=$((base + 4)) --runtime-env-agent-port=$((base + 5)) \
        --metrics-export-port=$((base + 6)) --min-worker-port=$((base + 10)) --max-worker-port=$((base + 90)) \
        --include-dashboard=false --num-cpus=2 --memory=2000000000 --object-store-memory=80000000 \
        --temp-dir="$own" >"$own.log" 2>&1 &
    pids+=($!)
    until grep -qs "Ray runtime started" "$own.log"; do
        kill -0 $! 2>/dev/null || { cat "$own.log" && exit 1; }
        sleep 0.2
    done
    SLVR_RAY_PORTS+="$base "
done

done=0
"${test[@]}" -- --ignored --exact --nocapture \
    ray::workers_that_ray_starts_compute_the_same_and_ray_has_nothing_of_it || done=$?
kill "${pids[@]}"
wait "${pids[@]}" || true
exit $done
