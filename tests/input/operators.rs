//! What operators call the parts of their fabric: names, GUIDs and LIDs as input, speeds of links from a
//! dump, and what a file says about itself.

use super::subnet::{End, Host, Subnet, Switch};
use flitwise::config::{experiment_hash, resolve_text};
use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::stats::LinkEnd;
use flitwise::units::Ratio;
use std::path::Path;

/// Four hosts at two switches; the last host has a slower link, and one cable between the switches.
fn cables() -> String {
    Subnet {
        switches: &[
            Switch {
                name: "leaf one",
                lid: 6,
            },
            Switch {
                name: "spine",
                lid: 7,
            },
        ],
        hosts: &[1, 2, 3, 4].map(|n| Host {
            name: ["n1 HCA-1", "n2 HCA-1", "n3 HCA-1", "n4 HCA-1"][n - 1],
            port_guid: 0x10 + n as u64,
            ports: 1,
            lid: n as u16,
            lmc: 0,
        }),
        cables: &[
            ([End::Switch(0, 1), End::Host(0, 1)], "4xEDR"),
            ([End::Switch(0, 2), End::Host(1, 1)], "4xEDR"),
            ([End::Switch(1, 1), End::Host(2, 1)], "4xEDR"),
            ([End::Switch(1, 2), End::Host(3, 1)], "4xQDR"),
            ([End::Switch(0, 5), End::Switch(1, 4)], "4xHDR"),
            ([End::Switch(0, 6), End::Switch(1, 5)], "4xHDR"),
            ([End::Switch(0, 7), End::Switch(1, 6)], "2xHDR"),
        ],
    }
    .text()
}

/// Files of launchers, good ones and bad ones.
const LAUNCHERS: [(&str, &str); 8] = [
    ("mpich", "n2:2\nn1:1\nn4\n"),
    (
        "ranks",
        "rank 1=n1 slot=0:1\nrank 0=n4 slot=1\n# third\nrank 3=+n2 slot=0-1\nrank 2=n4\n",
    ),
    ("twice", "rank 0=n1 slot=0\nrank 0=n2 slot=0\n"),
    ("gap", "rank 0=n1\nrank 2=n2\n"),
    ("mixed", "rank 0=n1\nn2\n"),
    ("order", "2,0\n1,3\n"),
    ("range", "3,0-2\n"),
    ("backwards", "0,3-1\n"),
];

/// A trace of four ranks.
const TRACE: &str = "VEF3 4 1 0 0 0 0 1000\n0 0 3 100 0 0 -1\n";

fn resolve(cables: &str, more: &str) -> Result<flitwise::config::Plan, String> {
    let topology = "{ kind = \"ibnetdiscover\", file = \"cables\" }";
    resolve_on(topology, cables, more)
}

fn resolve_on(topology: &str, cables: &str, more: &str) -> Result<flitwise::config::Plan, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("cables"), cables).unwrap();
    std::fs::write(dir.path().join("four.vef"), TRACE).unwrap();
    let hosts =
        "# our nodes\nn3 slots=2 max_slots=4\n\nn1 HCA-1:1  # by its full name\nlid 4\n0x11\n";
    std::fs::write(dir.path().join("hosts"), hosts).unwrap();
    std::fs::write(dir.path().join("numbers"), "3\n1\n2\n0\n").unwrap();
    for (name, text) in LAUNCHERS {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    std::fs::write(dir.path().join("typo"), "n1\nn9 slots=2\n").unwrap();
    std::fs::write(dir.path().join("slots"), "n1 slots=many\n").unwrap();
    let text = format!("[fabric]\nkind = \"voq\"\ntopology = {topology}\n{more}");
    resolve_text("test.toml", &text, dir.path(), &[]).map_err(|e| e.to_string())
}

fn placed(placement: &str) -> Result<Vec<u32>, String> {
    let job = format!("[[job]]\ntrace = \"four.vef\"\n{placement}\n");
    let plan = resolve(&cables(), &job)?;
    let nics = plan.experiment.place(&[4]).map_err(|e| e.to_string())?;
    Ok(nics[0].iter().map(|nic| nic.get()).collect())
}

