//! Plans of one member, from what it knows by itself.

use flitwise::replay::collectives::decide::{Alltoall, Rooted};
use flitwise::replay::collectives::{Choices, Plan, PlanError, Step};
use flitwise::replay::program::{CollectiveKind, Contribution, RootedBlocks};
use proptest::prelude::*;

fn steps(plan: &Plan, me: u32) -> Vec<Vec<Step>> {
    let round = |k| {
        let mut steps = Vec::new();
        plan.round(me, k, &mut steps);
        steps
    };
    (0..plan.rounds(me)).map(round).collect()
}

proptest! {
    /// A member that knows only its own sizes takes the steps that it takes when it knows all.
    #[test]
    fn own_sizes_suffice(sizes in prop::collection::vec(0_u64..3, 1..9), at in any::<usize>()) {
        let (n, root) = (sizes.len(), (at % sizes.len()) as u32);
        let choices = Choices {
            gather: Some(Rooted::Linear),
            scatter: Some(Rooted::Linear),
            ..Choices::default()
        };
        let blocks = sizes.clone();
        let gather = Plan::new(&CollectiveKind::Gather { root, blocks }, n, &choices).unwrap();
        let blocks = sizes.clone();
        let scatter = Plan::new(&CollectiveKind::Scatter { root, blocks }, n, &choices).unwrap();
        for me in 0..n as u32 {
            let known = if me == root {RootedBlocks::All(sizes.clone().into())} else {RootedBlocks::Own(sizes[me as usize])};
            let gatherv = Contribution::Gatherv { root, blocks: known.clone() };
            let own = Plan::of_member(&gatherv, me, n, &Choices::default()).unwrap();
            prop_assert_eq!(steps(&own, me), steps(&gather, me));
            let scatterv = Contribution::Scatterv { root, blocks: known };
            let own = Plan::of_member(&scatterv, me, n, &Choices::default()).unwrap();
            prop_assert_eq!(steps(&own, me), steps(&scatter, me));
        }
    }

    /// In an all-to-all, one member sends exactly the messages that the other waits for.
    #[test]
    fn rows_and_columns_fit(n in 1_usize..7, seed in any::<u64>(), pairwise in any::<bool>()) {
        let size = |from: usize, to: usize| (seed >> ((from * n + to) % 60)) & 3;
        let choices = Choices {
            alltoall: pairwise.then_some(Alltoall::Pairwise),
            ..Choices::default()
        };
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for me in 0..n {
            let contribution = Contribution::Alltoallv {
                send: (0..n).map(|to| size(me, to)).collect(),
                receive: (0..n).map(|from| size(from, me)).collect(),
            };
            let plan = Plan::of_member(&contribution, me as u32, n, &choices).unwrap();
            for step in steps(&plan, me as u32).concat() {
                match step {
                    Step::Send { to, bytes, tag } => {
                        prop_assert_eq!(bytes, size(me, to as usize));
                        sent.push((me as u32, to, tag));
                    }
                    Step::Recv { from, tag } => received.push((from, me as u32, tag)),
                    Step::Compute { .. } | Step::Pause { .. } => prop_assert!(false, "nothing to combine"),
                }
            }
        }
        let pairs = (0..n * n).filter(|at| at / n != at % n && size(at / n, at % n) > 0);
        prop_assert_eq!(sent.len(), pairs.count());
        sent.sort_unstable();
        received.sort_unstable();
        prop_assert_eq!(sent, received);
    }
}

#[test]
fn contributions_that_do_not_fit_are_refused() {
    let refused = |contribution, me| {
        let plan = Plan::of_member(&contribution, me, 3, &Choices::default());
        plan.unwrap_err()
    };
    let gatherv = |root, blocks| Contribution::Gatherv { root, blocks };
    let all = |n| RootedBlocks::All(vec![1; n].into());
    let wrong = |me, root| PlanError::Known { me, root };
    assert_eq!(refused(gatherv(1, all(3)), 0), wrong(0, 1));
    assert_eq!(refused(gatherv(1, RootedBlocks::Own(1)), 1), wrong(1, 1));
    let (blocks, n) = (2, 3);
    assert_eq!(
        refused(gatherv(1, all(2)), 1),
        PlanError::Blocks { blocks, n }
    );
    assert_eq!(
        refused(gatherv(3, all(3)), 1),
        PlanError::Root { root: 3, n }
    );
    assert_eq!(
        refused(gatherv(1, all(3)), 3),
        PlanError::Member { me: 3, n }
    );
    let (send, receive) = ([1; 3].into(), [1; 2].into());
    let uneven = Contribution::Alltoallv { send, receive };
    assert_eq!(refused(uneven, 0), PlanError::Blocks { blocks, n });
}
