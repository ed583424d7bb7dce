#!/usr/bin/env bash
# A SuperLink, four SuperNodes, of whose clients one is malicious, and three nodes of SLVR, all on this machine. Written for
# flwr 1.42. It needs the command slvrc (or its path in SLVRC), and a Python with flwr and slvr (or its path in PYTHON).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
slvrc=${SLVRC:-slvrc}
port=${PORT:-9400}
clients=4
export PATH=$(dirname "$(command -v "$python")"):$PATH
export PYTHONPATH=$here/../..${PYTHONPATH:+:$PYTHONPATH}
export FLWR_TELEMETRY_ENABLED=0

work=$(mktemp -d)
jobs=()
finish() {
    for job in "${jobs[@]}"; do kill "$job" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT

# Three nodes, their coordinator and the clients.
"$slvrc" keys "$work/slvr" M=Mlp m=$clients --clients $clients --task norm_bound --port $((port + 100)) >/dev/null
"$slvrc" cluster "$work/slvr" >"$work/nodes.log" 2>&1 &
jobs+=($!)

# What the owner of each client has agreed to, and where its data is.
SLVR_CIRCUIT=$("$python" -c "import slvr; print(slvr.Check.from_file('norm_bound', m=$clients, M='Mlp').hash)")
export SLVR_CIRCUIT
DIGITS=$(cd "$here/../../../predicates/data" && pwd)
export DIGITS

# Only the server has the coordinator's file, and only a client its own.
export FLWR_HOME=$work/flwr
mkdir -p "$FLWR_HOME"
printf '[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:%s"\ninsecure = true\n' "$port" \
    >"$FLWR_HOME/config.toml"
SLVR_COORDINATOR=$work/slvr/coordinator/coordinator.toml RESULT=$work/result.json \
    flower-superlink --insecure --port "$port" --disable-runtime-dependency-installation >"$work/link.log" 2>&1 &
jobs+=($!)
for ((i = 0; i < clients; i++)); do
    poison=$((i == clients - 1))
    FLWR_HOME=$work/flwr-$i flower-supernode --insecure --superlink "127.0.0.1:$port" --port $((port + 1 + i)) \
        --node-config "partition-id=$i num-partitions=$clients poison=$poison \
slvr=\"$work/slvr/clients/client-$i/client.toml\"" >"$work/node-$i.log" 2>&1 &
    jobs+=($!)
done

for ((i = 0; i < 60; i++)); do
    sleep 1
    (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
done
flwr run "$here/.." here >"$work/run.log" 2>&1 || { cat "$work/run.log" "$work/link.log"; exit 1; }
for ((i = 0; i < 300; i++)); do
    [ -s "$work/result.json" ] && break
    sleep 1
done
if [ ! -s "$work/result.json" ]; then
    tail -n 40 "$work"/*.log
    exit 1
fi
cat "$work/result.json"
echo
cd "$here/../.." && "$python" -m examples.flower_digits --compare "$work/result.json"
