//! Fabrics with aggregation nodes: the engine against the oracles, with messages along the tree beside others.

use crate::common::random::{self, Kind, config};
use crate::common::random_infiniband;
use crate::common::script::{Cue, Script, message};
use crate::{compare, engine_vs_oracle_ib};
use flitwise::fabric::ids::{NicId, SwitchId};
use flitwise::fabric::spec::{FabricSpec, Paths, UpPorts};
use flitwise::fabric::topology::Neighbour;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// A message before it fits: its tick, ends, service level and bytes.
type Raw = (u64, (u8, u32, u32), u8, u64);

fn traffic() -> impl Strategy<Value = Vec<Raw>> {
    let ends = (0u8..6, any::<u32>(), any::<u32>());
    let bytes = prop_oneof![Just(0u64), 1u64..600];
    vec((0u64..200, ends, any::<u8>(), bytes), 1..60)
}

/// The ends of a message: between a NIC and its internal link, between links of neighbours in the tree, or
/// between two NICs.
fn ends(spec: &FabricSpec, (kind, a, b): (u8, u32, u32)) -> Option<(NicId, NicId)> {
    let topology = &spec.topology;
    let all = topology.aggregation()?;
    let nic = NicId::new(a % topology.nics());
    let own = all.facing(topology.attachment(nic).switch, Neighbour::Nic(nic));
    let switch = SwitchId::new(a % topology.switches());
    let up = || {
        let parent = all.parent(switch)?;
        let own = all.facing(switch, Neighbour::Switch(parent));
        Some((own, all.facing(parent, Neighbour::Switch(switch))))
    };
    match kind {
        0 => Some((nic, own)),
        1 => Some((own, nic)),
        2 | 3 => up(),
        4 => up().map(|(own, above)| (above, own)),
        _ => Some((nic, NicId::new(b % topology.nics()))),
    }
}

fn script(spec: &FabricSpec, raw: &[Raw]) -> Script {
    let sls = spec.qos.service_levels.len() as u8;
    let lines = raw.iter().filter_map(|&(tick, raw, sl, bytes)| {
        let (src, dst) = ends(spec, raw).filter(|(src, dst)| src != dst)?;
        Some((tick, src.get(), dst.get(), sl % sls, bytes))
    });
    let line = |(token, (tick, src, dst, sl, bytes))| {
        let mut message = message(token, src, dst, sl, bytes);
        message.report_injection = token % 2 == 0;
        (Cue::At(tick), message)
    };
    Script::new((0..).zip(lines).map(line))
}

/// Tries random fabrics, and asserts that enough of them take aggregation nodes.
fn agree(
    fabrics: impl Strategy<Value = FabricSpec>,
    cases: u32,
    check: impl Fn(&FabricSpec, &Script) -> Result<(), TestCaseError>,
) {
    let taken = Cell::new(0);
    let mut config = config(cases);
    config.source_file = Some(file!());
    let cases = config.cases;
    let links = prop_oneof![Just(None), (1_u32..5).prop_map(Some)];
    let run =
        TestRunner::new(config).run(&(fabrics, links, traffic()), |(mut spec, links, raw)| {
            spec.routing.paths = Paths::Minimal;
            spec.routing.up_ports = UpPorts::Destination;
            if spec.validate().is_err() {
                return Ok(());
            }
            let Ok(spec) = spec.with_aggregation(links) else {
                return Ok(());
            };
            taken.set(taken.get() + 1);
            prop_assert_eq!(spec.validate().err().map(|e| e.to_string()), None);
            check(&spec, &script(&spec, &raw))
        });
    run.unwrap();
    assert!(3 * taken.get() > cases, "{} of {cases}", taken.get());
}

#[test]
fn trees_of_hierarchical_switches_agree() {
    agree(random::fabric(Kind::Sound), 200, |spec, script| {
        compare::compare(spec, script).map(|_| ())
    });
}

#[test]
fn trees_of_tabled_fabrics_agree() {
    agree(random::table_fabric(Kind::Sound), 100, |spec, script| {
        compare::compare(spec, script).map(|_| ())
    });
}

#[test]
fn trees_of_infiniband_switches_agree() {
    agree(random_infiniband::fabric(), 300, |spec, script| {
        engine_vs_oracle_ib::compare(spec, script, None).map(|_| ())
    });
}
