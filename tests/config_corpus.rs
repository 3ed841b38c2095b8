//! Every broken experiment under `tests/corpus/experiments` is refused with the
//! message that its header announces:
//!
//! ```text
//! # expect: part of the message     (every one must occur)
//! # set: a.b=c                      (as given to --set)
//! ```

use flitwise::config;
use std::path::Path;

#[test]
fn every_broken_experiment_says_why() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    assert!(paths.len() > 30, "only {} cases", paths.len());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = |start: &str| -> Vec<String> {
            text.lines()
                .filter_map(|l| l.strip_prefix(start))
                .map(|l| l.to_owned())
                .collect()
        };
        let expected = lines("# expect: ");
        assert!(!expected.is_empty(), "{}: no `# expect:`", path.display());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let message = match config::resolve_text(&name, &text, &dir, &lines("# set: ")) {
            Ok(_) => "accepted".to_owned(),
            Err(e) => e.to_string(),
        };
        for part in expected {
            if !message.contains(part.trim()) {
                failures.push(format!("{name}\n  expected: {part}\n  message:  {message}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
