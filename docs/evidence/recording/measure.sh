#!/bin/bash
# Measures and records the programs of this folder, and replays the recordings, as ../recording.md describes. Needs Debian's
# openmpi-bin and libopenmpi-dev, two processors, and for the first part sst-dumpi's library. Writes its points beside itself.
# FIRST="chrt -f 10" (or nice) puts the measured programs before all others of a busy machine. WORK keeps times and recordings.
#   measure.sh same [RANKS]     calls.c, and LAMMPS (Debian: lammps, lammps-examples), by sst-dumpi and by us: DUMPI=.../libdumpi.so
#   measure.sh computation      work.c on 2 ranks and on 16, five times each
#   measure.sh cost             a call, alone and recorded
#   measure.sh link             ping-pong and all-reduce of two ranks, measured, recorded and replayed
set -eu
here=$(dirname "$(realpath "$0")")
flitwise=$(realpath "$(command -v "${FLITWISE:-flitwise}")")
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for program in calls work pingpong allreduce cost; do mpicc.openmpi -O2 -w -o $program "$here/$program.c"; done

launch() { # RANKS OPTIONS...
    mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$@"
}

# The calls of a trace without times. Receives from any rank get their messages in another order each time.
calls() { # TRACE
    "$flitwise" trace convert "$1" "$1.ti" --format ti 2> /dev/null > /dev/null
    grep -v ' compute ' "$1.ti" | sort
}

# Records a program in both ways.
same() { # NAME RANKS PROGRAM...
    local name=$1 ranks=$2
    shift 2
    mkdir -p "$name-dumpi"
    (cd "$name-dumpi" && launch "$ranks" -x LD_PRELOAD="$DUMPI" "$@" > /dev/null)
    launch "$ranks" "$flitwise" record -o "$name-ours" -- "$@" > /dev/null 2>&1
    calls "$name-dumpi" > "$name-dumpi.calls"
    calls "$name-ours" > "$name-ours.calls"
    "$flitwise" trace info "$name-dumpi" --matrix csv > "$name-dumpi.csv"
    "$flitwise" trace info "$name-ours" --matrix csv > "$name-ours.csv"
    cmp "$name-dumpi.calls" "$name-ours.calls"
    cmp "$name-dumpi.csv" "$name-ours.csv"
    "$flitwise" trace info "$name-ours" | grep -E '^(messages |bytes  |collectives)'
    echo "$name: the same $(wc -l < "$name-ours.calls") actions, and the same messages and bytes between each pair of ranks"
}

computation() {
    echo "run,ranks,rank,cpu_us"
    for run in 1 2 3 4 5; do
        for ranks in 2 16; do
            rm -rf work-rec
            launch $ranks ${FIRST:-} "$flitwise" record -o work-rec -- ./work > /dev/null 2>&1
            "$flitwise" trace info --json work-rec | awk -v run=$run -v ranks=$ranks '
                /"compute_cpu_ns"/ { inside = 1 } /\]/ { if (list) exit } /per_rank/ { list = inside; next }
                list { printf "%d,%d,%d,%.1f\n", run, ranks, n++, ($1 + 0) / 1e3 }'
        done
    done
}

cost() {
    echo "alone:    $(mpirun.openmpi -n 1 ${FIRST:-} ./cost 15) ns"
    echo "recorded: $(mpirun.openmpi -n 1 ${FIRST:-} "$flitwise" record -o cost-rec -- ./cost 15 2> /dev/null) ns"
}

# The measured programs run before all others, so that nothing delays them; the least of five runs counts.
pair() { # OPTIONS... PROGRAM...
    mpirun.openmpi --bind-to core "$@" < /dev/null
}
least() { sort -n | head -n 1; }
turns() { if [ "$1" -lt 65536 ]; then echo 1000; else echo 100; fi; }

measured() { # TRANSPORT PROGRAM BYTES: ns per turn
    for run in 1 2 3 4 5; do
        pair --mca btl "$1,self" -n 2 ${FIRST:-} "./$2" "$3" "$(turns "$3")" 21
    done | least | awk -v turns="$(turns "$3")" '{ print $1 / turns }'
}

replayed() { # TRANSPORT PROGRAM BYTES KEY=VALUE...: ns per turn
    local recording=$2-$1-$3 turns set=()
    turns=$(turns "$3")
    [ -d "$recording" ] || pair --mca btl "$1,self" -n 2 ${FIRST:-} "$flitwise" record -o "$recording" -- "./$2" "$3" "$turns" 1 > /dev/null 2>&1
    for key in "trace=$PWD/$recording" "${@:4}"; do set+=(--set "job.0.$key"); done
    rm -rf out
    "$flitwise" run "$here/node.toml" "${set[@]}" --out out > log 2>&1 || { cat log >&2; exit 1; }
    awk -v turns="$turns" '/"execution_time_ps"/ { print ($2 + 0) / turns / 1000; exit }' out/result.json
}

link() {
    local transport bytes time cost latency bandwidth keys
    cost=$(for run in 1 2 3 4 5; do pair -n 1 ${FIRST:-} ./allreduce 65536 1000 21; done | least | awk '{ print int($1 / 65536 + 0.5) }')
    [ -e times ] || for transport in vader tcp; do
        for bytes in 1 4 16 64 256 1024 4096 16384 65536 262144 1048576; do
            echo "$transport pingpong $bytes $(measured $transport pingpong $bytes)"
        done
        for bytes in 8 32 128 512 2048 8192 32768 131072 524288; do
            echo "$transport allreduce $bytes $(measured $transport allreduce $bytes)"
        done
    done > times.new
    [ -e times ] || mv times.new times
    echo "transport,program,bytes,measured_ns,replayed_ns,ratio"
    while read -r transport program bytes time; do
        # 1 B and 1 MiB of the ping-pong, half a turn each. The longest messages need a request, an answer and the payload.
        latency=$(awk -v t="$transport" '$1 == t && $2 == "pingpong" && $3 == 1 { print int(500 * $4 + 0.5) }' times)
        bandwidth=$(awk -v t="$transport" -v l="$latency" '$1 == t && $3 == 1048576 { printf "%.2f", $3 / ($4 / 2 - 3 * l / 1000) }' times)
        keys=("intra_node_latency=${latency}ps" "intra_node_bandwidth=${bandwidth}GB/s" "reduction_cost=${cost}ps/B")
        # Open MPI's limits count its header.
        if [ "$transport" = vader ]; then keys+=(eager_threshold=4095B); else keys+=(eager_threshold=65535B); fi
        [ "$bytes" != 1 ] || echo "$transport: ${keys[*]}" >&2
        echo "$transport,$program,$bytes,$time,$(replayed "$transport" "$program" "$bytes" "${keys[@]}")"
    done < times | awk -F, '{ printf "%s,%s,%d,%.1f,%.1f,%.3f\n", $1, $2, $3, $4, $5, $5 / $4 }'
}

case ${1:-} in
same)
    : "${DUMPI:?the library libdumpi.so of sst-dumpi}"
    same calls "${2:-8}" "$PWD/calls"
    sed 's/^run.*/run 50/' /usr/share/lammps/examples/melt/in.melt > in.melt || exit 0
    same lammps "${2:-8}" lmp -in "$PWD/in.melt" -log none
    ;;
cost) cost ;;
computation) computation | tee "$here/computation.csv" ;;
link) link | tee "$here/link.csv" ;;
*) sed -n 2,8p "$0"; exit 2 ;;
esac
