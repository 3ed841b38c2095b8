//! The steps of a member of a collective.

use flitwise::replay::collectives::decide::Alltoall;
use flitwise::replay::collectives::{Choices, Plan, Step};
use flitwise::replay::program::{CollectiveKind, Contribution, RootedBlocks};

/// The steps of the member at `me` of `members`.
pub fn steps(contribution: &Contribution, members: usize, me: u32, choices: &Choices) -> Vec<Step> {
    match contribution {
        Contribution::Known(kind) => known(kind, members, me, choices),
        Contribution::Gatherv { root, blocks } => gatherv(*root, blocks, me),
        Contribution::Scatterv { root, blocks } => scatterv(*root, blocks, me),
        Contribution::Alltoallv { send, receive } if is_pairwise(choices) => {
            pairwise(send, receive, me)
        }
        Contribution::Alltoallv { send, receive } => linear(send, receive, me),
    }
}

/// The steps of a collective all of whose sizes are known: the plan of the library.
pub fn known(kind: &CollectiveKind, members: usize, me: u32, choices: &Choices) -> Vec<Step> {
    let plan = Plan::new(kind, members, choices).expect("the collective makes sense");
    let mut steps = Vec::new();
    for round in 0..plan.rounds(me) {
        plan.round(me, round, &mut steps);
    }
    steps
}

/// An alltoallv is pairwise only if the experiment says so.
pub fn is_pairwise(choices: &Choices) -> bool {
    choices.alltoall == Some(Alltoall::Pairwise)
}

fn send(to: u32, bytes: u64) -> Option<Step> {
    (bytes > 0).then_some(Step::Send { to, bytes, tag: 0 })
}

fn receive(from: u32, bytes: u64) -> Option<Step> {
    (bytes > 0).then_some(Step::Recv { from, tag: 0 })
}

/// Every other member sends its block; the root receives in ascending order.
fn gatherv(root: u32, blocks: &RootedBlocks, me: u32) -> Vec<Step> {
    match blocks {
        RootedBlocks::All(blocks) => (0..)
            .zip(blocks)
            .filter(|&(member, _)| member != me)
            .filter_map(|(member, &bytes)| receive(member, bytes))
            .collect(),
        RootedBlocks::Own(bytes) => send(root, *bytes).into_iter().collect(),
    }
}

/// The root sends in ascending order.
fn scatterv(root: u32, blocks: &RootedBlocks, me: u32) -> Vec<Step> {
    match blocks {
        RootedBlocks::All(blocks) => (0..)
            .zip(blocks)
            .filter(|&(member, _)| member != me)
            .filter_map(|(member, &bytes)| send(member, bytes))
            .collect(),
        RootedBlocks::Own(bytes) => receive(root, *bytes).into_iter().collect(),
    }
}

/// All sends at once, the next neighbour first; then all receives.
fn linear(sent: &[u64], received: &[u64], me: u32) -> Vec<Step> {
    let n = sent.len() as u32;
    let after = (1..n).map(|distance| (me + distance) % n);
    let before = (1..n).map(|distance| (me + n - distance) % n);
    let sends = after.filter_map(|member| send(member, sent[member as usize]));
    let receives = before.filter_map(|member| receive(member, received[member as usize]));
    sends.chain(receives).collect()
}

/// In round k send to the member k positions after, receive from the member k positions before.
fn pairwise(sent: &[u64], received: &[u64], me: u32) -> Vec<Step> {
    let n = sent.len() as u32;
    let round = |k: u32| {
        let (after, before) = ((me + k) % n, (me + n - k) % n);
        [
            send(after, sent[after as usize]),
            receive(before, received[before as usize]),
        ]
    };
    (1..n).flat_map(round).flatten().collect()
}
