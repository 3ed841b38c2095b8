//! The choice of an algorithm: the decision table of `docs/model/replay.md`, and choices by hand.

use flitwise::replay::collectives::decide::{
    Allgather, Allreduce, Alltoall, Bcast, Reduce, ReduceScatter, Rooted, Scan,
};
use flitwise::replay::collectives::{Algorithm, Choices, Plan};
use flitwise::replay::program::{AlltoallBlocks, CollectiveKind};
use flitwise::units::Bytes;

const KIB: u64 = 1024;

fn decide(kind: &CollectiveKind, n: u32, choices: &Choices) -> Algorithm {
    Plan::new(kind, n as usize, choices).unwrap().algorithm()
}

/// The table of docs/model/replay.md, at both sides of every boundary.
#[test]
fn the_table_decides_unless_told_otherwise() {
    let choose = |kind: CollectiveKind, n| decide(&kind, n, &Choices::default());
    let bcast = |bytes, n| choose(CollectiveKind::Bcast { root: 0, bytes }, n);
    assert_eq!(bcast(12 * KIB - 1, 64), Algorithm::Bcast(Bcast::Binomial));
    let large = Algorithm::Bcast(Bcast::ScatterAllgather);
    assert_eq!(bcast(12 * KIB, 8), large);
    assert_eq!(bcast(1 << 20, 7), Algorithm::Bcast(Bcast::Binomial));

    let reduce = |bytes, n| choose(CollectiveKind::Reduce { root: 0, bytes }, n);
    let cut = Algorithm::Reduce(Reduce::ReduceScatterGather);
    assert_eq!(reduce(2 * KIB, 64), Algorithm::Reduce(Reduce::Binomial));
    assert_eq!(reduce(2 * KIB + 1, 64), cut);
    assert_eq!(
        reduce(2 * KIB + 1, 4096),
        Algorithm::Reduce(Reduce::Binomial)
    );

    let allreduce = |bytes, n| choose(CollectiveKind::Allreduce { bytes }, n);
    let whole = Algorithm::Allreduce(Allreduce::RecursiveDoubling);
    assert_eq!(allreduce(2 * KIB, 64), whole);
    assert_eq!(allreduce(4095, 4096), whole);
    let cut = Algorithm::Allreduce(Allreduce::Rabenseifner);
    assert_eq!(allreduce(4096, 4096), cut);

    let gather = |blocks| choose(CollectiveKind::Gather { root: 0, blocks }, 2);
    let scatter = |blocks| choose(CollectiveKind::Scatter { root: 0, blocks }, 2);
    assert_eq!(gather(vec![5, 5]), Algorithm::Gather(Rooted::Binomial));
    assert_eq!(scatter(vec![5, 6]), Algorithm::Scatter(Rooted::Linear));

    let allgather = |block, n: u32| {
        let blocks = vec![block; n as usize];
        choose(CollectiveKind::Allgather { blocks }, n)
    };
    let doubling = Algorithm::Allgather(Allgather::RecursiveDoubling);
    assert_eq!(allgather(16 * KIB, 16), doubling);
    assert_eq!(
        allgather(32 * KIB, 16),
        Algorithm::Allgather(Allgather::Ring)
    );
    assert_eq!(
        allgather(16 * KIB - 1, 5),
        Algorithm::Allgather(Allgather::Bruck)
    );
    assert_eq!(
        allgather(16 * KIB, 5),
        Algorithm::Allgather(Allgather::Ring)
    );

    let alltoall = |row, n: u32| {
        let blocks = vec![row; n as usize];
        choose(CollectiveKind::Alltoall { blocks }, n)
    };
    let each = AlltoallBlocks::Each;
    assert_eq!(alltoall(each(256), 8), Algorithm::Alltoall(Alltoall::Bruck));
    assert_eq!(
        alltoall(each(256), 7),
        Algorithm::Alltoall(Alltoall::Linear)
    );
    assert_eq!(
        alltoall(each(257), 8),
        Algorithm::Alltoall(Alltoall::Linear)
    );
    let split = AlltoallBlocks::Split {
        total: 8,
        members: 8,
    };
    assert_eq!(alltoall(split, 8), Algorithm::Alltoall(Alltoall::Linear));
    let long = each(32 * KIB + 1);
    assert_eq!(alltoall(long, 8), Algorithm::Alltoall(Alltoall::Pairwise));

    let scattered = |block| {
        choose(
            CollectiveKind::ReduceScatter {
                blocks: vec![block; 8],
            },
            8,
        )
    };
    let halving = Algorithm::ReduceScatter(ReduceScatter::RecursiveHalving);
    assert_eq!(scattered(64 * KIB - 1), halving);
    assert_eq!(
        scattered(64 * KIB),
        Algorithm::ReduceScatter(ReduceScatter::Ring)
    );

    let choices = Choices {
        allreduce: Some(Allreduce::Ring),
        ..Choices::default()
    };
    let chosen = decide(&CollectiveKind::Allreduce { bytes: 8 }, 64, &choices);
    assert_eq!(chosen, Algorithm::Allreduce(Allreduce::Ring));
}

#[test]
fn own_choices_come_first() {
    let chain = Choices {
        bcast: Some(Bcast::Chain),
        chain_segment: Some(Bytes(7)),
        ..Choices::default()
    };
    let own = Choices {
        scan: Some(Scan::RecursiveDoubling),
        ..Choices::default()
    };
    let both = own.or(&chain);
    assert_eq!((both.bcast, both.segment()), (Some(Bcast::Chain), Some(7)));
    assert_eq!(both.scan, own.scan);
    let own = Choices {
        bcast: Some(Bcast::Binomial),
        ..own
    };
    let tree = own.or(&chain);
    assert_eq!((tree.bcast, tree.segment()), (Some(Bcast::Binomial), None));
}

#[test]
fn algorithms_are_chosen_by_name() {
    let text = r#"{"bcast": "scatter-allgather", "gather": "linear"}"#;
    let choices: Choices = serde_json::from_str(text).unwrap();
    assert_eq!(choices.bcast, Some(Bcast::ScatterAllgather));
    assert_eq!(choices.gather, Some(Rooted::Linear));
    assert_eq!(choices.scatter, None);
    assert!(serde_json::from_str::<Choices>(r#"{"brcast": "chain"}"#).is_err());
}
