//! Placements by switches and by groups, on every family that has groups.

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
