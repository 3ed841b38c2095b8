//! The oracle on random fabrics: it checks its own invariants as it goes, and
//! what cannot deadlock delivers everything.

mod common;
mod oracle;

use common::random::{Kind, config, fabric, script, traffic};
use oracle::RunEnd;
use proptest::prelude::*;

const TICKS: u64 = 2_000_000;

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_sound_fabric_delivers_everything(spec in fabric(Kind::Sound), traffic in traffic()) {
        let mut script = script(&spec, &traffic);
        let messages = script.messages_left();
        let run = oracle::run(&spec, &mut script, TICKS);
        prop_assert_eq!(run.end, RunEnd::Drained);
        prop_assert_eq!(run.messages, messages as u64);
        prop_assert_eq!(run.flits_injected, run.flits_delivered);
        prop_assert_eq!(script.delivered.len(), messages);
        prop_assert_eq!(&script.packets, &run.reports);
        // With everything delivered, every flit took two host links.
        prop_assert_eq!(run.host_flit_hops, 2 * run.flits_injected);
    }

    #[test]
    fn any_fabric_keeps_the_invariants(spec in fabric(Kind::Any), traffic in traffic()) {
        let mut script = script(&spec, &traffic);
        let run = oracle::run(&spec, &mut script, TICKS);
        prop_assert!(run.end != RunEnd::OutOfTicks);
    }
}
