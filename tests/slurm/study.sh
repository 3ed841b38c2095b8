#!/usr/bin/env bash
# Runs a study through a real Slurm: starts a cluster on this machine, kills a task, both daemons and the command itself
# midway, goes on, and compares what comes out with the local engine, byte for byte.
#   tests/slurm/study.sh [FLITWISE]      the program; by default target/debug/flitwise
set -eu
cd "$(dirname "$0")/../.."
flitwise=$(realpath "${1:-target/debug/flitwise}")
for command in slurmctld slurmd munged; do
    if ! command -v "$command" > /dev/null || [ "$(id -u)" != 0 ]; then
        echo "skipped: the test of --engine slurm needs root and the Debian packages slurm-wlm and munge"
        exit 0
    fi
done
work=$(mktemp -d)
. tests/slurm/cluster.sh
ended() {
    status=$?
    pkill -KILL -f "study $work/" || true
    cluster_stop
    [ "$status" = 0 ] || tail -n 10 "$work"/*.err "$work"/cluster/*.log >&2 || true
    # A daemon that ends late may still write.
    for _ in $(seq 50); do
        if rm -rf "$work" 2> /dev/null; then break; fi
        sleep 0.1
    done
    exit "$status"
}
trap ended EXIT
say() { echo "slurm: $*"; }
fail() { echo "slurm: FAILED: $*" >&2; exit 1; }

# 27 runs, and no array with more than 11 elements.
cat > "$work/study.toml" <<STUDY
name = "on a cluster"
experiment = "$PWD/configs/hpl-16-tree.toml"
seeds = "1..3"
[[axis]]
key = "qos.scheduler"
values = ["rr", "sbt", "dtable"]
[[axis]]
name = "rate"
key = "background.0.rate"
values = [0.05, 0.1, 0.2]
STUDY
"$flitwise" study "$work/study.toml" --out "$work/local" --quiet
tasks=$(ls "$work/local/records" | wc -l)
say "$tasks tasks done here"

CLUSTER_MAX_ARRAY_SIZE=11 cluster_start "$work/cluster"
follow=("$flitwise" study "$work/study.toml" --engine slurm --out "$work/slurm" --poll 1 --time 10 --sbatch=--comment=test)
records() { find "$work/slurm/records" -name '*.json.zst' 2>/dev/null | wc -l; }
until_records() {
    for _ in $(seq 300); do
        [ "$(records)" -ge "$1" ] && return
        sleep 0.1
    done
    fail "no record after 30 s"
}

# The command is killed, and its elements go on without it.
"${follow[@]}" > "$work/1.out" 2> "$work/1.err" &
command=$!
until_records 1
disown "$command"
kill -KILL "$command"
size=$(((tasks + 10) / 11))
elements=$(((tasks + size - 1) / size))
grep -q "$tasks tasks in $elements elements of up to $size" "$work/1.err" || fail "the array: $(cat "$work/1.err")"
say "the command killed with $(records) records"

# The same command takes them over. A task is killed, then the daemon of the node, then the controller.
"${follow[@]}" > "$work/2.out" 2> "$work/2.err" &
command=$!
pkill -KILL -f "study task $work/study.toml" && say "a task killed with $(records) records"
sleep 1
cluster_kill slurmd
say "slurmd killed with $(records) records"
sleep 2
slurmd
cluster_kill slurmctld
say "slurmctld killed with $(records) records"
sleep 3
slurmctld
status=0
wait "$command" || status=$?
[ "$status" = 0 ] || fail "ended with $status: $(cat "$work/2.err")"
say "$(records) records in the end"

diff -r --exclude=records --exclude=cluster --exclude=command.txt "$work/local" "$work/slurm" || fail "the tables differ"
diff <(ls "$work/local/records") <(ls "$work/slurm/records") || fail "the records differ"
[ "$(find "$work/slurm" -name '.*.part' | wc -l)" = 0 ] || say "temporary files of killed tasks are left"
say "the same bytes as the local engine"

# With all records there is nothing to submit.
"${follow[@]}" > "$work/3.out" 2> "$work/3.err"
if grep -q submitted "$work/3.err"; then fail "done tasks were submitted again"; fi

# Static analyses are tasks like others.
static=("$flitwise" study configs/studies/static-patterns.toml --seeds 1)
"${static[@]}" --out "$work/static-local" > "$work/6.out" 2> "$work/6.err"
"${static[@]}" --engine slurm --poll 1 --out "$work/static" > "$work/7.out" 2> "$work/7.err"
grep -q submitted "$work/7.err" || fail "no analysis was submitted: $(cat "$work/7.err")"
diff -r --exclude=records --exclude=cluster --exclude=command.txt "$work/static-local" "$work/static" || fail "the analyses differ"
say "$(find "$work/static/records" -type f | wc -l) records of analyses, the same bytes"

# Cancelled elements end, and their study goes on later.
"$flitwise" study "$work/study.toml" --engine slurm --out "$work/later" --seeds 4..9 --poll 1 > "$work/4.out" 2> "$work/4.err" &
command=$!
for _ in $(seq 100); do
    grep -q submitted "$work/4.err" && break
    sleep 0.1
done
kill -INT "$command" 2> /dev/null || true
status=0
wait "$command" || status=$?
[ "$status" = 130 ] || fail "interrupted, it ended with $status"
grep -q "study cancel" "$work/4.err" || fail "it does not say how to cancel: $(cat "$work/4.err")"
"$flitwise" study cancel "$work/later"
# Elements that the killed daemons had may stay in the queue for longer.
queued() { squeue -h --me -o %j | grep -q "^$(cat "$work/later/cluster/name")"; }
for _ in $(seq 100); do
    queued || break
    sleep 0.1
done
if queued; then fail "elements are left: $(squeue -h --me)"; fi
"$flitwise" study cancel "$work/later" | grep -q "no element" || fail "cancelled twice"
say "cancelled"

# What the cluster refuses is said.
status=0
"$flitwise" study "$work/study.toml" --engine slurm --out "$work/none" --partition nowhere > "$work/5.out" 2> "$work/5.err" || status=$?
[ "$status" = 1 ] || fail "a wrong partition ended with $status"
grep -q "invalid partition" "$work/5.err" || fail "a wrong partition: $(cat "$work/5.err")"
say "passed"
