//! Bursts, in which far more messages wait at their NICs than the engine keeps whole: the engine against the
//! oracles.

use crate::common::infiniband::{
    control, static_pool, voq_fabric, voq_of, with_hierarchical_switches,
};
use crate::common::script::{Cue, Script, message};
use crate::compare::compare_sampled;
use crate::engine_vs_oracle_ib::compare;
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::topology::Topology;

/// Nine NICs at three switches, with two service levels.
fn fabric(controlled: bool) -> FabricSpec {
    let mut spec = voq_fabric(Topology::cube(&[3], false, 3, 1, None).unwrap());
    voq_of(&mut spec).buffers.input = static_pool(2, 24);
    if controlled {
        spec.congestion_control = Some(Box::new(control(12, 1, 2000)));
    }
    spec
}

/// Every NIC sends `rounds` messages to every other, the next one first: all in tick 0, but every seventh later.
/// Some are empty, and most have one packet. Some are too long for the short form of a message, or their injection is
/// reported.
fn all_to_all(rounds: u64) -> Script {
    let pairs = (0..9u32).flat_map(move |src| {
        let others = (1..9u32).map(move |step| (src, (src + step) % 9));
        std::iter::repeat_n(others, rounds as usize).flatten()
    });
    Script::new(pairs.zip(0u64..).map(|((src, dst), token)| {
        let bytes = match token % 11 {
            0 => 0,
            1 => 3_000,
            2 => 700,
            _ => 20 + token % 5,
        };
        let tick = if token % 7 == 6 { 40 * (token % 50) } else { 0 };
        // Some names do not fit into 32 bits.
        let token = if token % 13 == 5 { token << 40 } else { token };
        let mut message = message(token, src, dst, (token % 3 / 2) as u8, bytes);
        message.report_injection = token % 4 == 1;
        (Cue::At(tick), message)
    }))
}

#[test]
fn bursts_agree_on_voq_fabrics() {
    for controlled in [false, true] {
        for rounds in [1, 5] {
            compare(&fabric(controlled), &all_to_all(rounds), Some(300)).unwrap();
        }
    }
}

#[test]
fn bursts_agree_on_hierarchical_fabrics() {
    for controlled in [false, true] {
        let spec = with_hierarchical_switches(fabric(controlled));
        for rounds in [1, 5] {
            compare_sampled(&spec, &all_to_all(rounds), Some(300)).unwrap();
        }
    }
}
