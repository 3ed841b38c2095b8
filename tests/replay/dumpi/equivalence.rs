//! An application recorded as DUMPI and converted to VEF by another program sends the same messages.

use super::{calls, operations_of, set};
use crate::formats::data::own;
use flitwise::replay::mpi::Call;
use flitwise::replay::program::Action;
use flitwise::replay::trace::{ComputeTime, Reading};
use std::collections::BTreeMap;
use std::path::Path;

/// Sizes of the messages from a rank to a rank, in the order in which it sent them.
type Sent = BTreeMap<(u32, u32), Vec<u64>>;

fn sent_by_calls(trace: &Path) -> Sent {
    let reading = Reading {
        compute_time: Some(ComputeTime::Cpu),
        ..Reading::default()
    };
    let mut sent = Sent::new();
    for (from, ops) in (0..).zip(operations_of(trace, &reading)) {
        for call in calls(&ops) {
            if let Call::Send { to, bytes, .. } = call {
                sent.entry((from, to.get())).or_default().push(*bytes);
            }
        }
    }
    sent
}

fn sent_by_records(trace: &Path) -> Sent {
    let mut sent = Sent::new();
    for (from, ops) in (0..).zip(operations_of(trace, &Reading::default())) {
        for op in ops {
            if let Action::Send { to, bytes, .. } = op.action {
                sent.entry((from, to.get())).or_default().push(bytes);
            }
        }
    }
    sent
}

/// Computation of each rank in microseconds.
fn computed(trace: &Path, reading: &Reading) -> Vec<u64> {
    let ranks = operations_of(trace, reading);
    let sum = |ops: &Vec<flitwise::replay::program::Op>| {
        ops.iter().map(|op| op.compute_ps).sum::<u64>() / 1_000_000
    };
    ranks.iter().map(sum).collect()
}

#[test]
fn dumpi_and_its_vef_send_the_same_messages() {
    for name in ["gromacs_water-16", "hpl-16", "lulesh-27", "randomaccess-16"] {
        let Some(dumpi) = set(name) else { return };
        let vef = own(&format!("traces/{name}.vef.gz"));
        let (of_dumpi, of_vef) = (sent_by_calls(&dumpi), sent_by_records(&vef));
        let pairs = |sent: &Sent| sent.keys().copied().collect::<Vec<_>>();
        assert_eq!(pairs(&of_dumpi), pairs(&of_vef), "{name}");
        for (pair, sizes) in &of_dumpi {
            assert_eq!(sizes, &of_vef[pair], "{name}: {pair:?}");
        }
        let reading = Reading {
            compute_time: Some(ComputeTime::Cpu),
            ..Reading::default()
        };
        let sums = [
            computed(&dumpi, &reading),
            computed(&vef, &Reading::default()),
        ];
        println!("{name}: computation {sums:?} us");
    }
}
