//! Guards the seams of the code base, and says where code belongs when it strays.

use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const MAX_LINES: usize = 500;

/// Code outside of tests that may end the process, and why.
const MAY_PANIC: &[(&str, &str, &str)] = &[(
    "src/fabric/stats.rs",
    "unreachable!()",
    "a histogram of three significant digits can always be made",
)];

/// Rust files below `dir`, with their path from the repository.
pub(crate) fn sources(dir: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = vec![Path::new(ROOT).join(dir)];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(ROOT).unwrap().display().to_string();
                files.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{dir} has no sources");
    files
}

/// Lines of code outside of tests and comments, with their numbers.
fn code<'a>(name: &str, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let test_file = name.contains("/tests/") || name.ends_with("tests.rs");
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let end = if test_file { 0 } else { end };
    (1..)
        .zip(text[..end].lines())
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn forbid(dir: &str, words: &[&str], why: &str) {
    let mut found = String::new();
    for (name, text) in sources(dir) {
        for (number, line) in code(&name, &text) {
            let allowed =
                |&&(file, part, _): &&(&str, &str, &str)| file == name && line.contains(part);
            if words.iter().any(|word| line.contains(word))
                && MAY_PANIC.iter().find(allowed).is_none()
            {
                found.push_str(&format!("{name}:{number}: {}\n", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{why}\n{found}");
}

// The crates guard most seams: `formats`, `base`, `fabric`, `figure`, `oblivious` and `replay` cannot name what lies above them.

#[test]
fn the_replay_knows_no_engine() {
    forbid(
        "src/replay",
        &["flitwise_fabric::engine"],
        "src/replay meets the engine in src/run only",
    );
}

#[test]
fn simulations_see_no_clock_and_no_map_order() {
    for dir in ["src/fabric", "src/replay"] {
        forbid(
            dir,
            &[
                "std::time",
                "Instant",
                "SystemTime",
                "thread_rng",
                "rand::rng",
            ],
            "a simulation is a function of experiment and seed: wall-clock time belongs into \
             src/run, randomness into src/base/random.rs",
        );
    }
    forbid(
        "src/fabric",
        &["HashMap", "HashSet"],
        "the order of a hash map is not reproducible: the engine indexes vectors by id",
    );
}

#[test]
fn only_the_command_line_prints() {
    for dir in [
        "src/base",
        "src/fabric",
        "src/replay",
        "src/config",
        "src/results",
        "src/figure",
        "src/oblivious",
        "src/report",
        "src/run",
        "formats/src",
    ] {
        forbid(
            dir,
            &["println!", "eprintln!", "print!(", "dbg!", "process::exit"],
            "output and exit codes belong into src/cli and src/main.rs",
        );
    }
}

#[test]
fn nothing_panics_on_purpose() {
    for dir in ["src", "formats/src"] {
        forbid(
            dir,
            &[
                ".unwrap()",
                ".expect(",
                "panic!",
                "unreachable!",
                "todo!",
                "unimplemented!",
            ],
            "input must never end the process: return an error that names file, line or key; what \
             truly cannot happen goes into MAY_PANIC with its reason",
        );
    }
}

#[test]
fn what_may_panic_is_there() {
    for &(file, part, reason) in MAY_PANIC {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_default();
        assert!(text.contains(part), "{file} has no {part}: {reason}");
    }
}

#[test]
fn files_have_one_subject() {
    for dir in [
        "src",
        "tests",
        "benches",
        "examples",
        "formats/src",
        "formats/tests",
    ] {
        for (name, text) in sources(dir) {
            let lines = text.lines().count();
            assert!(
                lines <= MAX_LINES,
                "{name} has {lines} lines, more than {MAX_LINES}: split it by subject"
            );
        }
    }
}

/// Tests inside a crate with `test = false` would never run.
#[test]
fn crates_without_tests_have_none() {
    let mut seen = 0;
    for dir in [
        "formats",
        "src/base",
        "src/fabric",
        "src/figure",
        "src/oblivious",
        "src/replay",
    ] {
        let manifest =
            std::fs::read_to_string(Path::new(ROOT).join(dir).join("Cargo.toml")).unwrap();
        if !manifest.lines().any(|line| line == "test = false") {
            continue;
        }
        seen += 1;
        for (name, text) in sources(dir) {
            assert!(
                !text.contains("#[test]"),
                "{name}: `test = false` in {dir}/Cargo.toml hides its tests"
            );
        }
    }
    assert!(seen > 0, "no crate leaves its tests out");
}

#[test]
fn the_repository_is_complete() {
    for name in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        ".ci/run",
        "docs/reference/experiment.md",
        "docs/model/fabric.md",
        "docs/reference/result.md",
    ] {
        let size = std::fs::metadata(Path::new(ROOT).join(name)).map_or(0, |m| m.len());
        assert!(size > 100, "{name} is missing or empty");
    }
}
