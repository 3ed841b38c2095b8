//! Every preset on every topology, and what its defaults take from the fabric.

use flitwise::config::{ConfigError, Plan, experiment_keys, resolve_text};
use flitwise::fabric::topology::example;
use std::path::Path;

const JOB: &str = "job = [{ trace = \"tiny.vef\" }]\n";

fn plan_with(text: &str, sets: &[&str]) -> Result<Plan, ConfigError> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    resolve_text("test.toml", text, &corpus, &sets)
}

/// Every kind of topology has an example, which is a topology.
#[test]
fn every_kind_of_topology_has_an_example() {
    let keys = experiment_keys();
    let kind = keys.iter().find(|key| key.path == "fabric.topology.kind");
    let kinds = &kind.unwrap().words;
    assert!(kinds.len() > 10);
    for kind in kinds.iter().map(|word| word.text.as_str()) {
        let text = format!("fabric.topology = {}\n{JOB}", example(kind).unwrap());
        match plan_with(&text, &[]) {
            Ok(plan) => assert!(plan.experiment.fabric.topology.nics() >= 2, "{kind}"),
            // It names a file.
            Err(e) => assert!(
                kind == "ibnetdiscover" && e.to_string().contains("no such file"),
                "{kind}: {e}"
            ),
        }
        let e = plan_with(JOB, &[&format!("fabric.topology={kind}")]).unwrap_err();
        assert!(e.to_string().contains(&example(kind).unwrap()), "{e}");
        let e = plan_with(JOB, &[&format!("fabric.topology={{kind=\"{kind}\"}}")]).unwrap_err();
        assert!(e.to_string().contains(&example(kind).unwrap()), "{e}");
    }
}

/// The defaults of a preset fit every topology: what a switch with many neighbours needs follows from the fabric.
#[test]
fn every_preset_works_on_every_topology() {
    let topologies = [
        "{ kind = 'single', nics = 2 }",
        "{ kind = 'single', nics = 120 }",
        "{ kind = 'torus', dimensions = [4, 4] }",
        "{ kind = 'torus', dimensions = [8, 8, 8], concentration = 4, trunk = 2 }",
        "{ kind = 'torus', dimensions = [3, 3, 3, 3, 3] }",
        "{ kind = 'mesh', dimensions = [16] }",
        "{ kind = 'mesh', dimensions = [4, 4, 4], concentration = 16 }",
        "{ kind = 'k-ary-n-tree', k = 2, n = 2 }",
        "{ kind = 'k-ary-n-tree', k = 8, n = 4 }",
        "{ kind = 'k-ary-n-tree', k = 16, n = 3 }",
        "{ kind = 'k-ary-n-tree', k = 32, n = 2 }",
        "{ kind = 'xgft', down = [18, 36], up = [1, 18] }",
        "{ kind = 'xgft', down = [18, 18, 6], up = [1, 18, 3], parallel = [1, 1, 6] }",
        "{ kind = 'fat-tree', levels = 3, radix = 48 }",
        "{ kind = 'fat-tree', levels = 2, radix = 48, oversubscription = 3 }",
        "{ kind = 'dragonfly', p = 2, a = 4, h = 2 }",
        "{ kind = 'dragonfly', p = 8, a = 16, h = 8, groups = 17 }",
        "{ kind = 'hyperx', dimensions = [8, 8], concentration = 8 }",
        "{ kind = 'hyperx', dimensions = [24, 24], concentration = 16 }",
        "{ kind = 'slim-fly', q = 5 }",
        "{ kind = 'slim-fly', q = 17 }",
        "{ kind = 'megafly', p = 4, s = 4, h = 4 }",
        "{ kind = 'megafly', p = 12, s = 12, h = 4, groups = 9 }",
        "{ kind = 'kns', k = 4, n = 2 }",
        "{ kind = 'kns', k = 16, n = 2, s = 2, concentration = 8 }",
        "{ kind = 'graph', switches = 2, nics = [[0, 0], [1, 0]], links = [[0, 1, 1, 1]] }",
    ];
    for preset in [
        "opa-gen1",
        "opa-400",
        "opasim",
        "ib-qdr",
        "ib-fdr",
        "ib-edr",
        "ib-hdr",
        "ib-ndr",
        "ib-xdr",
        "ib-qdr-648",
        "ib-ddr-testbed",
        "sauron",
    ] {
        for topology in topologies {
            let sets = [
                format!("fabric.preset={preset}"),
                format!("fabric.topology={topology}"),
            ];
            let plan = plan_with("background = [{ rate = 0.1 }]", &[&sets[0], &sets[1]]);
            let e = plan.map(drop);
            assert!(e.is_ok(), "{preset} on {topology}: {}", e.unwrap_err());
        }
    }
}

/// The usual central buffer grows where its queues need that; a size or a quota in the file stays as it is.
#[test]
fn central_buffers_follow_from_the_fabric() {
    let central = |more: &[&str]| {
        let mut sets = vec!["fabric.topology={ kind = 'k-ary-n-tree', k = 16, n = 3 }"];
        sets.extend(more);
        let plan = plan_with(JOB, &sets)?;
        Ok::<u32, ConfigError>(
            plan.experiment
                .fabric
                .hierarchical()
                .unwrap()
                .buffers
                .central
                .total,
        )
    };
    // In the middle a switch has 32 neighbours: 16 of each parity, of which 2 are of the buffer's own MPort. Each of 8 VLs has
    // a packet of 1 KiB for each of them, in credits of 64 B; 64 KiB have room for 8 neighbours.
    assert_eq!(central(&[]).unwrap(), 14 * 8 * 16);
    assert_eq!(central(&["qos.mtu=512B"]).unwrap(), 1024);
    for given in [
        "fabric.central_buffer=64KiB",
        "fabric.central_exclusive=1 packets",
    ] {
        let e = central(&[given]).unwrap_err().to_string();
        assert!(e.contains("queues towards 9 neighbours"), "{e}");
    }
}
