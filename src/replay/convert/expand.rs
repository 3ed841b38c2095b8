//! Collectives as the messages of their usual algorithms, where a format has no collectives or not these.

use super::graph::{After, COLLECTIVES, Entry, Graph, Key, Losses, Node, Task};
use crate::collectives::{Plan, Step};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// The first tag that the messages of collectives use. Programs rarely use tags this high.
pub(super) const FIRST_TAG: u32 = 1 << 30;

/// The CPU of collectives that progress beside their rank: their steps wait for no computation.
const BESIDE: u8 = 1;

const NOTE: &str = "collectives become the messages of their usual algorithms";

/// The operations that stand for the start and the end of each that was there before, by rank.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<RankEnds>);

/// The first and the last operation for each of a rank.
type RankEnds = Vec<(u32, u32)>;

impl Ends {
    /// The first and the last operation that operation `node` of `rank` became.
    pub fn of(&self, rank: u32, node: u32) -> (u32, u32) {
        let of_rank = self.0.get(rank as usize);
        let found = of_rank.and_then(|nodes| nodes.get(node as usize));
        // Where no collective became messages, all are as they were.
        found.copied().unwrap_or((node, node))
    }
}

/// Replaces the collectives that are not in `kept`.
pub(super) fn expand(
    mut graph: Graph,
    kept: &HashSet<Key>,
    losses: &mut Losses,
) -> anyhow::Result<(Graph, Ends)> {
    let tags = tags(&graph, kept)?;
    losses.add(tags.len() as u64, NOTE);
    if tags.is_empty() {
        return Ok((graph, Ends::default()));
    }
    let mut all = Ends::default();
    for of_rank in &mut graph.ranks {
        let (nodes, ends) = expand_rank(std::mem::take(of_rank), kept, &tags)?;
        *of_rank = nodes;
        all.0.push(ends);
    }
    Ok((graph, all))
}

/// The first tag of each collective, in the order of their keys.
fn tags(graph: &Graph, kept: &HashSet<Key>) -> anyhow::Result<HashMap<Key, u32>> {
    let mut widths: BTreeMap<Key, u32> = BTreeMap::new();
    let mut next: u32 = 0;
    for node in graph.ranks.iter().flatten() {
        let entry = match &node.task {
            Task::Collective(entry) => entry,
            Task::Send { comm, tag, .. } if *comm == COLLECTIVES => {
                next = next.max(tag.saturating_sub(FIRST_TAG) + 1);
                continue;
            }
            _ => continue,
        };
        if kept.contains(&entry.key) {
            continue;
        }
        let width = widths.entry(entry.key).or_default();
        for step in steps(&entry.plan()?, entry.me) {
            if let Step::Send { tag, .. } | Step::Recv { tag, .. } = step {
                *width = (*width).max(tag.saturating_add(1));
            }
        }
    }
    let mut tags = HashMap::new();
    for (key, width) in widths {
        // The tags of a trace with more messages between two ranks are used again, in order.
        if next.checked_add(width).is_none_or(|end| end > FIRST_TAG) {
            next = 0;
        }
        tags.insert(key, FIRST_TAG + next);
        next = next.saturating_add(width);
    }
    Ok(tags)
}

fn steps(plan: &Plan, me: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..plan.rounds(me) {
        plan.round(me, round, &mut steps);
    }
    steps
}

/// The operations of a rank with the steps of its collectives. Each old one has one new one that stands for its start
/// and one for its end.
fn expand_rank(
    nodes: Vec<Node>,
    kept: &HashSet<Key>,
    tags: &HashMap<Key, u32>,
) -> anyhow::Result<(Vec<Node>, RankEnds)> {
    let beside = beside(&nodes);
    let mut out: Vec<Node> = Vec::with_capacity(nodes.len());
    let mut ends: Vec<(u32, u32)> = Vec::with_capacity(nodes.len());
    // Operations may wait for later ones: what they wait for is renumbered at the end.
    let mut old: Vec<bool> = Vec::with_capacity(nodes.len());
    for (index, node) in (0..).zip(nodes) {
        let first = out.len() as u32;
        match &node.task {
            Task::Collective(entry) if !kept.contains(&entry.key) => {
                let cpu = if beside.contains(&index) {
                    BESIDE
                } else {
                    node.cpu
                };
                let entry = std::sync::Arc::clone(entry);
                let first_tag = tags.get(&entry.key).copied().unwrap_or(FIRST_TAG);
                out.push(Node {
                    task: Task::Calc { ps: 0 },
                    cpu,
                    ..node
                });
                old.push(true);
                add_steps(&mut out, &entry, first_tag)?;
                old.resize(out.len(), false);
            }
            _ => {
                out.push(node);
                old.push(true);
            }
        }
        ends.push((first, out.len() as u32 - 1));
    }
    let waits = out.iter_mut().zip(old).filter(|(_, old)| *old);
    for after in waits.flat_map(|(node, _)| &mut node.after) {
        if let Some(&(first, last)) = ends.get(after.on as usize) {
            // The first operation of an expanded collective takes no time.
            after.on = match *after {
                After {
                    kind: flitwise_formats::goal::DependencyKind::Started,
                    ..
                } => first,
                After { .. } => last,
            };
        }
    }
    Ok((out, ends))
}

/// Adds the steps behind the last of `out`, which begins the collective, and the operation that ends it.
fn add_steps(out: &mut Vec<Node>, entry: &Entry, first_tag: u32) -> anyhow::Result<()> {
    let (cpu, place) = out.last().map_or((0, None), |node| (node.cpu, node.place));
    let mut before = After::done(out.len() as u32 - 1);
    let mut sends = Vec::new();
    let rank = |member: u32| entry.members.get(member as usize).map_or(0, |r| r.get());
    let mut push = |task: Task, after: Vec<After>| {
        out.push(Node {
            task,
            after,
            cpu,
            place,
            edge: None,
        });
        out.len() as u32 - 1
    };
    for step in steps(&entry.plan()?, entry.me) {
        match step {
            Step::Send { to, bytes, tag } => {
                let (to, tag) = (rank(to), first_tag.saturating_add(tag));
                let send = push(
                    Task::Send {
                        to,
                        comm: COLLECTIVES,
                        tag,
                        bytes,
                    },
                    vec![before],
                );
                sends.push(After::done(send));
                before = After::started(send);
            }
            Step::Recv { from, tag } => {
                let recv = Task::Recv {
                    from: Some(rank(from)),
                    comm: COLLECTIVES,
                    tag: Some(first_tag.saturating_add(tag)),
                    bytes: 0,
                };
                before = After::done(push(recv, vec![before]));
            }
            // The time of a reduction is a key of the experiment.
            Step::Compute { .. } | Step::Pause { .. } => {}
        }
    }
    if !sends.contains(&before) {
        sends.push(before);
    }
    push(Task::Calc { ps: 0 }, sends);
    Ok(())
}

/// Collectives that progress beside their rank: some operation waits for their start, but not for their end.
pub(super) fn beside(nodes: &[Node]) -> HashSet<u32> {
    let mut beside = HashSet::new();
    for node in nodes {
        for after in &node.after {
            if after.kind == flitwise_formats::goal::DependencyKind::Started
                && !node.after.contains(&After::done(after.on))
            {
                beside.insert(after.on);
            }
        }
    }
    beside
}