#[test]
fn ranks_are_placed_by_the_names_of_hosts() {
    let list = "placement = { list = [\"n4\", \"0x10\", \"lid 2\", 2] }";
    assert_eq!(placed(list).unwrap(), [3, 0, 1, 2]);
    // Hosts of a file have slots, and more hosts than ranks may be listed.
    let file = "placement = { file = \"hosts\" }";
    assert_eq!(placed(file).unwrap(), [2, 2, 0, 3]);
    let numbers = "placement = { file = \"numbers\" }\ntasks_per_node = 2";
    assert_eq!(placed(numbers).unwrap(), [3, 3, 1, 1]);
    for (placement, part) in [
        (
            "{ list = [\"n9\"] }",
            "no host is called `n9`; give a name, a GUID",
        ),
        ("{ list = [] }", "the list is empty"),
        ("{ list = [0, 1, 2, 4] }", "NIC 4 does not exist"),
        ("{ list = [0, -1] }", "job.0.placement"),
        ("{ file = \"typo\" }", "typo:2: no host is called `n9`"),
        (
            "{ file = \"slots\" }",
            "slots:1: `many` is no number of slots",
        ),
        ("{ file = \"absent\" }", "absent"),
        ("{ hosts = [] }", "unknown key `hosts`"),
        ("{ file = \"twice\" }", "twice:2: rank `0` is given twice"),
        (
            "{ file = \"gap\" }",
            "gap:2: rank `2` is given twice, or not one of ranks 0 to 1",
        ),
        (
            "{ file = \"mixed\" }",
            "mixed:2: a line is `rank N=HOST slot=…`",
        ),
        ("{ file = \"backwards\" }", "backwards:1: `3-1` is no rank"),
        (
            "{ slurm = { nodes = \"n[1-9]\" } }",
            "no host is called `n5`",
        ),
        (
            "{ slurm = { nodes = \"n[1-\" } }",
            "the bracket is not closed",
        ),
        (
            "{ slurm = { nodes = \"n[1-4]\", tasks = \"2(x3)\" } }",
            "`2(x3)` does not have the tasks of 4 nodes",
        ),
        (
            "{ slurm = { nodes = \"n1,n2\", tasks = \"2(y2)\" } }",
            "`2(y2)` is no list of tasks",
        ),
        ("{ slurm = {} }", "nodes"),
    ] {
        let message = placed(&format!("placement = {placement}")).unwrap_err();
        assert!(message.contains(part), "{placement}: {message}");
    }
    for (key, file) in [
        ("ranks_per_nic = 2", "ranks"),
        ("distribution = \"block\"", "ranks"),
    ] {
        let both = placed(&format!("placement = {{ file = \"{file}\" }}\n{key}")).unwrap_err();
        assert!(both.contains("places every rank itself"), "{both}");
    }
    // Too few slots.
    let few = placed("placement = { list = [\"n1\"] }").unwrap_err();
    assert!(few.contains("4 ranks") || few.contains('4'), "{few}");
}

#[test]
fn launchers_place_ranks_in_their_own_forms() {
    let at = |placement: &str| placed(&format!("placement = {placement}")).unwrap();
    assert_eq!(at("{ file = \"mpich\" }"), [1, 1, 0, 3]);
    assert_eq!(
        at("{ file = \"mpich\" }\ndistribution = \"cyclic\""),
        [1, 0, 3, 1]
    );
    assert_eq!(at("{ file = \"ranks\" }"), [3, 0, 3, 2]);
    // Ranks 2 and 0 on the first NIC, 1 and 3 on the second.
    assert_eq!(at("{ file = \"order\" }\nranks_per_nic = 2"), [0, 1, 0, 1]);
    assert_eq!(at("{ file = \"range\" }"), [1, 2, 3, 0]);
    let slurm = "{ slurm = { nodes = \"n[3-4],n1\", tasks = \"1(x2),2\" } }";
    assert_eq!(at(slurm), [2, 3, 0, 0]);
    assert_eq!(
        at(&format!("{slurm}\ndistribution = \"cyclic\"")),
        [2, 3, 0, 0]
    );
    let pairs = "{ slurm = { nodes = \"n[3-4]\" } }\nranks_per_node = 2";
    assert_eq!(at(pairs), [2, 2, 3, 3]);
    assert_eq!(
        at(&format!("{pairs}\ndistribution = \"cyclic\"")),
        [2, 3, 2, 3]
    );
    // The names of the key, and the usual distribution of each placement.
    for key in ["ranks_per_nic", "ranks_per_node", "tasks_per_node"] {
        assert_eq!(at(&format!("\"linear\"\n{key} = 2")), [0, 0, 1, 1]);
        assert_eq!(at(&format!("\"round-robin\"\n{key} = 2")), [0, 2, 0, 2]);
    }
    let filled = "\"round-robin\"\nranks_per_nic = 2\ndistribution = \"block\"";
    assert_eq!(at(filled), [0, 0, 2, 2]);
}

