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
# At the end of its input ibsim goes on for ever. So its input has no end, and it is killed.
mkfifo "$work/commands"
exec 3<> "$work/commands"
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
# An engine that refuses a network lets opensm try for ever.
simulated() { LD_PRELOAD=$library timeout 5 "$@"; }

# NET NAME [OPTION...]: starts ibsim on NET, and routes it with the engine NAME. The socket of each simulator has a name
# of its own, and none of them needs a network.
route() {
    local net=$1 engine=$2 out
    shift 2
    out=$work/out
    rm -rf "$out"
    mkdir "$out"
    export IBSIM_SOCKNAME=flitwise-$$ SIM_HOST=H-0000001000000000
    ibsim -s "$net" < "$work/commands" > "$work/ibsim.log" 2>&1 &
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

# NET NAME: reads cables and tables back; every pair must be connected.
read_back() {
    local all
    "$flitwise" fabric export "$work/out/cables" --tables "$work/out/opensm-lfts.dump" --format orcs \
        > "$work/$1.dot" 2> "$work/notes" || fail "$1 by $2: $(cat "$work/notes")"
    if grep -v "several addresses" "$work/notes"; then
        fail "$1 by $2: entries are missing"
    fi
    all=$("$flitwise" fabric info --json --set fabric.kind=voq --set "fabric.forwarding=$work/out/opensm-lfts.dump" \
        --set "fabric.topology={kind=\"ibnetdiscover\",file=\"$work/out/cables\"}" \
        | tr -d ' \n' | grep -o '"routed":{[^}]*}') || fail "$1 by $2 cannot be read"
    pairs=$(echo "$all" | grep -o '"pairs":[0-9]*' | cut -d: -f2)
    [ "$(echo "$all" | grep -o '"connected":[0-9]*' | cut -d: -f2)" = "$pairs" ] || fail "$1 by $2: $all"
    # ORCS's graph has as many edges as cables have ends.
    [ "$(grep -c -- '->' "$work/$1.dot")" = "$(grep -c '^\[' "$work/out/cables")" ] || fail "$1: edges are missing"
}

cat > "$work/drawing.dot" <<'DRAWING'
digraph drawing {
    // Four switches in a ring, with two more cables across; two hosts each.
    a -> b -> c -> d -> a; a -> d -> c -> b -> a
    a -> c -> a -> c -> a
    H1 -> a -> H1; H2 -> a -> H2; H3 -> b -> H3; H4 -> b -> H4
    H5 -> c -> H5; H6 -> c -> H6; H7 -> d -> H7; H8 -> d -> H8
}
DRAWING
"$flitwise" fabric export "$work/drawing.dot" --format ibsim > "$work/drawing.net"
"$flitwise" fabric export --set 'fabric.topology={kind="xgft",down=[4,4],up=[1,4]}' --format ibsim > "$work/tree.net"
"$flitwise" fabric export --set 'fabric.topology={kind="torus",dimensions=[4,4]}' --format ibsim > "$work/torus.net"
for network in drawing tree torus; do
    ran= refused=
    for engine in minhop updn ftree lash dor dfsssp nue; do
        if route "$work/$network.net" "$engine"; then
            read_back "$network" "$engine"
            ran="$ran $engine"
        else
            refused="$refused $engine"
        fi
    done
    say "$network: $pairs pairs connected by$ran${refused:+; opensm refuses$refused}"
    case "$ran" in *minhop*dfsssp*) ;; *) fail "$network: minhop and dfsssp route every network" ;; esac
done
route "$work/tree.net" minhop -l 1 || fail "LMC 1"
read_back tree "minhop with LMC 1"
grep -q "several addresses" "$work/notes" || fail "LMC 1: hosts have one address"
say "tree: $pairs pairs connected with LMC 1"
