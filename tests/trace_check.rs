//! `flitwise trace check` gives every file of the corpus its verdict.

use std::path::Path;
use std::process::Command;

#[test]
fn the_verdict_on_every_file_of_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/vef");
    let table = std::fs::read_to_string(corpus.join("EXPECTED.tsv")).unwrap();
    for row in table.lines().filter(|l| !l.starts_with('#')) {
        let [name, line, part] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {row}");
        };
        for json in [false, true] {
            let out = Command::new(env!("CARGO_BIN_EXE_flitwise"))
                .args(["trace", "check", name])
                .args(json.then_some("--json"))
                .current_dir(&corpus)
                .output()
                .unwrap();
            let stdout = String::from_utf8(out.stdout).unwrap();
            let stderr = String::from_utf8(out.stderr).unwrap();
            let code = if part.is_empty() { 0 } else { 2 };
            assert_eq!(out.status.code(), Some(code), "{name}: {stdout}{stderr}");
            assert_eq!(stderr.lines().count(), usize::from(code == 2), "{stderr}");
            if code == 0 && !json {
                let last = stdout.lines().last().unwrap();
                assert!(
                    last.starts_with(&format!("{name} -- nothing wrong")),
                    "{last}"
                );
            }
            // Line 0: the file could not be read, which is no verdict.
            if line != "0" && !json {
                assert!(stdout.contains(&format!("{name}:{line}: ")), "{stdout}");
                assert!(stdout.contains(part), "{name}: {stdout}");
            }
            if json && !stdout.is_empty() {
                let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
                assert_eq!(json["clean"], code == 0, "{name}");
            }
        }
    }
}
