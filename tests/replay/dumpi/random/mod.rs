//! Random MPI programs, written as DUMPI files by what each rank sees of them, replay as their operations: those that follow
//! from the program itself, which the files never say as a whole.

mod collectives;
mod comms;
mod completion;
mod pieces;
mod requests;
mod world;

use super::operations_of;
use crate::naive::{Case, End, InMemory, compare};
use flitwise::replay::agreement::{Disagreements, disagreements};
use flitwise::replay::mpi::{Call, CommId, Communicator, RequestId};
use flitwise::replay::program::{Action, Op, Place};
use flitwise::replay::trace::Reading;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::World;

/// Numbers to draw from.
pub struct Dice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Dice<'_> {
    pub fn below(&mut self, n: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % n
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What the programs must contain.
const WANTED: &[&str] = &[
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Comm_create",
    "MPI_Comm_dup",
    "MPI_Comm_split",
    "MPI_Graph_create",
    "MPI_Intercomm_create",
    "MPI_Intercomm_merge",
    "MPI_Request_free",
    "MPI_Startall",
    "MPI_Testany",
    "MPI_Waitsome",
    "cancelled",
    "datatype whose number comes again",
    "failed poll",
    "from no process",
    "message between groups",
    "message from anyone",
    "message to no process",
    "number of a communicator that comes again",
    "probe",
    "shared request",
    "status ignored",
];

fn world_of(head: &[u8], pieces: &[Vec<u8>]) -> World {
    let mut dice = Dice { bytes: head, at: 0 };
    let mut world = World::new(2 + dice.below(5));
    for piece in pieces {
        pieces::add(
            &mut world,
            &mut Dice {
                bytes: piece,
                at: 0,
            },
        );
    }
    world.end();
    world
}

/// Numbers by their first appearance.
#[derive(Default)]
struct Names(BTreeMap<u64, u64>);

impl Names {
    fn of(&mut self, number: u64) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(number).or_insert(next)
    }
}

/// The operations of all ranks, whatever numbers their communicators and requests have, and wherever they are.
fn renamed(ranks: &[Vec<Op>]) -> Vec<Vec<Op>> {
    let mut comms = Names::default();
    let mut all = Vec::new();
    for ops in ranks {
        let mut requests = Names::default();
        let mut renamed = Vec::new();
        for op in ops {
            let mut op = op.clone();
            op.place = Place::line(1);
            if let Action::Mpi(call) = &mut op.action {
                rename(call, &mut comms, &mut requests);
            }
            renamed.push(op);
        }
        all.push(renamed);
    }
    all
}

fn rename(call: &mut Call, comms: &mut Names, requests: &mut Names) {
    let mut comm = |id: &mut CommId| *id = CommId::new(comms.of(id.get().into()) as u32);
    let mut request = |id: &mut RequestId| *id = RequestId(requests.of(id.0));
    match call {
        Call::Send {
            comm: c,
            request: r,
            ..
        }
        | Call::Receive {
            comm: c,
            request: r,
            ..
        } => {
            comm(c);
            r.iter_mut().for_each(&mut request);
        }
        Call::Probe { comm: c, .. } => comm(c),
        Call::Collective {
            comm: c,
            request: r,
            ..
        } => {
            let mut id = c.id;
            comm(&mut id);
            let members = Arc::clone(&c.members);
            *c = Arc::new(Communicator { id, members });
            r.iter_mut().for_each(&mut request);
        }
        Call::Free { requests } | Call::Wait { requests, .. } => {
            requests.iter_mut().for_each(request);
        }
    }
}

/// The ranks agree, and no longer if one of them lacks a call that others count on.
fn agree(ranks: &[Vec<Op>], seed: usize) -> Result<(), TestCaseError> {
    let of = |ranks: &[Vec<Op>]| {
        let streams: Vec<_> = ranks.iter().map(|ops| vec![ops.clone()]).collect();
        disagreements(&mut InMemory::new(&streams)).unwrap()
    };
    prop_assert_eq!(of(ranks), Disagreements::default());
    let counted = |op: &Op| match &op.action {
        Action::Mpi(call) => match &**call {
            Call::Send { .. } | Call::Receive { .. } => true,
            Call::Collective { comm, .. } => comm.members.len() > 1,
            Call::Probe { .. } | Call::Free { .. } | Call::Wait { .. } => false,
        },
        _ => false,
    };
    let places = (ranks.iter().enumerate()).flat_map(|(rank, ops)| {
        let counted = (0..ops.len()).filter(move |&at| counted(&ops[at]));
        counted.map(move |at| (rank, at))
    });
    let places: Vec<_> = places.collect();
    if places.is_empty() {
        return Ok(());
    }
    let (rank, at) = places[seed % places.len()];
    let mut lacking = ranks.to_vec();
    let left_out = lacking[rank].remove(at);
    let found = of(&lacking);
    prop_assert!(
        found.error_total > 0,
        "rank {} without {:?}",
        rank,
        left_out
    );
    prop_assert_eq!(found.errors.len() as u64, found.error_total.min(100));
    Ok(())
}

fn check(world: &World) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    for (rank, one) in world.ranks.iter().enumerate() {
        std::fs::write(
            dir.path().join(format!("random-{rank:04}.bin")),
            one.file.bytes(),
        )
        .unwrap();
    }
    let found = operations_of(dir.path(), &Reading::default());
    let expected: Vec<Vec<Op>> = world
        .ranks
        .iter()
        .map(|rank| rank.expected.clone())
        .collect();
    let (found, expected) = (renamed(&found), renamed(&expected));
    for (rank, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            prop_assert_eq!(
                found,
                expected,
                "rank {}, operation {}: {:#?}",
                rank,
                at,
                world.log
            );
        }
        prop_assert_eq!(
            found.len(),
            expected.len(),
            "rank {}: {:#?}",
            rank,
            world.log
        );
    }
    agree(&found, world.log.len())?;
    let case = Case::of(found.into_iter().map(|ops| vec![ops]).collect());
    let outcome = compare(&case).map_err(TestCaseError::fail)?;
    prop_assert_eq!(outcome.end, End::Complete, "{:#?}", world.log);
    Ok(())
}

#[test]
fn random_programs_replay_as_their_operations() {
    let default = ProptestConfig::default();
    let config = ProptestConfig {
        failure_persistence: None,
        cases: default.cases.max(1500),
        ..default
    };
    let seen: RefCell<BTreeMap<&str, u64>> = RefCell::default();
    let strategy = (
        any::<[u8; 4]>(),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 60), 1..25),
    );
    let result = TestRunner::new(config).run(&strategy, |(head, pieces)| {
        let world = world_of(&head, &pieces);
        for feature in &world.features {
            *seen.borrow_mut().entry(feature).or_default() += 1;
        }
        check(&world)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let seen = seen.into_inner();
    let missing: Vec<_> = WANTED
        .iter()
        .filter(|feature| !seen.contains_key(**feature))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {seen:?}");
}