/// On a topology without names the hosts of a launcher become its nodes, in the order in which the file names them.
#[test]
fn hosts_of_launchers_may_have_names_on_any_topology() {
    let at = |rest: &str| {
        let job = format!("[[job]]\ntrace = \"four.vef\"\n{rest}");
        let plan = resolve_on("{ kind = \"single\", nics = 8 }", "", &job)?;
        let nics = plan.experiment.place(&[4]).map_err(|e| e.to_string())?;
        Ok::<_, String>(nics[0].iter().map(|nic| nic.get()).collect::<Vec<_>>())
    };
    let slurm = "placement = { slurm = { nodes = \"n[7,9],login,n7\", tasks = \"1(x4)\" } }\n";
    assert_eq!(at(slurm).unwrap(), [0, 1, 2, 0]);
    let nodes = format!("{slurm}[node]\nnics = 2\n");
    assert_eq!(at(&nodes).unwrap(), [0, 2, 4, 1]);
    assert_eq!(
        at("placement = { file = \"numbers\" }\ntasks_per_node = 2").unwrap(),
        [3, 3, 1, 1]
    );
    let mixed = "placement = { slurm = { nodes = \"3,n1\" } }";
    let message = at(mixed).unwrap_err();
    assert!(
        message.contains("`n1` stands beside numbers of NICs"),
        "{message}"
    );
    let per_node = |ranks: u32| at(&format!("ranks_per_node = {ranks}\n[node]\nnics = 2\n"));
    assert_eq!(per_node(4).unwrap(), [0, 0, 1, 1]);
    let message = per_node(3).unwrap_err();
    assert!(message.contains("no multiple of the 2 NICs"), "{message}");
    let both = at("ranks_per_node = 2\nranks_per_nic = 2").unwrap_err();
    assert!(both.contains("stands beside ranks_per_nic"), "{both}");
}

#[test]
fn a_topology_without_names_has_none() {
    let text = "fabric.topology = { kind = \"single\", nics = 16 }\n[[job]]\n\
                trace = \"traces/randomaccess-16.vef.gz\"\nplacement = { list = [\"n1\"] }\n";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let error = resolve_text("test.toml", text, root, &[]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("NICs and switches of this topology have none"),
        "{message}"
    );
}

#[test]
fn parts_have_the_names_of_the_dump() {
    let flow = "[[background]]\nrate = 0.1\n";
    let plan = resolve(&cables(), flow).unwrap();
    let names = plan.experiment.fabric.topology.names().unwrap();
    let at = SwitchPort::new(SwitchId::new(0), PortId::new(4));
    assert_eq!(names.end_label(at.into()), "leaf one port 5");
    assert_eq!(names.end_label(LinkEnd::Nic(NicId::new(3))), "n4 HCA-1");
    assert_eq!(names.switch(SwitchId::new(1)).unwrap().lid, Some(7));
    // Names decide nothing.
    let renamed = resolve(&cables().replace("HCA-1", "mlx5_0"), flow).unwrap();
    assert_ne!(renamed.experiment.fabric.topology.names(), Some(names));
    let hash = |plan: &flitwise::config::Plan| experiment_hash(&plan.experiment);
    assert_eq!(hash(&renamed), hash(&plan));
}

