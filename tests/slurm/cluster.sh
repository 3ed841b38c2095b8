# A Slurm cluster of this one machine, for the time of a test: its own configuration, keys, ports and state in
# $CLUSTER, and nothing left behind. Source it; needs Debian's `slurm-wlm` and `munge`, and root.

# The names of the daemons, whose ids are kept in $CLUSTER/NAME.pid.
cluster_start() {
    CLUSTER=$1
    export SLURM_CONF=$CLUSTER/slurm.conf
    mkdir -p "$CLUSTER/state" "$CLUSTER/spool" "$CLUSTER/munge"
    chmod 755 "$CLUSTER"
    chmod 700 "$CLUSTER/munge"
    dd if=/dev/urandom of="$CLUSTER/munge/key" bs=1024 count=1 status=none
    chmod 600 "$CLUSTER/munge/key"
    cat > "$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${CLUSTER_PORT:-36817}
SlurmdPort=$((${CLUSTER_PORT:-36817} + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$CLUSTER/munge/socket
CredType=cred/munge
StateSaveLocation=$CLUSTER/state
SlurmdSpoolDir=$CLUSTER/spool
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmdPidFile=$CLUSTER/slurmd.pid
SlurmctldLogFile=$CLUSTER/slurmctld.log
SlurmdLogFile=$CLUSTER/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=1
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=10
MaxArraySize=${CLUSTER_MAX_ARRAY_SIZE:-1001}
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    munged --force --key-file="$CLUSTER/munge/key" --socket="$CLUSTER/munge/socket" \
        --pid-file="$CLUSTER/munge/munged.pid" --log-file="$CLUSTER/munge/log" \
        --seed-file="$CLUSTER/munge/seed"
    slurmctld
    slurmd
    for _ in $(seq 100); do
        if sinfo -h -o %T 2>/dev/null | grep -q idle; then return; fi
        sleep 0.2
    done
    echo "the cluster does not start:" >&2
    tail -n 20 "$CLUSTER"/*.log >&2
    return 1
}

# Ends a daemon at once, as if its machine had failed.
cluster_kill() {
    kill -KILL "$(cat "$CLUSTER/$1.pid")"
    rm -f "$CLUSTER/$1.pid"
}

cluster_stop() {
    # Without a cluster of its own it would be that of the machine.
    [ -n "${CLUSTER:-}" ] || return 0
    scancel --me 2>/dev/null || true
    for daemon in slurmd slurmctld munge/munged; do
        if [ -f "$CLUSTER/$daemon.pid" ]; then
            kill "$(cat "$CLUSTER/$daemon.pid")" 2>/dev/null || true
        fi
    done
    for _ in $(seq 50); do
        if ! pgrep -f "$CLUSTER" > /dev/null; then break; fi
        sleep 0.1
    done
    pkill -KILL -f "$CLUSTER" || true
    for _ in $(seq 100); do
        if ! pgrep -f "$CLUSTER" > /dev/null; then break; fi
        sleep 0.1
    done
}
