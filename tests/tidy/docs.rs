//! The documents say what is there: links lead somewhere, and README shows the real
//! thing.

use crate::bless;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// What README runs first.
const FIRST: &str = "configs/hpl-16-tree.toml";

/// What stands before its output there.
const OUTPUT: &str = "The first prints:\n\n```\n";

/// Every document of the repository with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from(ROOT)];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !name.starts_with("target") {
                    open.push(path);
                }
            } else if name.ends_with(".md") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() >= 8, "only {} documents", found.len());
    found
}

/// Targets of the links of a document, outside of code blocks.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.trim())
        .collect()
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(document: &Path, wanted: &str) -> bool {
    let text = std::fs::read_to_string(document).unwrap();
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line) == wanted)
}

#[test]
fn links_lead_somewhere() {
    let (mut broken, mut count) = (String::new(), 0);
    for (path, text) in documents() {
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let good = target.exists() && (heading.is_empty() || has_anchor(&target, heading));
            if !good {
                broken.push_str(&format!("{}: {link}\n", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{broken}");
    assert!(count >= 10, "only {count} links");
}

#[test]
fn nothing_is_left_to_fill_in() {
    for (path, text) in documents() {
        assert!(!text.contains("@@"), "{} has a gap: @@", path.display());
    }
}

/// The block of README that starts with `start`.
fn block(start: &str) -> String {
    let text = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let (_, rest) = text.split_once(start).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn readme_shows_what_its_first_command_prints() {
    assert!(block("```sh\n").contains(&format!("run {FIRST}")));
    let out = Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(["run", FIRST])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(out.status.success());
    let (shown, printed) = (block(OUTPUT), String::from_utf8(out.stdout).unwrap());
    if bless::is_on() {
        let readme = Path::new(ROOT).join("README.md");
        let text = std::fs::read_to_string(&readme).unwrap();
        let (old, new) = (format!("{OUTPUT}{shown}"), format!("{OUTPUT}{printed}"));
        bless::write(&readme, &text.replacen(&old, &new, 1));
        return;
    }
    assert_eq!(
        shown, printed,
        "put the output of `flitwise run {FIRST}` into README.md"
    );
}

/// The experiment in README is the one that the command runs.
#[test]
fn readme_shows_the_experiment() {
    let shown: toml::Table = block("```toml\n").parse().unwrap();
    let text = std::fs::read_to_string(Path::new(ROOT).join(FIRST)).unwrap();
    let file: toml::Table = text.parse().unwrap();
    assert_eq!(shown, file);
}
