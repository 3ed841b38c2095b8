//! Placements by switches and by groups, on every family that has groups, and by hosts whose nodes have several NICs.

use flitwise::config::resolve_text;

/// The NICs of 8 ranks.
fn placed(topology: &str, placement: &str) -> Result<Vec<u32>, String> {
    let dir = tempfile::tempdir().unwrap();
    let trace = "VEF3 8 1 0 0 0 0 1000\n0 0 7 100 4 0 -1\n";
    std::fs::write(dir.path().join("eight.vef"), trace).unwrap();
    let text = format!(
        "[fabric]\ntopology = {topology}\n[[job]]\ntrace = \"eight.vef\"\nplacement = {placement}\n"
    );
    let plan = resolve_text("test.toml", &text, dir.path(), &[]).map_err(|e| e.to_string())?;
    let nics = plan.experiment.place(&[8]).map_err(|e| e.to_string())?;
    Ok(nics[0].iter().map(|nic| nic.get()).collect())
}

const DRAGONFLY: &str = "{ kind = \"dragonfly\", p = 2, a = 2, h = 1 }";

#[test]
fn ranks_go_round_the_groups() {
    for (topology, expected) in [
        // Three groups of two switches with two NICs.
        (DRAGONFLY, [0, 4, 8, 1, 5, 9, 2, 6]),
        // Three subtrees of nine NICs; with two levels a leaf switch is a subtree.
        (
            "{ kind = \"k-ary-n-tree\", k = 3, n = 3 }",
            [0, 9, 18, 1, 10, 19, 2, 11],
        ),
        (
            "{ kind = \"k-ary-n-tree\", k = 4, n = 2 }",
            [0, 4, 8, 12, 1, 5, 9, 13],
        ),
        // Two subtrees of six NICs.
        (
            "{ kind = \"xgft\", down = [2, 3, 2], up = [1, 2, 2] }",
            [0, 6, 1, 7, 2, 8, 3, 9],
        ),
        // Rows of three switches; planes of four.
        (
            "{ kind = \"torus\", dimensions = [3, 4] }",
            [0, 3, 6, 9, 1, 4, 7, 10],
        ),
        (
            "{ kind = \"mesh\", dimensions = [2, 2, 3] }",
            [0, 4, 8, 1, 5, 9, 2, 6],
        ),
    ] {
        let nics = placed(topology, "\"round-robin-groups\"");
        assert_eq!(nics.unwrap(), expected, "{topology}");
    }
}

#[test]
fn switches_and_groups_are_drawn_whole() {
    let parts = |placement: &str, size: u32| {
        let nics = placed(DRAGONFLY, placement).unwrap();
        let mut parts: Vec<u32> = nics.iter().map(|nic| nic / size).collect();
        parts.dedup();
        (nics, parts)
    };
    for seed in 1..=8 {
        let (nics, switches) = parts(&format!("{{ random-switches = {seed} }}"), 2);
        assert_eq!(switches.len(), 4, "{nics:?}");
        let (nics, groups) = parts(&format!("{{ random-groups = {seed} }}"), 4);
        assert_eq!(groups.len(), 2, "{nics:?}");
    }
    assert_eq!(parts("\"random-groups\"", 4).1.len(), 2);
}

