//! The engine against the oracle: on random fabrics and traffic every packet
//! must leave and arrive in the same tick in both.

mod common;
mod oracle;

use common::random::{Kind, config, fabric, script, traffic};
use common::script::{Script, jam};
use common::specs::jamming_ring;
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::FabricSpec;
use proptest::prelude::*;

/// Runs both and compares all that they tell the workload, and how they end.
fn compare(spec: &FabricSpec, script: &Script) -> Result<(), TestCaseError> {
    let mut for_oracle = script.clone();
    let oracle = oracle::run(spec, &mut for_oracle, 2_000_000);
    let mut for_engine = script.clone();
    let mut engine = Engine::new(spec).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let end = match engine.run(&mut for_engine) {
        RunEnd::Finished => oracle::RunEnd::Finished,
        RunEnd::Drained => oracle::RunEnd::Drained,
        _ => oracle::RunEnd::Stalled,
    };
    let (told_oracle, told_engine) = (for_oracle.told(), for_engine.told());
    let first = told_engine
        .packets
        .iter()
        .zip(&told_oracle.packets)
        .find(|(e, o)| e != o);
    prop_assert_eq!(
        first,
        None,
        "the first packet that differs: (engine, oracle)"
    );
    prop_assert_eq!(told_engine, told_oracle);
    prop_assert_eq!(end, oracle.end);
    let stats = engine.stats();
    prop_assert_eq!(stats.messages, oracle.messages);
    prop_assert_eq!(stats.messages_delivered, oracle.messages_delivered);
    if oracle.end == oracle::RunEnd::Drained {
        // In a run cut short the engine may count a packet ahead of its flits.
        prop_assert_eq!(stats.flits_injected, oracle.flits_injected);
        prop_assert_eq!(stats.flits_delivered, oracle.flits_delivered);
        prop_assert_eq!(stats.flit_hops, oracle.flit_hops);
        prop_assert_eq!(stats.host_flit_hops, oracle.host_flit_hops);
    }
    Ok(())
}

#[test]
fn jammed_ring_agrees() {
    compare(&jamming_ring(), &jam()).unwrap();
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn sound_fabrics_agree(spec in fabric(Kind::Sound), traffic in traffic()) {
        compare(&spec, &script(&spec, &traffic))?;
    }

    #[test]
    fn any_fabrics_agree_even_when_they_deadlock(spec in fabric(Kind::Any), traffic in traffic()) {
        compare(&spec, &script(&spec, &traffic))?;
    }

    #[test]
    fn runs_cut_short_agree(
        spec in fabric(Kind::Sound),
        traffic in traffic(),
        deliveries in 1usize..=20,
    ) {
        compare(&spec, &script(&spec, &traffic).stop_after(deliveries))?;
    }
}
