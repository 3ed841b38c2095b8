//! The NICs that the ranks of a job are placed on.

use flitwise::fabric::ids::NicId;
use flitwise::replay::placement::Distribution::{Block, Cyclic};
use flitwise::replay::placement::{FreeNics, Placement, PlacementError};

fn nics<const N: usize>(numbers: [u32; N]) -> [NicId; N] {
    numbers.map(NicId::new)
}

/// Round robin where every NIC is at one switch.
fn one_switch() -> Placement {
    Placement::RoundRobin { parts: vec![0; 8] }
}

#[test]
fn linear_fills_and_round_robin_deals() {
    let place =
        |p: &Placement, distribution| p.place(6, 2, distribution, &mut FreeNics::all(8)).unwrap();
    assert_eq!(place(&Placement::Linear, Block), nics([0, 0, 1, 1, 2, 2]));
    assert_eq!(place(&Placement::Linear, Cyclic), nics([0, 1, 2, 0, 1, 2]));
    assert_eq!(place(&one_switch(), Block), nics([0, 0, 1, 1, 2, 2]));
    assert_eq!(place(&one_switch(), Cyclic), nics([0, 1, 2, 0, 1, 2]));
    let uneven = one_switch().place(5, 2, Cyclic, &mut FreeNics::all(8));
    assert_eq!(uneven.unwrap(), nics([0, 1, 2, 0, 1]));
}

#[test]
fn round_robin_goes_round_the_switches() {
    // Switches 0, 1 and 2 with NICs 0 to 2, 3 to 5 and 6 to 8.
    let parts = (0..9).map(|nic| nic / 3).collect();
    let placement = Placement::RoundRobin { parts };
    let place = |ranks, tasks, free: &mut FreeNics| placement.place(ranks, tasks, Cyclic, free);
    let all = place(9, 1, &mut FreeNics::all(9)).unwrap();
    assert_eq!(all, nics([0, 3, 6, 1, 4, 7, 2, 5, 8]));
    let pairs = place(7, 2, &mut FreeNics::all(9)).unwrap();
    assert_eq!(pairs, nics([0, 3, 6, 1, 0, 3, 6]));
    // NICs of earlier jobs are left out, and so is a switch without a free NIC.
    let mut free = FreeNics::all(9);
    free.take(&nics([0, 3, 4, 5]));
    assert_eq!(place(4, 1, &mut free).unwrap(), nics([1, 6, 2, 7]));
    assert_eq!(free.iter().collect::<Vec<_>>(), nics([8]));
}

#[test]
fn jobs_do_not_share_nics_unless_listed() {
    let mut free = FreeNics::all(4);
    let list = Placement::List(nics([1, 1]).to_vec());
    assert_eq!(list.place(2, 1, Block, &mut free).unwrap(), nics([1, 1]));
    let linear = Placement::Linear.place(2, 1, Block, &mut free);
    assert_eq!(linear.unwrap(), nics([0, 2]));
    assert_eq!(list.place(2, 1, Block, &mut free).unwrap(), nics([1, 1]));
    assert_eq!(free.iter().collect::<Vec<_>>(), nics([3]));
    assert_eq!(
        one_switch().place(3, 2, Block, &mut free),
        Err(PlacementError::DoesNotFit {
            ranks: 3,
            ranks_per_nic: 2,
            needed: 2,
            free: 1
        })
    );
    assert_eq!(
        one_switch().place(2, 2, Block, &mut free).unwrap(),
        nics([3, 3])
    );
}

#[test]
fn random_is_a_seeded_choice_without_repetition() {
    let random = |seed, job| {
        let parts = (0..64).collect();
        let placement = Placement::Random { seed, job, parts };
        placement
            .place(16, 1, Block, &mut FreeNics::all(64))
            .unwrap()
    };
    assert_eq!(random(1, 0), random(1, 0));
    assert_ne!(random(1, 0), random(2, 0));
    assert_ne!(random(1, 0), random(1, 1));
    let mut nics = random(1, 0);
    assert!(!nics.is_sorted());
    nics.sort_unstable();
    nics.dedup();
    assert_eq!(nics.len(), 16);
    let (seed, job) = (1, 0);
    let parts = (0..3).collect();
    let pairs = Placement::Random { seed, job, parts }.place(6, 2, Block, &mut FreeNics::all(3));
    assert!(pairs.unwrap().chunks(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn random_parts_are_filled_one_after_the_other() {
    // Parts of four NICs. NICs 8 and 9 are taken.
    let parts: Vec<u32> = (0..32).map(|nic| nic / 4).collect();
    let mut orders = Vec::new();
    for seed in 0..8 {
        let mut free = FreeNics::all(32);
        free.take(&nics([8, 9]));
        let parts = parts.clone();
        let random = Placement::Random {
            seed,
            job: 0,
            parts,
        };
        let placed = random.place(30, 1, Block, &mut free).unwrap();
        let parts_of = |nic: &NicId| nic.get() / 4;
        let chunks: Vec<&[NicId]> = placed.chunk_by(|a, b| parts_of(a) == parts_of(b)).collect();
        assert_eq!(chunks.len(), 8, "every part once: {placed:?}");
        assert!(chunks.iter().all(|part| part.is_sorted()));
        orders.push(
            chunks
                .iter()
                .map(|part| parts_of(&part[0]))
                .collect::<Vec<_>>(),
        );
    }
    assert!(orders.iter().any(|order| !order.is_sorted()));
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 4, "{orders:?}");
}

#[test]
fn lists_must_fit_the_job_and_the_fabric() {
    let place = |list: &[u32]| {
        let list = list.iter().copied().map(NicId::new);
        Placement::List(list.collect()).place(2, 1, Block, &mut FreeNics::all(4))
    };
    assert_eq!(
        place(&[0]),
        Err(PlacementError::ListLength {
            listed: 1,
            ranks: 2
        })
    );
    let error = place(&[0, 4]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 1 is placed on NIC 4, but the fabric has NICs 0 to 3"
    );
    let none = Placement::Linear.place(2, 0, Block, &mut FreeNics::all(4));
    assert_eq!(none, Err(PlacementError::NoTasks));
}

/// The ranks of an order go to the slots of ascending NICs, under either distribution.
#[test]
fn a_rank_order_fills_the_slots_of_the_nics() {
    let place = |order: &[u32], distribution| {
        let order = Placement::RankOrder(order.to_vec());
        order.place(4, 2, distribution, &mut FreeNics::all(4))
    };
    assert_eq!(place(&[3, 0, 2, 1], Block).unwrap(), nics([0, 1, 1, 0]));
    assert_eq!(place(&[3, 0, 2, 1], Cyclic).unwrap(), nics([1, 1, 0, 0]));
    for (order, part) in [
        (&[0, 1, 2][..], "has 3 ranks, but the job has 4"),
        (&[0, 1, 2, 2], "has rank 2 twice"),
        (&[0, 1, 2, 4], "has rank 4 that the job has not"),
    ] {
        let error = place(order, Block).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
