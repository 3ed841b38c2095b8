//! Links of the documents lead somewhere, and the book is complete, short enough and within its folder.

use crate::seams::sources;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Most words of the book without its logs. Bars of tables are none.
const MAX_WORDS: usize = 60_000;

/// Phrases that an editor replaces, in pages and sources: an idiom of ours, or a noun left out.
const PHRASES: &[&str] = &[
    "as good as",
    "comes to nothing",
    "goes on",
    "in its way",
    "looks into",
    "no telling",
    "nobody",
    "so many",
    "somebody",
    "that of",
    "those of",
];

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

/// Files that repeat the version, and how they write it.
const VERSIONED: &[(&str, &str)] = &[
    ("CITATION.cff", "version: V"),
    ("codemeta.json", "\"version\": \"V\""),
    ("packaging/conda/recipe.yaml", "version: \"V\""),
    ("packaging/flitwise.def", "image.version V"),
    (
        "packaging/spack/spack_repo/flitwise/packages/flitwise/package.py",
        "version(\"V\")",
    ),
];

#[test]
fn packages_have_the_version_of_the_program() {
    for (name, form) in VERSIONED {
        let text = std::fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
        let wanted = form.replace('V', env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&wanted), "{name} has no `{wanted}`");
    }
}

/// Whether a page is a log, which keeps the words of its day.
fn is_log(path: &Path) -> bool {
    path.parent().is_some_and(|dir| dir.ends_with("log"))
}

/// The pages of the book in order, with their texts; included files are part of their page.
fn book() -> Vec<(PathBuf, String)> {
    let docs = Path::new(ROOT).join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let page = |link: &str| {
        let path = docs.join(link);
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|e| panic!("SUMMARY.md: {link}: {e}"));
        let included = text.split("{{#include ").nth(1).map(|rest| {
            let (file, anchor) = rest.split_once("}}").unwrap().0.split_once(':').unwrap();
            let text = std::fs::read_to_string(path.parent().unwrap().join(file)).unwrap();
            let from = text.split_once(&format!("ANCHOR: {anchor} ")).unwrap().1;
            from.split_once("ANCHOR_END").unwrap().0.to_owned()
        });
        (path, text + &included.unwrap_or_default())
    };
    links(&summary).into_iter().map(page).collect()
}

#[test]
fn summary_lists_every_page() {
    let listed: Vec<PathBuf> = book().into_iter().map(|(path, _)| path).collect();
    let docs = Path::new(ROOT).join("docs");
    for (path, _) in documents() {
        let below = path.strip_prefix(&docs).ok();
        let is_page =
            below.is_some_and(|page| !page.starts_with("paper") && !page.ends_with("SUMMARY.md"));
        assert!(
            !is_page || listed.contains(&path),
            "docs/SUMMARY.md does not list {}",
            path.display()
        );
    }
}

#[test]
fn the_book_can_be_read() {
    let words = book()
        .iter()
        .filter(|(path, _)| !is_log(path))
        .flat_map(|(_, text)| text.split_whitespace())
        .filter(|word| word.contains(char::is_alphanumeric))
        .count();
    assert!(words > 20_000, "only {words} words");
    assert!(words <= MAX_WORDS, "{words} words; at most {MAX_WORDS}");
}

/// A link out of the folder of the book leads nowhere once the book is built.
#[test]
fn links_of_the_book_stay_inside() {
    let docs = Path::new(ROOT).join("docs");
    for (path, _) in book() {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap();
            let is_local = !file.is_empty() && !link.contains("://");
            let target = path.parent().unwrap().join(file).canonicalize();
            let is_outside = target.is_ok_and(|target| !target.starts_with(&docs));
            assert!(
                !is_local || !is_outside,
                "{}: {link} is outside of the book; name the file without a link",
                path.display()
            );
        }
    }
}

#[test]
fn phrases_that_an_editor_replaces_do_not_appear() {
    let mut texts = vec![("README.md".to_owned(), {
        std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap()
    })];
    texts.extend(
        book()
            .into_iter()
            .filter(|(path, _)| !is_log(path))
            .map(|(path, text)| (path.display().to_string(), text)),
    );
    texts.extend(
        ["src", "formats/src", "tests/oracles/src"]
            .into_iter()
            .flat_map(sources),
    );
    let mut found = String::new();
    for (name, text) in &texts {
        for (number, line) in (1..).zip(text.lines()) {
            // A description names its thing; it is no clause.
            let line = line.trim_start();
            if ["/// What ", "//! What "]
                .iter()
                .any(|clause| line.starts_with(clause))
            {
                found.push_str(&format!("{name}:{number}: What\n"));
            }
            let line = line.to_lowercase();
            for phrase in PHRASES {
                let is_word = |at: usize| {
                    let is_letter =
                        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                    !is_letter(line[..at].chars().next_back())
                        && !is_letter(line[at + phrase.len()..].chars().next())
                };
                if line.match_indices(phrase).any(|(at, _)| is_word(at)) {
                    found.push_str(&format!("{name}:{number}: {phrase}\n"));
                }
            }
        }
    }
    assert!(found.is_empty(), "rewrite these sentences:\n{found}");
}
