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
        ["job.0.ranks_per_nic", "at least 1"],
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
        "[qos]\nservice_levels = [{ name = \"A\", scs = [0, 1], tc = ",
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

/// Limits of texts that are made of many equal parts: `(text of n parts, n, key and limit named)`.
#[test]
fn the_longest_list_is_taken_and_the_next_refused_with_the_limit() {
    let times = |part: &'static str, n: usize| vec![part; n].join(", ");
    let loads = |n: usize| {
        let all: Vec<String> = (1..=n).map(|i| format!("\"{i}/20000\"")).collect();
        format!("{FLOW}[measure]\nloads = [{}]\n", all.join(", "))
    };
    let cct = |n: usize| {
        format!(
            "{JOB}[fabric]\nkind = \"voq\"\n[congestion_control]\nkind = \"ib\"\n\
             CCT = {{ linear = \"1/8\", entries = {n} }}\n"
        )
    };
    let sizes = |n: usize| {
        let part = format!("{{ size = \"64B\", share = \"1/{n}\" }}");
        let all = vec![part; n].join(", ");
        format!("[[background]]\nrate = 0.1\nmessage = [{all}]\n")
    };
    let arbitration = |n: usize| {
        let all = times("[0, 1]", n);
        format!("{JOB}[fabric]\nkind = \"voq\"\n[qos]\nvlarb = {{ high = [], low = [{all}] }}\n")
    };
    let levels = |n: usize| {
        let all: Vec<String> = (0..n)
            .map(|i| {
                format!(
                    "{{ name = \"L{i}\", scs = [{}], share = 1 }}",
                    i + usize::from(i > 14)
                )
            })
            .collect();
        let vls = times("0", 32);
        format!(
            "{JOB}sl = \"L0\"\n[fabric.topology]\nkind = \"single\"\nnics = 16\n\
             [qos]\nscheduler = \"rr\"\nsc2vl = [{vls}]\nservice_levels = [{}]\n",
            all.join(", ")
        )
    };
    type Text<'a> = &'a dyn Fn(usize) -> String;
    let cases: [(&str, Text<'_>, usize, usize, &str); 6] = [
        ("measure.loads", &loads, 10_000, 10_001, "1 to 10000"),
        ("congestion_control.CCT", &cct, 128, 127, "128"),
        (
            "congestion_control.CCT",
            &cct,
            1 << 16,
            (1 << 16) + 1,
            "65536",
        ),
        ("background.0.message", &sizes, 64, 65, "64"),
        ("qos.vlarb", &arbitration, 64, 65, "at most 64"),
        ("qos.service_levels", &levels, 31, 32, "SC"),
    ];
    for (key, text, last, first, limit) in cases {
        let taken = problem(&text(last), &[]);
        assert!(taken.is_empty(), "{key}: {last}: {taken}");
        let refused = problem(&text(first), &[]);
        let head = refused.lines().next().unwrap_or("");
        assert!(
            head.contains(key) && head.contains(limit),
            "{key}: {first}: {head}"
        );
    }
}

/// Numbers beyond 64 bits are out of range, not of a wrong type.
#[test]
fn numbers_beyond_the_range_say_so() {
    for (text, key, why) in [
        (
            "repeat = 9223372036854775808",
            "job.0.repeat",
            "out of range, expected a whole number from 1 to 1000000",
        ),
        (
            "tasks_per_node = 4294967296",
            "job.0.tasks_per_node",
            "from 0 to 4294967295",
        ),
        (
            "[fabric.topology]\nkind = \"single\"\nnics = 9223372036854775808",
            "fabric.topology.nics",
            "out of range",
        ),
        (
            "start = \"18446744073709551616ps\"",
            "job.0.start",
            "is 2^64 picoseconds or more",
        ),
        (
            "[[background]]\nrate = 0.1\npattern = { neighbour = 9223372036854775808 }",
            "background.0.pattern",
            "to 9223372036854775807",
        ),
    ] {
        let problem = problem(&format!("{JOB}{text}\n"), &[]);
        assert!(problem.contains(key) && problem.contains(why), "{problem}");
    }
    let most = problem(&format!("seed = 18446744073709551615\n{JOB}"), &[]);
    assert!(most.is_empty(), "{most}");
    let more = problem(&format!("seed = 18446744073709551616\n{JOB}"), &[]);
    assert!(
        more.contains("out of range, expected a whole number from 0 to 18446744073709551615"),
        "{more}"
    );
    let most = problem(&format!("{JOB}start = \"18446744073709551615ps\"\n"), &[]);
    assert!(most.is_empty(), "{most}");
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
        "hyperx",
        "slim-fly",
        "megafly",
        "kns",
        "fat-tree",
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
                let foreign = head.contains("fabric.topology") && head.contains("belongs to");
                !foreign && !head.contains("unknown key")
            })
        })
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn sources(dir: &Path, read: &mut dyn FnMut(&str)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, read)
        } else {
            read(&std::fs::read_to_string(&path).unwrap())
        }
    }
}