/// Keys with names, the same with numbers, and with a mistake that the message names.
const NAMED_KEYS: [[&str; 3]; 7] = [
    [
        "[[background]]\nrate = 0.1\npattern = { hotspot = \"n3\", fraction = 0.5 }",
        "[[background]]\nrate = 0.1\npattern = { hotspot = 2, fraction = 0.5 }",
        "[[background]]\nrate = 0.1\npattern = { hotspot = \"n9\", fraction = 0.5 }",
    ],
    [
        "[[background]]\nrate = 0.1\npattern = { flows = [{ from = \"n1\", to = \"lid 4\" }] }",
        "[[background]]\nrate = 0.1\npattern = { flows = [{ from = 0, to = 3 }] }",
        "[[background]]\nrate = 0.1\npattern = { flows = [{ from = \"n1\", to = \"n9\" }] }",
    ],
    [
        "[[background]]\nrate = 0.1\npattern = { permutation = [\"n2\", \"n3\", \"0x13\", 0] }",
        "[[background]]\nrate = 0.1\npattern = { permutation = [1, 2, 3, 0] }",
        "[[background]]\nrate = 0.1\npattern = { permutation = [\"n2\", \"n9\", 3, 0] }",
    ],
    [
        "link_speeds = [{ switch = \"spine\", device_port = 4, speed = \"SDR x4\" }]\n[[background]]\nrate = 0.1",
        "link_speeds = [{ switch = 1, port = 3, speed = \"SDR x4\" }]\n[[background]]\nrate = 0.1",
        "link_speeds = [{ switch = \"spin\", port = 3, speed = \"SDR x4\" }]\n[[background]]\nrate = 0.1",
    ],
    [
        "[[background]]\nrate = 0.1\n[congestion_control]\nkind = \"ib\"\nport = [{ switch = \"lid 6\", device_port = 5, Threshold = 3 }]",
        "[[background]]\nrate = 0.1\n[congestion_control]\nkind = \"ib\"\nport = [{ switch = 0, port = 4, Threshold = 3 }]",
        "[[background]]\nrate = 0.1\n[congestion_control]\nkind = \"ib\"\nport = [{ switch = \"lid 9\", port = 4, Threshold = 3 }]",
    ],
    [
        "sl2vl = { default = [0], hca = [{ hca = \"n2\", vls = [1] }], port = [{ switch = \"leaf one\", in = 0, out = 4, vls = [1] }] }\n[qos]\nservice_levels = [{ name = \"A\" }]\n[[background]]\nrate = 0.1",
        "sl2vl = { default = [0], hca = [{ hca = 1, vls = [1] }], port = [{ switch = 0, in = 0, out = 4, vls = [1] }] }\n[qos]\nservice_levels = [{ name = \"A\" }]\n[[background]]\nrate = 0.1",
        "sl2vl = { default = [0], hca = [{ hca = \"n9\", vls = [1] }] }\n[qos]\nservice_levels = [{ name = \"A\" }]\n[[background]]\nrate = 0.1",
    ],
    [
        "[[job]]\ntrace = \"four.vef\"\nvfabric = \"v\"\n[[vfabric]]\nname = \"v\"\ntc = 0\nhosts = [\"n4\", \"n1\", \"lid 2\", \"0x12\"]",
        "[[job]]\ntrace = \"four.vef\"\nvfabric = \"v\"\n[[vfabric]]\nname = \"v\"\ntc = 0\nhosts = [3, 0, 1, 2]",
        "[[job]]\ntrace = \"four.vef\"\nvfabric = \"v\"\n[[vfabric]]\nname = \"v\"\ntc = 0\nhosts = [\"n9\"]",
    ],
];

#[test]
fn every_key_for_nics_switches_and_ports_takes_names() {
    for [named, numbered, mistaken] in NAMED_KEYS {
        let [named, numbered] = [named, numbered].map(|text| {
            let plan = resolve(&cables(), text).unwrap_or_else(|e| panic!("{text}: {e}"));
            experiment_hash(&plan.experiment)
        });
        assert_eq!(named, numbered, "{numbered}");
        let message = resolve(&cables(), mistaken).unwrap_err();
        let about =
            message.contains("no host is called") || message.contains("no switch is called");
        assert!(about && message.contains("test.toml:"), "{message}");
    }
}

