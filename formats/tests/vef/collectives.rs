//! Collectives of VEF: the operation and the root that the sizes of the lines tell, and positions in communicators.

use flitwise_formats::collective::{AlltoallBlocks, CollectiveKind};
use flitwise_formats::vef::{Comm, Dep, DepId, Gathering, Member, Positions, Resolved};

/// Whatever lines the members have.
fn resolve(op: u32, sizes: &[(u64, u64)]) -> Result<Resolved, (u64, String)> {
    let resolved = resolve_at(op, sizes, |task| u64::from(task) + 1);
    let alike = resolve_at(op, sizes, |_| 0);
    assert_eq!(
        resolved.as_ref().ok(),
        alike.as_ref().ok(),
        "{op} {sizes:?}"
    );
    resolved
}

fn resolve_at(
    op: u32,
    sizes: &[(u64, u64)],
    line: impl Fn(u32) -> u64,
) -> Result<Resolved, (u64, String)> {
    let member = |task: u32| Member {
        id: 0,
        comm: 0,
        op,
        task,
        send: sizes[task as usize].0,
        recv: sizes[task as usize].1,
        dep: Dep(0),
        time: 0,
        after: DepId::None,
    };
    let comm = Comm {
        members: (0..sizes.len() as u32).collect(),
    };
    let mut g = Gathering::new(line(0), &member(0))?;
    // Any order of lines gives the same result.
    for task in (0..sizes.len() as u32).rev() {
        g.add(line(task), task, &member(task))?;
    }
    g.resolve(0, &comm)
}

fn kind(op: u32, sizes: &[(u64, u64)]) -> CollectiveKind {
    let r = resolve(op, sizes).unwrap();
    assert!(!r.root_guessed);
    r.kind
}

#[test]
fn roots_are_deduced_from_the_sizes() {
    let root = 1;
    let bytes = 4;
    assert_eq!(
        kind(0, &[(0, 4), (4, 0), (0, 4)]),
        CollectiveKind::Bcast { root, bytes }
    );
    assert_eq!(
        kind(1, &[(4, 0), (0, 4), (4, 0)]),
        CollectiveKind::Reduce { root, bytes }
    );
    let blocks = vec![1, 0, 3];
    assert_eq!(
        kind(3, &[(1, 0), (0, 4), (3, 0)]),
        CollectiveKind::Gather {
            root,
            blocks: blocks.clone()
        }
    );
    assert_eq!(
        kind(4, &[(0, 1), (4, 0), (0, 3)]),
        CollectiveKind::Scatter { root, blocks }
    );
}

#[test]
fn rootless_operations() {
    assert_eq!(
        kind(2, &[(8, 8), (8, 8)]),
        CollectiveKind::Allreduce { bytes: 8 }
    );
    assert_eq!(
        kind(5, &[(1, 3), (2, 3)]),
        CollectiveKind::Allgather { blocks: vec![1, 2] }
    );
    assert_eq!(kind(6, &[(0, 0), (0, 0)]), CollectiveKind::Barrier);
    let blocks = vec![
        AlltoallBlocks::Each(5),
        AlltoallBlocks::Split {
            total: 7,
            members: 2,
        },
    ];
    assert_eq!(
        kind(7, &[(5, 0), (7, 1)]),
        CollectiveKind::Alltoall { blocks }
    );
}

#[test]
fn all_zero_sizes_make_the_first_member_the_root() {
    for op in [0, 1, 3, 4] {
        let r = resolve(op, &[(0, 0), (0, 0)]).unwrap();
        assert!(r.root_guessed, "{op}");
    }
    assert!(!resolve(0, &[(0, 0)]).unwrap().root_guessed);
    assert!(!resolve(6, &[(0, 0), (0, 0)]).unwrap().root_guessed);
}

#[test]
fn contradicting_sizes_are_refused() {
    for (op, sizes) in [
        (0, [(4, 0), (4, 0), (0, 4)]),
        (0, [(4, 0), (0, 4), (0, 5)]),
        (0, [(4, 4), (0, 4), (0, 4)]),
        (0, [(0, 4), (0, 4), (0, 4)]),
        (1, [(0, 4), (4, 0), (5, 0)]),
        (1, [(1, 4), (4, 0), (4, 0)]),
        (2, [(4, 4), (4, 4), (4, 5)]),
        (3, [(1, 3), (1, 0), (2, 0)]),
        (3, [(1, 0), (1, 0), (2, 0)]),
        (4, [(3, 1), (0, 1), (0, 2)]),
        (5, [(1, 3), (1, 3), (1, 4)]),
        (5, [(u64::MAX, 0), (1, 0), (0, 0)]),
        (6, [(0, 0), (0, 1), (0, 0)]),
        (7, [(4, 0), (4, 2), (4, 0)]),
    ] {
        assert!(resolve(op, &sizes).is_err(), "{op} {sizes:?}");
    }
    assert!(resolve(8, &[(0, 0)]).unwrap_err().1.contains("operation 8"));
}

#[test]
fn positions_of_members_and_strangers() {
    let comm = |members: &[u32]| Comm {
        members: members.into(),
    };
    let p = Positions::new(&[comm(&[0, 1, 2]), comm(&[2, 0]), comm(&[1, 2, 1])]);
    assert_eq!((p.of(0, 2), p.of(0, 3)), (Some(2), None));
    assert_eq!(
        (p.of(1, 2), p.of(1, 0), p.of(1, 1)),
        (Some(0), Some(1), None)
    );
    assert_eq!((p.of(3, 0), p.twice(0), p.twice(2)), (None, None, Some(1)));
}
