//! Limits of experiment files: the largest value is taken, the next one refused with the number of
//! the limit and under a key that exists.

use flitwise::config::resolve_text;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is wrong with an experiment with a job of 16 ranks and `text`; empty if nothing is.
fn problem(text: &str, sets: &[String]) -> String {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/traces"));
    let resolved = resolve_text("exp.toml", text, dir, sets);
    resolved.err().map_or(String::new(), |e| e.to_string())
}

const JOB: &str = "[[job]]\ntrace = \"hpl-16.vef.gz\"\n";
const FLOW: &str = "[[background]]\nrate = 0.1\n";

/// `(before the value, last that is taken, first that is not, after it, key and limit named)`.
type Bound = (&'static str, u64, u64, &'static str, [&'static str; 2]);

const BOUNDS: &[Bound] = &[
    (
        "repeat = ",
        1_000_000,
        1_000_001,
        "",
        ["job.0.repeat", "1 to 1000000"],
    ),
    ("repeat = ", 1, 0, "", ["job.0.repeat", "1 to 1000000"]),
    (
        "tasks_per_node = ",
        1,
        0,
        "",
        ["job.0.tasks_per_node", "at least 1"],
    ),
    (
        "[fabric]\nlink_latency = \"",
        1 << 18,
        (1 << 18) + 1,
        " ticks\"",
        ["fabric.link_latency", "at most 262144"],
    ),
    (
        "[fabric.topology]\nkind = \"single\"\nnics = ",
        120,
        121,
        "",
        ["fabric.topology", "at most 120"],
    ),
    (
        "[fabric]\nkind = \"voq\"\n[fabric.topology]\nkind = \"k-ary-n-tree\"\nk = ",
        60,
        61,
        "\nn = 2",
        ["fabric.topology", "at most 120"],
    ),
    (
        "[fabric.topology]\nkind = \"k-ary-n-tree\"\nk = 4\nn = 2\nhosts = ",
        16,
        17,
        "",
        ["fabric.topology.hosts", "1 to 16"],
    ),
    (
        "[fabric.topology]\nkind = \"torus\"\ndimensions = [4, 4]\nhosts = ",
        1,
        0,
        "",
        ["fabric.topology.hosts", "1 to 16"],
    ),
    (
        "[fabric.topology]\nkind = \"mesh\"\ndimensions = [2, 2]\nhosts = ",
        4,
        5,
        "",
        ["fabric.topology.hosts", "1 to 4"],
    ),
    (
        "[fabric.topology]\nkind = \"dragonfly\"\np = 1\na = 2\nh = 1\ngroups = ",
        3,
        4,
        "",
        ["fabric.topology.groups", "1 to 3"],
    ),
    (
        "[fabric.topology]\nkind = \"dragonfly\"\np = 1\na = 2\nh = 1\nhosts = ",
        6,
        7,
        "",
        ["fabric.topology.hosts", "1 to 6"],
    ),
    (
        "[fabric.topology]\nkind = \"xgft\"\ndown = [2, 2]\nup = [1, 1]\nhosts = ",
        4,
        5,
        "",
        ["fabric.topology.hosts", "1 to 4"],
    ),
    (
        "[qos]\nservice_levels = [{ name = \"A\", scs = [0, 1], share = 1, tc = ",
        31,
        32,
        " }]",
        ["qos.service_levels.0.tc", "above 31"],
    ),
    (
        "[qos]\nsc2vl = [0, 1, 2, 3, 4, 5, 6, 7, 8, ",
        31,
        32,
        "]",
        ["qos.sc2vl", "above 31"],
    ),
    (
        "[series]\ninterval = \"",
        1 << 40,
        (1 << 40) + 1,
        " ticks\"",
        ["series.interval", "1 to 2^40"],
    ),
    (
        "[series]\ninterval = \"",
        1,
        0,
        " ticks\"",
        ["series.interval", "1 to 2^40"],
    ),
    (
        "[series]\ninterval = \"1us\"\nfigure_lines = ",
        16,
        17,
        "",
        ["series.figure_lines", "at most 16"],
    ),
    (
        "[fabric]\nkind = \"voq\"\n[congestion_control]\nkind = \"ib\"\nThreshold = ",
        15,
        16,
        "",
        ["congestion_control.Threshold", "to 15"],
    ),
    (
        "[fabric]\nkind = \"voq\"\n[congestion_control]\nkind = \"ib\"\nCCTI_Min = ",
        127,
        128,
        "",
        ["congestion_control.CCTI_Min", "CCTI_Limit = 127"],
    ),
];

const OF_FLOWS: &[Bound] = &[
    (
        "[measure]\nbatches = ",
        2,
        1,
        "",
        ["measure.batches", "at least 2"],
    ),
    (
        "[measure]\nwarm_up = \"100us\"\nmax_warm_up = \"1ms\"\nbatch = \"10ns\"\nbatches = ",
        1000,
        1001,
        "",
        ["measure.batches", "at most 1000"],
    ),
    (
        "[measure]\nwindow = \"",
        1 << 40,
        (1 << 40) + 1,
        " ticks\"",
        ["measure.window", "1 to 2^40"],
    ),
    (
        "[measure]\nwindow = \"",
        1,
        0,
        " ticks\"",
        ["measure.window", "1 to 2^40"],
    ),
    (
        "[measure]\nwarm_up = \"",
        1 << 40,
        (1 << 40) + 1,
        " ticks\"",
        ["measure.warm_up", "to 2^40"],
    ),
    (
        "[measure]\nloads = [",
        10,
        11,
        "]",
        ["measure.loads.0", "at most 1"],
    ),
];

#[test]
fn the_last_value_is_taken_and_the_next_refused_with_the_limit() {
    let mut wrong = String::new();
    let of_job = BOUNDS.iter().map(|bound| (JOB, bound));
    for (start, (before, last, first, after, named)) in
        of_job.chain(OF_FLOWS.iter().map(|bound| (FLOW, bound)))
    {
        let with = |value: &u64| problem(&format!("{start}{before}{value}{after}\n"), &[]);
        let taken = with(last);
        if !taken.is_empty() {
            wrong += &format!("{before}{last}: {taken}\n");
        }
        let refused = with(first);
        let head = refused.lines().next().unwrap_or("");
        if !named.iter().all(|part| head.contains(part)) {
            wrong += &format!("{before}{first}: {refused}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A list of a fat tree that is wrong is named itself.
#[test]
fn lists_of_a_fat_tree_are_blamed_one_by_one() {
    for (lists, key, why) in [
        ("down = []\nup = []", "down", "is empty"),
        ("down = [2, 0]\nup = [1, 1]", "down", "at least 1"),
        (
            "down = [2, 2]\nup = [1]",
            "up",
            "has 1 numbers, but down has 2",
        ),
        ("down = [2, 2]\nup = [2, 1]", "up", "begins with 1, not 2"),
        (
            "down = [2, 2]\nup = [1, 1]\nparallel = [1]",
            "parallel",
            "has 1 numbers, but down has 2",
        ),
        (
            "down = [2, 2]\nup = [1, 1]\nparallel = [1, 0]",
            "parallel",
            "at least 1",
        ),
        (
            "down = [2, 2]\nup = [1, 1]\nparallel = [2, 1]",
            "parallel",
            "begins with 1, not 2",
        ),
    ] {
        let text = format!("{JOB}[fabric.topology]\nkind = \"xgft\"\n{lists}\n");
        let problem = problem(&text, &[]);
        assert!(
            problem.contains(&format!("fabric.topology.{key}: ")),
            "{problem}"
        );
        assert!(problem.contains(why), "{problem}");
    }
}

/// Every key that the code names in quotation marks is one that a file may have: `fabric.hosts` is
/// none.
#[test]
fn keys_that_messages_name_exist() {
    let mut keys = BTreeSet::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut |text| {
            for word in text.split('"') {
                let mut parts = word.split('.');
                let table = [
                    "fabric",
                    "qos",
                    "congestion_control",
                    "measure",
                    "series",
                    "baseline",
                ];
                let plain = |part: &str| {
                    part.starts_with(|c: char| c.is_ascii_alphabetic())
                        && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                };
                if parts.next().is_some_and(|first| table.contains(&first)) && parts.all(plain) {
                    keys.insert(word.to_owned());
                }
            }
        },
    );
    assert!(keys.len() > 60, "{keys:?}");
    let kinds = [
        "single",
        "torus",
        "mesh",
        "k-ary-n-tree",
        "xgft",
        "dragonfly",
        "graph",
        "ibnetdiscover",
    ];
    let unknown: Vec<&String> = keys
        .iter()
        .filter(|key| {
            !kinds.iter().any(|kind| {
                let sets = [format!("fabric.topology.kind={kind}"), format!("{key}=x")];
                let problem = problem(JOB, &sets);
                let head = problem.lines().next().unwrap_or("");
                !head.contains("unknown key")
                    && !(head.contains("fabric.topology") && head.contains("belongs to"))
            })
        })
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn sources(dir: &Path, read: &mut dyn FnMut(&str)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, read),
            false => read(&std::fs::read_to_string(&path).unwrap()),
        }
    }
}