#[test]
fn a_port_is_named_once() {
    for (port, part) in [
        ("", "names no port; give `port`"),
        (
            ", port = 3, device_port = 4",
            "has both port and device_port",
        ),
        (
            ", device_port = 8",
            "port 7 (spine port 8) of switch 1 (spine) has no link",
        ),
        (", device_port = 0", "ports of a device count from 1"),
        (", device_port = 9", "there is no port 8 at a switch 1"),
    ] {
        let key = format!("link_speeds = [{{ switch = \"spine\"{port}, speed = \"SDR x4\" }}]");
        let message =
            resolve(&cables(), &format!("{key}\n[[background]]\nrate = 0.1")).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
    let single = "fabric.kind = \"voq\"\nfabric.topology = { kind = \"single\", nics = 4 }\n\
                  fabric.link_speeds = [{ switch = 0, device_port = 1, speed = \"SDR x4\" }]\n\
                  [[background]]\nrate = 0.1\n";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let message = resolve_text("test.toml", single, root, &[]).unwrap_err();
    let message = message.to_string();
    assert!(
        message.contains("have device ports; give `port`"),
        "{message}"
    );
}

/// Gb/s of the links at ports (switch, port).
fn speeds(cables: &str, keys: &str) -> Result<[u64; 5], String> {
    let plan = resolve(cables, &format!("{keys}\n[[background]]\nrate = 0.1\n"))?;
    let fabric = &plan.experiment.fabric;
    let tick = fabric.units.tick.length_ps();
    let flit = Ratio::whole(u64::from(fabric.units.flit_bytes) * 8);
    let rate = |(switch, port)| {
        let flits = fabric.link_rate(SwitchId::new(switch), PortId::new(port));
        let bits = flits.checked_mul(flit).unwrap().checked_div(tick).unwrap();
        (bits.to_f64() * 1000.0).round() as u64
    };
    Ok([(0, 0), (1, 1), (0, 4), (0, 6), (1, 5)].map(rate))
}

#[test]
fn links_have_the_speeds_of_the_dump_unless_keys_set_them() {
    assert_eq!(speeds(&cables(), "").unwrap(), [100, 32, 200, 100, 100]);
    let host = "host_link_speed = \"HDR\"";
    assert_eq!(speeds(&cables(), host).unwrap(), [200, 200, 200, 100, 100]);
    let link = "link_speed = \"NDR\"";
    assert_eq!(speeds(&cables(), link).unwrap(), [100, 32, 400, 400, 400]);
    // Of a link that is listed, at either end, the list decides.
    let listed = "link_speeds = [{ switch = 1, port = 5, speed = \"EDR x1\" }]";
    assert_eq!(speeds(&cables(), listed).unwrap(), [100, 32, 200, 25, 25]);
    // Old tools print no speed: then the preset decides, here 40 Gb/s less the encoding.
    let without: String = cables()
        .lines()
        .map(|line| match line.rsplit_once(' ') {
            Some((rest, word)) if word.contains("DR") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let usual = speeds(&without, "").unwrap();
    assert!(usual.iter().all(|&speed| speed == usual[0]), "{usual:?}");
    let unknown = cables().replace("2xHDR", "4xXYZ");
    let message = speeds(&unknown, "").unwrap_err();
    assert!(message.contains("unknown link speed `4xXYZ`"), "{message}");
    assert!(message.contains("set fabric.link_speed"), "{message}");
    assert_eq!(speeds(&unknown, link).unwrap()[3], 400);
}

#[test]
fn what_a_file_says_about_itself_changes_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plan = |about: &str| {
        let text = format!(
            "{about}\n[fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n[[background]]\nrate = 0.1\n"
        );
        resolve_text("test.toml", &text, root, &[]).map_err(|e| e.to_string())
    };
    let named = plan("name = \"A\"\ndescription = \"One\\ntwo\"\ntags = [\"x\", \"y\"]").unwrap();
    assert_eq!(named.about.name.as_deref(), Some("A"));
    assert_eq!(named.about.tags, ["x", "y"]);
    let plain = plan("").unwrap();
    assert!(plain.about.is_empty());
    assert_eq!(named.experiment, plain.experiment);
    for (about, part) in [
        ("name = \"\"", "name: is empty"),
        ("name = \"a\\nb\"", "control character"),
        ("name = 3", "name"),
        ("description = \" \"", "description: is empty"),
        ("tags = [\"a\", \"a\"]", "`a` is listed twice"),
        ("tags = \"a\"", "tags"),
        ("tags = [\"\"]", "tags.0: is empty"),
    ] {
        let message = plan(about).unwrap_err();
        assert!(message.contains(part), "{about}: {message}");
    }
}

/// All shipped experiments say what they are.
#[test]
fn shipped_experiments_have_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(root.join("configs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let table: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        let text = |key: &str| table[key].as_str().unwrap().to_owned();
        assert!(
            names.insert(text("name")),
            "{}: {}",
            path.display(),
            text("name")
        );
        assert!(
            text("description").ends_with(['.', '?']),
            "{}",
            path.display()
        );
    }
    assert!(names.len() > 28, "{}", names.len());
}
