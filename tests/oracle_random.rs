//! The oracle on random fabrics: it checks its own invariants as it goes, and
//! what cannot deadlock delivers everything.

mod common;
mod oracle;

use common::random::{Kind, fabric, script, traffic};
use oracle::RunEnd;
use proptest::prelude::*;

const TICKS: u64 = 2_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_sound_fabric_delivers_everything(spec in fabric(Kind::Sound), traffic in traffic()) {
        let mut script = script(&spec, &traffic);
        let run = oracle::run(&spec, &mut script, TICKS);
        prop_assert_eq!(run.end, RunEnd::Drained);
        prop_assert_eq!(run.messages, traffic.1.len() as u64);
        prop_assert_eq!(run.flits_injected, run.flits_delivered);
        prop_assert_eq!(script.delivered.len(), traffic.1.len());
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
