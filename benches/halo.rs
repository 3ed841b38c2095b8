//! A generated trace of any length, in the shape that a recorder leaves.

use flitwise_formats::vef::{Comm, Dep, DepId, Header, Member, Message, Record, Version, write};
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// Tasks of the trace.
pub const TASKS: u32 = 64;
/// Rounds between barriers.
const PER_BARRIER: u64 = 100;
/// Message and marker.
const PER_ROUND: u64 = 2 * TASKS as u64;

/// Writes about `target` bytes of VEF3 and gives their number: a ring exchange of 64
/// tasks with messages of `size` bytes (message, wait marker, next message after the
/// receive) and a barrier every 100 rounds.
pub fn write_halo(path: &Path, target: u64, size: u64) -> Result<u64> {
    // About 62 bytes per task and round.
    let rounds = target / (u64::from(TASKS) * 62);
    let barriers = rounds / PER_BARRIER;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let header = Header {
        version: Version::Vef3,
        tasks: TASKS,
        messages: rounds * PER_ROUND,
        comms: 1,
        collectives: barriers,
        members: barriers * u64::from(TASKS),
        only_send_deps: false,
        ps_per_unit: 1000,
    };
    write::header(&mut out, &header)?;
    let members = (0..TASKS).collect();
    write::comm(&mut out, 0, &Comm { members })?;
    for round in 0..rounds {
        let base = round * PER_ROUND;
        // What task `t` sends in the round that begins with id `base`.
        let sent = |base: u64, t: u32| base + 2 * u64::from(t);
        let before = |t: u32| (t + TASKS - 1) % TASKS;
        for t in 0..TASKS {
            let id = sent(base, t);
            let (dep, after) = match round {
                0 => (4, DepId::None),
                r if r % PER_BARRIER == 0 => (7, DepId::Collective(r / PER_BARRIER - 1)),
                _ => (6, DepId::Message(sent(base - PER_ROUND, before(t)))),
            };
            let message = Message {
                id,
                src: t,
                dst: (t + 1) % TASKS,
                size,
                dep: Dep(dep),
                time: 1_000 + (id * 7_919) % 90_000,
                after,
            };
            let marker = Message {
                id: id + 1,
                dst: t,
                size: 0,
                dep: Dep(1),
                time: 953,
                after: DepId::Message(id),
                ..message
            };
            write::record(&mut out, &Record::Message(message))?;
            write::record(&mut out, &Record::Message(marker))?;
        }
        if round % PER_BARRIER == PER_BARRIER - 1 {
            for t in 0..TASKS {
                let member = Member {
                    id: round / PER_BARRIER,
                    comm: 0,
                    op: 6,
                    task: t,
                    send: 0,
                    recv: 0,
                    dep: Dep(2),
                    time: 1_312,
                    after: DepId::Message(sent(base, before(t))),
                };
                write::record(&mut out, &Record::Member(member))?;
            }
        }
    }
    out.flush()?;
    Ok(std::fs::metadata(path)?.len())
}
