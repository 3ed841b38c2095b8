//! Every queueing scheme on every kind of topology and switch, with all `paths`: free of deadlock, or refused for a reason that
//! `docs/model/queueing.md` gives. The table in `docs/log/check-matrix.md` is what this finds; `FLITWISE_BLESS=1` writes it.

use crate::common::bless;
use crate::common::data::own;
use crate::fabric_analysis::{cycle_of, routes_of};
use flitwise::config::load_fabric;
use flitwise::fabric::spec::FabricSpec;
use std::collections::BTreeSet;

/// Names in the table, and topologies.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("single", "kind=\"single\",nics=8"),
    ("torus 3×3×3", "kind=\"torus\",dimensions=[3,3,3]"),
    ("torus 5×4", "kind=\"torus\",dimensions=[5,4],trunk=2"),
    ("mesh 3×4", "kind=\"mesh\",dimensions=[3,4]"),
    ("k-ary-n-tree", "kind=\"k-ary-n-tree\",k=2,n=3"),
    (
        "xgft",
        "kind=\"xgft\",down=[2,2,3],up=[1,2,2],parallel=[1,1,2]",
    ),
    (
        "fat-tree",
        "kind=\"fat-tree\",levels=2,radix=6,oversubscription=2",
    ),
    ("dragonfly, palm-tree", "kind=\"dragonfly\",p=1,a=3,h=1"),
    (
        "dragonfly, consecutive",
        "kind=\"dragonfly\",p=1,a=3,h=1,arrangement=\"consecutive\"",
    ),
    (
        "dragonfly, relative",
        "kind=\"dragonfly\",p=1,a=3,h=1,arrangement=\"relative\"",
    ),
    ("hyperx", "kind=\"hyperx\",dimensions=[3,3]"),
    ("slim-fly", "kind=\"slim-fly\",q=3,p=1"),
    ("megafly", "kind=\"megafly\",p=1,s=2,h=1"),
    ("kns, s = 1", "kind=\"kns\",k=3,n=2"),
    ("kns, s = 2", "kind=\"kns\",k=4,n=2,s=2"),
    (
        "graph (a tree)",
        "kind=\"graph\",switches=3,links=[[0,2,1,2],[1,3,2,3]],nics=[[0,0],[0,1],[1,0],[2,0],[2,1]]",
    ),
];

/// Names in the table, and keys of `[qos]`. Queues are few, so that all classes have VLs on `voq` switches.
const SCHEMES: &[(&str, &[&str])] = &[
    ("one-queue", &[]),
    ("dbbm", &["queues=2"]),
    ("voqnet", &[]),
    ("bbq", &["queues=2"]),
    ("flow2sl", &["queues=2"]),
    ("vftree", &["queues=2"]),
    ("voqsw", &[]),
    ("obqa", &["queues=2"]),
    ("iodet", &[]),
    ("h2lq", &["queues=2", "escape_queues=2"]),
    ("sf2lq", &["queues=2", "escape_queues=2"]),
];

/// A letter in the table, and `paths`.
const PATHS: &[(char, &[&str])] = &[
    ('M', &["minimal"]),
    ('V', &["valiant"]),
    // Both have the same graph.
    ('U', &["ugal-l", "ugal-g"]),
    ('P', &["par"]),
];

/// Kinds of switch, and presets for them.
const SWITCHES: &[(&str, &str)] = &[
    ("hierarchical", "opa-gen1"),
    ("voq", "ib-qdr"),
    ("input-queued", "sauron"),
];

/// What refusals say that the page gives reasons for.
const REASONS: &[&str] = &[
    "needs a tree",
    "a topology with dimensions",
    "a dragonfly",
    "two VL classes",
    // More VLs or queues than there are.
    "VLs",
    "a queue for each NIC",
    "queues in each of",
    "the destination alone must decide",
    "\"par\" also asks at switches without NICs",
];

fn fabric(switch: &str, topology: &str, paths: &str, qos: &[String]) -> Result<FabricSpec, String> {
    let mut sets = vec![
        format!("fabric.preset={switch}"),
        format!("fabric.topology={{{topology}}}"),
        format!("fabric.paths={paths}"),
        "qos.service_levels=[{name=\"a\",mtu=\"256B\"}]".to_owned(),
    ];
    sets.extend(qos.iter().map(|set| format!("qos.{set}")));
    let loaded = load_fabric(None, &sets).map_err(|e| e.to_string())?;
    loaded.fabric.validate().map_err(|e| e.to_string())?;
    Ok(loaded.fabric)
}

