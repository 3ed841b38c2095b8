//! Collectives in the network: every contribution reaches every result once, in segments of which few are on their way.

use super::model::{Data, Origins, carry_out};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::topology::Topology;
use flitwise::replay::collectives::decide::{Allreduce, Barrier, Bcast, Reduce};
use flitwise::replay::collectives::in_network::{Limits, Switches, Tree};
use flitwise::replay::collectives::{Choices, Plan, PlanError, Step};
use flitwise::replay::program::CollectiveKind;
use std::collections::BTreeSet;
use std::sync::Arc;

fn choices() -> Choices {
    Choices {
        bcast: Some(Bcast::InNetwork),
        reduce: Some(Reduce::InNetwork),
        allreduce: Some(Allreduce::InNetwork),
        barrier: Some(Barrier::InNetwork),
        ..Choices::default()
    }
}

const LIMITS: Limits = Limits {
    payload: 100,
    operations: 3,
    reduction_ps: 7,
};

/// A tree and a torus; on the torus three NICs share a switch.
fn fabrics() -> [(Topology, Switches); 2] {
    let tree = Topology::k_ary_n_tree(4, 3, None).unwrap();
    let torus = Topology::cube(&[3, 4], true, 3, 2, None).unwrap();
    [tree, torus].map(|topology| {
        let topology = topology.with_aggregation(None).unwrap();
        let switches = Switches::of(&topology).unwrap();
        (topology, switches)
    })
}

/// The switches on the ways of all members to the lowest one above them all.
fn switches_between(topology: &Topology, nics: &[NicId]) -> u64 {
    let all = topology.aggregation().unwrap();
    let way = |&nic: &NicId| {
        let home = topology.attachment(nic).switch;
        std::iter::successors(Some(home), |&switch| all.parent(switch)).collect::<Vec<_>>()
    };
    let ways: Vec<Vec<_>> = nics.iter().map(way).collect();
    let common = |switch: &_| ways.iter().all(|way| way.contains(switch));
    let between = ways.iter().flatten().filter(|switch| !common(switch));
    between.collect::<BTreeSet<_>>().len() as u64 + 1
}

fn check(topology: &Topology, tree: &Arc<Tree>, kind: &CollectiveKind, nics: &[NicId]) {
    let n = nics.len() as u32;
    let plan = Plan::with_tree(kind, nics.len(), &choices(), Some(tree)).unwrap();
    let positions = n + tree.positions().count() as u32;
    let (bytes, root) = match *kind {
        CollectiveKind::Bcast { root, bytes } | CollectiveKind::Reduce { root, bytes } => {
            (bytes, Some(root))
        }
        CollectiveKind::Allreduce { bytes } => (bytes, None),
        _ => (0, None),
    };
    let barrier = *kind == CollectiveKind::Barrier;
    let parts = bytes.div_ceil(LIMITS.payload).max(1);
    let size = |part| bytes / parts + u64::from(part < bytes % parts);
    let sizes: Vec<u64> = (0..parts).map(size).collect();
    let filled = if bytes > 0 { 0..parts } else { 0..0 };
    let is_bcast = matches!(kind, CollectiveKind::Bcast { .. });
    let start = |me: u32| -> Data {
        let brings = me < n && (!is_bcast || Some(me) == root);
        let own = filled.clone().filter(|_| brings);
        own.map(|part| (part, Origins::from([me]))).collect()
    };
    let outcome = carry_out(&plan, &sizes, (0..positions).map(start).collect());
    let everyone: Origins = (0..n).collect();
    let expected = match (is_bcast, root) {
        (true, Some(root)) => Origins::from([root]),
        _ => everyone.clone(),
    };
    for me in 0..n {
        for part in filled.clone() {
            if is_bcast || root.is_none_or(|root| root == me) {
                let has = outcome.data[me as usize].get(&part);
                assert_eq!(has, Some(&expected), "{kind:?}: part {part} at {me} of {n}");
            }
        }
        if n > 1 && (barrier || bytes > 0) {
            assert!(
                outcome.reached[me as usize].is_superset(&everyone),
                "{kind:?}: {me} of {n}"
            );
        }
        let mut steps = Vec::new();
        (0..plan.rounds(me)).for_each(|k| plan.round(me, k, &mut steps));
        let (mut open, mut most) = (0_u64, 0);
        for step in steps {
            match step {
                Step::Send { bytes, .. } => {
                    assert!(bytes <= LIMITS.payload);
                    open += 1;
                }
                Step::Recv { .. } => open -= 1,
                Step::Compute { .. } | Step::Pause { .. } => panic!("a rank combines nothing"),
            }
            most = open.max(most);
        }
        let segments = if n > 1 && (barrier || bytes > 0) {
            parts
        } else {
            0
        };
        assert_eq!((open, most), (0, segments.min(3)), "{kind:?}: {me} of {n}");
    }
    // Up and down every link of the tree.
    let links = u64::from(n) + switches_between(topology, nics) - 1;
    let expected = if n > 1 && (barrier || bytes > 0) {
        2 * parts * links
    } else {
        0
    };
    assert_eq!(outcome.messages, expected, "{kind:?}: {n} members");
}

#[test]
fn every_contribution_reaches_every_result_once() {
    for (topology, switches) in fabrics() {
        for n in 1..=33_u32 {
            // One rank a NIC, far apart; or neighbours that share NICs.
            for share in [1, 3] {
                let nic = |rank: u32| {
                    NicId::new(match share {
                        1 => (7 * rank + n) % topology.nics(),
                        _ => rank / share,
                    })
                };
                let nics: Vec<NicId> = (0..n).map(nic).collect();
                let tree = Arc::new(switches.tree(nics.iter().copied(), LIMITS));
                let bytes = [0, 1, 99, 100, 250, 1001][n as usize % 6];
                let root = n / 3;
                for kind in [
                    CollectiveKind::Allreduce { bytes },
                    CollectiveKind::Reduce { root, bytes },
                    CollectiveKind::Bcast { root, bytes },
                    CollectiveKind::Barrier,
                ] {
                    check(&topology, &tree, &kind, &nics);
                }
            }
        }
    }
}

#[test]
fn without_switches_they_are_refused() {
    let kind = CollectiveKind::Allreduce { bytes: 8 };
    assert_eq!(Plan::new(&kind, 4, &choices()).err(), Some(PlanError::Tree));
}
