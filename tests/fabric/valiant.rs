//! Valiant routing (`docs/model/fabric.md` §7): its experiment keys, its freedom from deadlock, and what it
//! is for: traffic that minimal paths send over a single link.

use crate::common::script::{Cue, Script, accepted_load, message};
use flitwise::config::load_fabric;
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::spec::FabricSpec;

const TOPOLOGIES: [&str; 5] = [
    "kind=\"torus\",dimensions=[4,4]",
    "kind=\"mesh\",dimensions=[3,4],trunk=2",
    "kind=\"dragonfly\",p=2,a=4,h=2",
    "kind=\"k-ary-n-tree\",k=3,n=3",
    "kind=\"graph\",switches=3,links=[[0,2,1,2],[1,3,2,3],[2,2,0,3]],nics=[[0,0],[1,0],[2,0]]",
];

/// The fabric of a preset with these settings.
fn fabric(preset: &str, topology: &str, others: &[&str]) -> Result<FabricSpec, String> {
    let mut sets = vec![
        format!("fabric.preset={preset}"),
        format!("fabric.topology={{{topology}}}"),
    ];
    sets.extend(others.iter().map(|set| (*set).to_owned()));
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string())?;
    loaded.fabric.validate().map_err(|e| e.to_string())?;
    Ok(loaded.fabric)
}

/// Without headers the flits of a packet take a link for as long as its bytes do.
const NO_HEADER: &str = "fabric.header=0B";
const VALIANT: &str = "fabric.paths=valiant";

/// Every NIC of a dragonfly of 9 groups with 8 NICs sends to the next group, over one global link
/// if paths are minimal. Accepted load per NIC in flits per cycle.
fn to_the_next_group(spec: &FabricSpec) -> f64 {
    let nics = spec.topology.nics();
    let lines = (0..nics).map(|src| {
        let bytes = 200_000;
        (
            Cue::At(0),
            message(src.into(), src, (src + 8) % nics, 0, bytes),
        )
    });
    accepted_load(spec, Script::new(lines))
}

/// A global link carries the packets of eight NICs at most as fast as one. By Valiant each group's
/// eight global links share them, which each leg uses: at most one half (Kim, Dally, Scott, Abts,
/// "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.2).
#[test]
fn detours_spread_what_one_global_link_would_carry() {
    for preset in ["opa-gen1", "ib-qdr"] {
        let [minimal, valiant] = ["fabric.paths=minimal", VALIANT].map(|paths| {
            to_the_next_group(&fabric(preset, TOPOLOGIES[2], &[paths, NO_HEADER]).unwrap())
        });
        println!("{preset}: minimal {minimal:.4}, valiant {valiant:.4}");
        assert!((0.11..=0.125).contains(&minimal), "{preset}: {minimal}");
        assert!((0.25..=0.5).contains(&valiant), "{preset}: {valiant}");
    }
}

/// No cycle with the VLs of the default service levels, and one as soon as the legs share them.
#[test]
fn legs_on_vls_of_their_own_cannot_deadlock() {
    let has_cycle = |spec: &FabricSpec| {
        let routes = RouteAnalysis::new(spec, spec).unwrap();
        assert_eq!(routes.connected(), routes.pairs);
        ChannelGraph::new(spec, &routes).unwrap().cycle().is_some()
    };
    for preset in ["opa-gen1", "ib-qdr"] {
        for topology in TOPOLOGIES {
            let mut spec = fabric(preset, topology, &[VALIANT]).unwrap();
            assert!(!has_cycle(&spec), "{preset}, {topology}");
            for vl in spec.qos.sc2vl.iter_mut().flatten() {
                *vl %= spec.topology.vl_classes();
            }
            assert!(
                has_cycle(&spec),
                "{preset}, {topology}: on the VLs of one leg"
            );
        }
    }
}

/// Uniform traffic saturates at N/2 (N − 1) of what minimal paths allow: Valiant's price.
#[test]
fn the_uniform_bound_halves() {
    for topology in TOPOLOGIES {
        let bound = |paths: &str| {
            let spec = fabric("opa-gen1", topology, &[paths]).unwrap();
            let routes = RouteAnalysis::new(&spec, &spec).unwrap();
            let (_, pairs) = routes.busiest_link().unwrap();
            let nics = u64::from(spec.topology.nics());
            (pairs as f64 / routes.share as f64, nics as f64)
        };
        let (minimal, nics) = bound("fabric.paths=minimal");
        let (valiant, _) = bound(VALIANT);
        let expected = 2.0 * (nics - 1.0) / nics * minimal;
        assert!((valiant - expected).abs() < 1e-9, "{topology}");
    }
}

#[test]
fn what_names_the_path_itself_is_refused() {
    let graph = TOPOLOGIES[4];
    let refused = |sets: &[&str]| fabric("ib-qdr", graph, sets).unwrap_err();
    let tables = "fabric.forwarding=[[0,2,3],[2,0,3],[2,3,0]]";
    let error = refused(&[VALIANT, tables]);
    assert!(
        error.contains("fabric.paths: forwarding tables name the whole path"),
        "{error}"
    );
    let error = refused(&[VALIANT, "fabric.sl2vl=[0]"]);
    assert!(
        error.contains("fabric.paths: paths of several legs need VL classes"),
        "{error}"
    );
    let error = refused(&["fabric.paths=longest"]);
    assert!(
        error.contains("minimal") && error.contains("valiant"),
        "{error}"
    );
}
