#!/usr/bin/env bash
# Lets a real opensm route networks of ours: exports them for ibsim, runs opensm with each of its routing engines on the
# simulated subnet, and reads cables and forwarding tables back.
#   tests/opensm/roundtrip.sh [FLITWISE]      the program; by default target/debug/flitwise
set -eu
cd "$(dirname "$0")/../.."
flitwise=$(realpath "${1:-target/debug/flitwise}")
library=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2> /dev/null | head -n 1 || true)
export PATH=$PATH:/usr/sbin
for command in ibsim opensm ibnetdiscover dump_fts; do
    if [ -z "$library" ] || ! command -v "$command" > /dev/null; then
        echo "skipped: the test with opensm needs the Debian packages opensm, ibsim-utils and infiniband-diags"
        exit 0
    fi
done
work=$(mktemp -d)
simulator=
# At the end of its input ibsim goes on for ever, so it is killed.
stop() {
    [ -z "$simulator" ] || kill "$simulator" 2> /dev/null || true
    [ -z "$simulator" ] || wait "$simulator" 2> /dev/null || true
    simulator=
}
ended() {
    status=$?
    stop
    [ "$status" = 0 ] || tail -n 10 "$work"/*.log >&2 || true
    rm -rf "$work"
    exit "$status"
}
trap ended EXIT
say() { echo "opensm: $*"; }
fail() { echo "opensm: FAILED: $*" >&2; exit 1; }
simulated() { LD_PRELOAD=$library timeout 20 "$@"; }

# NET NAME [OPTION...]: starts ibsim on NET, and routes it with the engine NAME. The socket of each simulator has a name
# of its own, and none of them needs a network.
route() {
    local net=$1 engine=$2 out
    shift 2
    out=$work/out
    rm -rf "$out"
    mkdir "$out"
    export IBSIM_SOCKNAME=flitwise-$$ SIM_HOST=H-0000001000000000
    sleep 1000 | ibsim -s "$net" > "$work/ibsim.log" 2>&1 &
    simulator=$!
    for _ in $(seq 200); do
        grep -q "simulator ready" "$work/ibsim.log" && break
        sleep 0.05
    done
    OSM_CACHE_DIR=$out OSM_TMP_DIR=$out simulated opensm -e -s 0 -o -R "$engine,no_fallback" -D 0x43 \
        -f "$work/osm.log" "$@" > "$work/opensm.log" 2>&1 < /dev/null || true
    simulated ibnetdiscover > "$out/cables" 2> "$work/ibnetdiscover.log"
    stop
    grep -q "$engine tables configured on all switches" "$work/osm.log" && [ -s "$out/opensm-lfts.dump" ]
}
