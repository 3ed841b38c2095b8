//! Every broken experiment under `tests/corpus/experiments` is refused with the
//! message that its header announces:
//!
//! ```text
//! # expect: part of the message     (every one must occur)
//! # set: a.b=c                      (as given to --set)
//! ```

use crate::common::bless;
use flitwise::config;
use std::path::Path;
use std::process::Command;

const EXPECT: &str = "# expect: ";

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
        let expected = lines(EXPECT);
        assert!(!expected.is_empty(), "{}: no `# expect:`", path.display());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let message = match config::resolve_text(&name, &text, &dir, &lines("# set: ")) {
            Ok(_) => "accepted".to_owned(),
            Err(e) => e.to_string(),
        };
        let outdated = |part: &str| !message.contains(part.trim());
        if bless::is_on() && message != "accepted" {
            let told = |line: &str| match line.strip_prefix(EXPECT) {
                Some(part) if outdated(part) => bless::nearest(&message, part.trim())
                    .map_or(line.to_owned(), |part| format!("{EXPECT}{part}")),
                _ => line.to_owned(),
            };
            // Split so, all other bytes stay: also what stands behind the last line feed.
            let lines: Vec<String> = text.split('\n').map(told).collect();
            bless::write(&path, &lines.join("\n"));
            continue;
        }
        for part in expected.iter().filter(|part| outdated(part)) {
            failures.push(format!("{name}\n  expected: {part}\n  message:  {message}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The command refuses each with exit code 2, one message that begins with the file or the
/// override, and no result.
#[test]
fn every_broken_experiment_ends_with_exit_code_2() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments");
    let junk = tempfile::tempdir().unwrap();
    // What is no text: binary, and a line of 10 GB, of which only 16 MiB are read.
    let byte = |i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8;
    let binary: Vec<u8> = (0..4096).map(byte).collect();
    std::fs::write(junk.path().join("binary.toml"), binary).unwrap();
    let line = std::fs::File::create(junk.path().join("line.toml")).unwrap();
    line.set_len(10 << 30).unwrap();
    let entries = [dir.as_path(), junk.path()]
        .into_iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap());
    let mut count = 0;
    for path in entries.map(|e| e.unwrap().path()) {
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let bytes = if path.starts_with(&dir) {
            std::fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let text = String::from_utf8_lossy(&bytes);
        let sets = text.lines().filter_map(|l| l.strip_prefix("# set: "));
        let out = Command::new("sh")
            .args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_flitwise"))
            .args(["run", path.file_name().unwrap().to_str().unwrap()])
            .args(sets.flat_map(|set| ["--set", set]))
            .current_dir(path.parent().unwrap())
            .output()
            .unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{}: {stderr}", path.display());
        let messages = stderr.lines().filter(|l| l.starts_with("error: ")).count();
        assert_eq!(messages, 1, "{stderr}");
        assert!(out.stdout.is_empty());
        count += 1;
    }
    assert!(count > 32, "{count}");
}
