//! Timed scripts for the oracle: input queues against hot flows, computed by hand from §15 of
//! `docs/model/infiniband.md`.

use crate::common::infiniband::{static_pool, voq_fabric, voq_of};
use crate::common::script::{Cue, Script, message};
use flitwise::fabric::spec::voq::{InputQueues, Isolation};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::workload::Message;
use flitwise_oracles::voq::{self as oracle_ib, End, IbRun, RunEnd};

fn single(queues: InputQueues) -> FabricSpec {
    let mut spec = voq_fabric(Topology::single(8).unwrap());
    voq_of(&mut spec).input_queues = queues;
    spec
}

/// Two congested-flow queues, with these thresholds to detect, stop and go on.
fn isolating(thresholds: [u32; 3]) -> FabricSpec {
    let mut spec = single(InputQueues::Isolating);
    voq_of(&mut spec).isolation = Some(Isolation::even(2, 2, thresholds));
    spec
}

/// Ticks in which headers left `from`, and the ticks in which it waited for credits.
fn sent(spec: &FabricSpec, lines: &[(Tick, Message)], from: End) -> (Vec<Tick>, Tick) {
    let lines = lines
        .iter()
        .map(|&(tick, message)| (Cue::At(tick), message));
    let run: IbRun = oracle_ib::run(spec, &mut Script::new(lines), 100_000);
    assert_eq!(run.end, RunEnd::Drained);
    let sent = run.sent.iter().filter(|d| d.from == from);
    let link = run.links.iter().find(|link| link.from == from).unwrap();
    (sent.map(|d| d.tick).collect(), link.credit_wait)
}

#[test]
fn each_destination_has_credits_of_its_own() {
    let lines = [
        (0, message(0, 1, 3, 0, 256)),
        (0, message(1, 1, 4, 0, 256)),
        (0, message(2, 1, 4, 0, 256)),
    ];
    let sent = |queues| {
        let mut spec = single(queues);
        // One packet.
        voq_of(&mut spec).buffers.input = static_pool(2, 4);
        sent(&spec, &lines, End::Nic(1))
    };
    // The first packet is granted at 6 and crosses in 7-10: its last credit is seen at 10 + 1 + 3.
    // The next packet is 14 ticks behind it, and waits from 4 on.
    assert_eq!(
        sent(InputQueues::VirtualOutput),
        (vec![0, 14, 28], 2 * (14 - 4))
    );
    // The second packet has credits of its own, as soon as the engine has fetched the first. The third has
    // to wait for them from 8 on.
    assert_eq!(sent(InputQueues::PerFlow), (vec![0, 4, 18], 18 - 8));
}

/// As `head_of_a_fifo_blocks_the_packets_behind_it` of `oracle_ib_scripts`: the packet for NIC 4 is ready at 10,
/// behind one that waits until 14.
#[test]
fn a_full_fifo_gives_the_flow_of_its_head_a_queue() {
    let lines = [
        (0, message(0, 1, 3, 0, 512)),
        (0, message(1, 2, 3, 0, 256)),
        (0, message(2, 2, 4, 0, 256)),
    ];
    let left = |detect| {
        let mut spec = isolating([detect, 64, 0]);
        spec.qos.service_levels[0].mtu_bytes = 512;
        sent(&spec, &lines, End::Port { switch: 0, port: 4 })
    };
    // At 6 the FIFO holds 4 credits, at 10 it holds 8, if the first packet is not isolated before.
    for detect in [1, 4, 5, 8] {
        assert_eq!(left(detect), (vec![13], 0), "{detect}");
    }
    assert_eq!(left(9), (vec![21], 0));
}

#[test]
fn a_stop_and_a_go_take_the_latency_of_the_link() {
    let sent = |thresholds, more: &[(Tick, Message)]| {
        let first = [(0, message(0, 1, 3, 0, 256)), (0, message(1, 2, 3, 0, 256))];
        let lines = [&first, more].concat();
        sent(&isolating(thresholds), &lines, End::Nic(2))
    };
    // Both packets are isolated at 6, and stop their flow. That of NIC 1 goes on in the same tick. The other is granted
    // at 10, when the output is idle again. So NIC 2 sees its stop at 6 + 1 + 3 and its go at 10 + 1 + 3.
    let hot = [(10, message(2, 2, 3, 0, 256))];
    assert_eq!(sent([1, 4, 0], &hot), (vec![0, 14], 4));
    // It is not isolated, or fills no queue.
    assert_eq!(sent([5, 1, 0], &hot), (vec![0, 10], 0));
    assert_eq!(sent([1, 5, 0], &hot), (vec![0, 10], 0));
    // Another flow passes; its queue pair has its turn first anyway, and the engine is busy until 13.
    let both = [(9, message(2, 2, 3, 0, 256)), (9, message(3, 2, 4, 0, 256))];
    assert_eq!(sent([1, 4, 0], &both), (vec![0, 9, 14], 1));
}
