//! The ideal clock of `docs/trace-tools.md`, naively: whole traces in memory, tried until
//! nothing moves.

use std::collections::HashMap;

use flitwise_formats::vef::{DepId, DepKind, Member, Record};

use super::Trace;

/// The root of a collective by its lines, or the first member.
pub fn root(trace: &Trace, g: u64) -> Option<u32> {
    let lines: Vec<&Member> = lines(trace, g);
    let first = lines.first()?;
    let marked = lines.iter().find(|m| match m.op {
        0 | 4 => m.send > 0,
        _ => m.recv > 0,
    });
    let rooted = [0, 1, 3, 4].contains(&first.op);
    let world = trace.comms[first.comm as usize].members[0];
    rooted.then(|| marked.map_or(world, |m| m.task))
}

fn lines(trace: &Trace, g: u64) -> Vec<&Member> {
    let members = trace.records.iter().filter_map(|r| match r {
        Record::Member(m) if m.id == g => Some(m),
        _ => None,
    });
    members.collect()
}

/// Operation, root, and the tasks with the places of their records.
type Group = (u32, Option<u32>, Vec<(u32, usize)>);

/// Start of every record, in units of the trace.
pub fn starts(trace: &Trace) -> Vec<u64> {
    let mut start: Vec<Option<u64>> = vec![None; trace.records.len()];
    let mut roots: HashMap<u64, Group> = HashMap::new();
    let mut ids = HashMap::new();
    let mut tasks: Vec<Vec<usize>> = vec![Vec::new(); trace.header.tasks as usize];
    for (i, record) in trace.records.iter().enumerate() {
        tasks[record.task() as usize].push(i);
        match record {
            Record::Message(m) => drop(ids.insert(m.id, i)),
            Record::Member(m) => {
                let new = || (m.op, root(trace, m.id), Vec::new());
                roots.entry(m.id).or_insert_with(new).2.push((m.task, i));
            }
        }
    }
    let completed = |g: u64, task: u32, start: &[Option<u64>]| {
        let (op, root, entries) = &roots[&g];
        let of = |t: u32| start[entries.iter().find(|e| e.0 == t).unwrap().1];
        let all = || {
            let times: Option<Vec<u64>> = entries.iter().map(|e| start[e.1]).collect();
            times.and_then(|t| t.into_iter().max())
        };
        match (op, root) {
            (0 | 4, Some(root)) => Some(of(*root)?.max(of(task)?)),
            (1 | 3, Some(root)) if *root != task => of(task),
            _ => all(),
        }
    };
    let mut next = vec![0; tasks.len()];
    loop {
        let mut moved = false;
        for task in 0..tasks.len() {
            let mut before = match next[task] {
                0 => 0,
                n => start[tasks[task][n - 1]].unwrap(),
            };
            while let Some(&i) = tasks[task].get(next[task]) {
                let record = &trace.records[i];
                let event = match (record.dep().0.kind(), record.dep().1) {
                    (DepKind::Start, _) => Some(0),
                    (_, DepId::Message(id)) => start[ids[&id]],
                    (_, DepId::Collective(g)) => completed(g, task as u32, &start),
                    _ => None,
                };
                let Some(event) = event else { break };
                before = before.max(event) + record.time();
                start[i] = Some(before);
                next[task] += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    start.into_iter().map(|s| s.expect("it starts")).collect()
}