/// The `paths` with which a scheme is free of deadlock, a letter each.
fn cell(switch: &str, topology: &str, (scheme, keys): (&str, &[&str])) -> String {
    let mut qos = vec![format!("vl_policy={scheme}")];
    qos.extend(keys.iter().map(|&key| key.to_owned()));
    let mut letters = String::new();
    for &(letter, paths) in PATHS {
        let works: BTreeSet<bool> = paths
            .iter()
            .map(|paths| match fabric(switch, topology, paths, &qos) {
                Ok(spec) => {
                    let routes = routes_of(&spec);
                    assert_eq!(routes.connected(), routes.pairs);
                    let cycle = cycle_of(&spec);
                    assert_eq!(cycle, None, "{scheme}, {paths} on {switch}, {topology}");
                    true
                }
                Err(error) => {
                    let has_reason = REASONS.iter().any(|reason| error.contains(reason));
                    assert!(
                        has_reason,
                        "{scheme}, {paths} on {switch}, {topology}: {error}"
                    );
                    false
                }
            })
            .collect();
        assert_eq!(
            works.len(),
            1,
            "{paths:?}: {scheme} on {switch}, {topology}"
        );
        if works.contains(&true) {
            letters.push(letter);
        }
    }
    letters
}

/// A table for each kind of switch.
fn tables() -> String {
    let names: Vec<&str> = SCHEMES.iter().map(|(name, _)| *name).collect();
    let mut text = String::new();
    for (kind, preset) in SWITCHES {
        text.push_str(&format!("| `{kind}` | {} |\n", names.join(" | ")));
        text.push_str(&format!("|---|{}\n", "---|".repeat(names.len())));
        for (name, topology) in TOPOLOGIES {
            let cells = SCHEMES.iter().map(|&scheme| cell(preset, topology, scheme));
            let cells: Vec<String> = cells.collect();
            text.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_page_shows_which_schemes_are_free_of_deadlock() {
    const BEGIN: &str = "<!-- check matrix -->\n";
    const END: &str = "<!-- end of the check matrix -->\n";
    let path = own("docs/log/check-matrix.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark");
    let (shown, after) = rest.split_once(END).expect("the page has the end mark");
    let found = format!("\n{}", tables());
    if bless::is_on() {
        bless::write(&path, &format!("{before}{BEGIN}{found}{END}{after}"));
        return;
    }
    assert_eq!(shown, found, "FLITWISE_BLESS=1 writes what holds");
}

/// The fabric with all VL classes on the VLs of the first one.
fn without_classes(mut spec: FabricSpec) -> FabricSpec {
    let scs = &spec.qos.service_levels[0].scs;
    let queues = scs.len() / usize::from(spec.routing.paths.classes(spec.topology.vl_classes()));
    for (position, &sc) in scs.iter().enumerate() {
        let first = spec.qos.sc2vl[usize::from(scs[position % queues])];
        spec.qos.sc2vl[usize::from(sc)] = first;
    }
    spec
}

/// The controls: where VL classes are taken away, the check shows a cycle, on every kind of switch.
#[test]
fn without_their_classes_fabrics_have_cycles() {
    let classes = [
        "torus 5×4",
        "dragonfly, palm-tree",
        "dragonfly, relative",
        "slim-fly",
    ];
    let qos = ["vl_policy=dbbm".to_owned(), "queues=1".to_owned()];
    for (_, preset) in SWITCHES {
        for (name, topology) in TOPOLOGIES {
            for paths in ["minimal", "valiant", "ugal-l"] {
                let spec = fabric(preset, topology, paths, &qos).unwrap();
                if *name == "single" || paths == "minimal" && !classes.contains(name) {
                    continue;
                }
                let flat = without_classes(spec);
                assert!(cycle_of(&flat).is_some(), "{preset}, {name}, {paths}");
            }
        }
    }
}

/// H2LQ and SF2LQ on the VLs of their standard network alone.
#[test]
fn without_escape_networks_schemes_have_cycles() {
    for (scheme, topology) in [("h2lq", 7), ("sf2lq", 11)] {
        let qos = ["queues=1", "escape_queues=1"].map(str::to_owned);
        let qos: Vec<_> = [format!("vl_policy={scheme}")]
            .into_iter()
            .chain(qos)
            .collect();
        for (_, preset) in SWITCHES {
            let mut spec = fabric(preset, TOPOLOGIES[topology].1, "minimal", &qos).unwrap();
            assert_eq!(cycle_of(&spec), None);
            let scs = spec.qos.service_levels[0].scs.clone();
            let standard = spec.qos.sc2vl[usize::from(scs[0])];
            spec.qos.sc2vl[usize::from(scs[1])] = standard;
            assert!(cycle_of(&spec).is_some(), "{scheme}, {preset}");
        }
    }
}

/// PAR is refused on megaflies and KNS for a reason: detours from their switches without NICs make cycles.
#[test]
fn par_would_have_cycles_where_it_is_refused() {
    const SWITCH: &str = "ib-qdr";
    let qos = ["vl_policy=dbbm", "queues=1"].map(str::to_owned);
    for (name, topology) in &TOPOLOGIES[12..15] {
        let refused = fabric(SWITCH, topology, "par", &qos).unwrap_err();
        assert!(refused.contains("\"par\" also asks"), "{refused}");
        // A HyperX has one VL class on each leg, too.
        let mut spec = fabric(SWITCH, TOPOLOGIES[10].1, "par", &qos).unwrap();
        assert_eq!(cycle_of(&spec), None);
        spec.topology = (fabric(SWITCH, topology, "minimal", &qos).unwrap()).topology;
        assert!(cycle_of(&spec).is_some(), "{name}");
    }
}
