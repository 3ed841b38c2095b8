//! The ideal clock of `docs/reference/trace-tools.md`, naively: whole traces in memory, tried until
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

/// True if `from` sends data to `to` in the collective, or has to be there for it in a barrier.
fn sends(trace: &Trace, from: &Member, to: &Member) -> bool {
    let root = root(trace, from.id);
    match from.op {
        0 | 4 => root == Some(from.task) && to.recv > 0,
        1 | 3 => root == Some(to.task) && from.send > 0,
        2 | 5 => from.send > 0,
        7 if from.recv == 1 => {
            let members = &trace.comms[from.comm as usize].members;
            let position = members.iter().position(|&task| task == to.task).unwrap() as u64;
            let n = members.len() as u64;
            from.send / n > 0 || position < from.send % n
        }
        7 => from.send > 0,
        _ => true,
    }
}

/// The lines of a collective with the places of their records.
type Group = Vec<(Member, usize)>;

/// Start of every record, in units of the trace.
pub fn starts(trace: &Trace) -> Vec<u64> {
    let mut start: Vec<Option<u64>> = vec![None; trace.records.len()];
    let mut groups: HashMap<u64, Group> = HashMap::new();
    let mut ids = HashMap::new();
    let mut tasks: Vec<Vec<usize>> = vec![Vec::new(); trace.header.tasks as usize];
    for (i, record) in trace.records.iter().enumerate() {
        tasks[record.task() as usize].push(i);
        match record {
            Record::Message(m) => drop(ids.insert(m.id, i)),
            Record::Member(m) => groups.entry(m.id).or_default().push((*m, i)),
        }
    }
    // When all whose data the task gets have entered, itself included.
    let completed = |g: u64, task: u32, start: &[Option<u64>]| {
        let group = &groups[&g];
        let (own, _) = group.iter().find(|(m, _)| m.task == task).unwrap();
        let awaited = |from: &Member| from.task == task || sends(trace, from, own);
        let times = group.iter().filter(|(from, _)| awaited(from));
        let times: Option<Vec<u64>> = times.map(|&(_, i)| start[i]).collect();
        times.and_then(|times| times.into_iter().max())
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