#[test]
fn what_a_topology_lacks_is_said() {
    let single = "{ kind = \"single\", nics = 8 }";
    for placement in [
        "\"random-groups\"",
        "\"round-robin-groups\"",
        "{ random-groups = 3 }",
    ] {
        let message = placed(single, placement).unwrap_err();
        assert!(
            message.contains("test.toml:5:13: job.0.placement"),
            "{message}"
        );
        assert!(message.contains("this topology has no groups"), "{message}");
    }
    assert_eq!(
        placed(single, "\"random-switches\"").unwrap(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
    let message = placed(single, "\"random-group\"").unwrap_err();
    assert!(message.contains("random-groups"), "{message}");
    let message = placed(single, "{ round-robin = 3 }").unwrap_err();
    assert!(message.contains("round-robin"), "{message}");
}

/// The NICs of 8 ranks where `hosts` is the file of a launcher, on a fabric of 16 NICs.
fn hosted(hosts: &str, rest: &str) -> Result<Vec<u32>, String> {
    let dir = tempfile::tempdir().unwrap();
    let trace = "VEF3 8 1 0 0 0 0 1000\n0 0 7 100 4 0 -1\n";
    std::fs::write(dir.path().join("eight.vef"), trace).unwrap();
    std::fs::write(dir.path().join("hosts"), hosts).unwrap();
    let placement = match hosts {
        "" => "",
        _ => "placement = { file = \"hosts\" }",
    };
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n[[job]]\ntrace = \"eight.vef\"\n{placement}\n{rest}"
    );
    let plan = resolve_text("test.toml", &text, dir.path(), &[]).map_err(|e| e.to_string())?;
    let nics = plan.experiment.place(&[8]).map_err(|e| e.to_string())?;
    Ok(nics[0].iter().map(|nic| nic.get()).collect())
}

/// The NICs of 8 ranks on nodes of four NICs.
fn on_nodes(hosts: &str, rest: &str) -> Vec<u32> {
    let rest = format!("{rest}\n[node]\nnics = 4\n");
    hosted(hosts, &rest).unwrap_or_else(|e| panic!("{hosts:?}, {rest}: {e}"))
}

#[test]
fn the_ranks_of_a_host_are_spread_over_its_nics() {
    let linear = on_nodes("", "ranks_per_node = 4");
    assert_eq!(linear, [0, 1, 2, 3, 4, 5, 6, 7]);
    let by_rank: String = (0..8)
        .map(|i| format!("rank {i}=n{} slot={i}\n", i / 4))
        .collect();
    for hosts in [
        "alpha:4\nbeta:4\n",
        "a slots=4\nb slots=4\n",
        "a\nb\n",
        &by_rank,
    ] {
        assert_eq!(on_nodes(hosts, ""), linear, "{hosts:?}");
    }
    // A line for each rank, as in the files of PBS.
    assert_eq!(
        on_nodes("a\na\na\na\nb\nb\nb\nc\n", ""),
        [0, 1, 2, 3, 4, 5, 6, 8]
    );
    for slurm in [
        "nodes = \"n[1-2]\", tasks = \"4(x2)\"",
        "nodes = \"n[1-2]\"",
    ] {
        let slurm = format!("placement = {{ slurm = {{ {slurm} }} }}");
        assert_eq!(on_nodes("", &slurm), linear, "{slurm}");
    }
    assert_eq!(
        on_nodes("a\nb\n", "ranks_per_node = 8"),
        [0, 0, 1, 1, 2, 2, 3, 3]
    );
    // More ranks than the node has places, which its NICs share.
    assert_eq!(on_nodes("a:6\nb:2\n", ""), [0, 0, 1, 2, 2, 3, 4, 5]);
    assert_eq!(on_nodes("a:8\n", ""), [0, 0, 1, 1, 2, 2, 3, 3]);
    // A NIC after the other, on whatever node.
    let cyclic = "distribution = \"cyclic\"";
    assert_eq!(on_nodes("a:4\nb:4\n", cyclic), linear);
    assert_eq!(on_nodes("a:8\n", cyclic), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(
        hosted("a\na\na\na\nb\nb\nb\nb\n", cyclic).unwrap(),
        [0, 1, 0, 1, 0, 1, 0, 1]
    );
    // A number is a NIC.
    assert_eq!(on_nodes("1:4\n6:4\n", ""), [1, 1, 1, 1, 6, 6, 6, 6]);
}

#[test]
fn hosts_with_numbers_of_ranks_fill_their_places() {
    // Places of the node, which `linear` fills, too.
    let places = "[node]\nnics = 4\nranks_per_nic = 2\n";
    assert_eq!(
        hosted("a:8\n", places).unwrap(),
        hosted("", places).unwrap()
    );
    assert_eq!(
        hosted("a:4\nb:4\n", places).unwrap(),
        [0, 0, 1, 1, 4, 4, 5, 5]
    );
    for key in ["ranks_per_nic = 4", "ranks_per_node = 4"] {
        for hosts in ["a:4\nb:4\n", "a\na\na\na\nb\nb\nb\nb\n"] {
            let message = hosted(hosts, key).unwrap_err();
            assert!(
                message.contains("every host has its number of ranks; remove"),
                "{message}"
            );
        }
        // Of a host without a number.
        assert_eq!(hosted("a:4\nb\n", key).unwrap(), [0, 0, 0, 0, 1, 1, 1, 1]);
    }
    let few = hosted("a:4\nb:2\n", "").unwrap_err();
    assert!(
        few.contains("slots for 6 of the 8 ranks of the job; name more hosts"),
        "{few}"
    );
}

#[test]
fn options_of_hosts_are_read_or_refused() {
    for hosts in [
        "node1:6\nnode2:2\n",
        "node1:6 ifhn=ib0\nnode2:2 ifhn=ib1\n",
        "node1:6 binding=user:1 user=me\nnode2:2\n",
        "node1 slots = 6 max_slots = 8\nnode2 slots= 2\n",
        "node1 cpu=6\nnode2 max-slots=2 count=2\n",
        "[fe80::1]:6\n[fe80::2]:2\n",
    ] {
        let placed = hosted(hosts, "").unwrap_or_else(|e| panic!("{hosts:?}: {e}"));
        assert_eq!(placed, [0, 0, 0, 0, 0, 0, 1, 1], "{hosts:?}");
    }
    for (hosts, problem) in [
        (
            "a:4\nb cores=4\n",
            "hosts:2: `cores=4` is no option of a host; write `HOST`",
        ),
        ("a 4\n", "hosts:1: `4` is no option of a host"),
        ("slots=4\n", "hosts:1: names no host"),
        (":4\n", "hosts:1: names no host"),
        (
            "a:4\nn1:2:1\n",
            "hosts:2: `n1:2` has a colon, so it is no host; write `HOST`",
        ),
        ("n1:2:1 slots=4\n", "hosts:1: `n1:2` has a colon"),
        ("fe80::1\n", "and an IPv6 address in brackets"),
        ("a slots=4 fast\n", "hosts:1: `fast` is no option of a host"),
        (
            "3:100000000000\n",
            "hosts:1: `100000000000` is no number of slots",
        ),
        ("3:-1\n", "hosts:1: `-1` is no number of slots"),
        ("a:\n", "hosts:1: `` is no number of slots"),
        ("a slots=\n", "hosts:1: `` is no number of slots"),
        (
            "a:4 slots=8\n",
            "hosts:1: `slots=8` is a second number of slots; keep one",
        ),
        ("3:0\n", "hosts:1: 0 slots; a host has at least 1"),
    ] {
        let message = hosted(hosts, "").unwrap_err();
        assert!(message.contains(problem), "{hosts:?}: {message}");
    }
}
