//! The words that CONTRIBUTING.md has terms for, in its column *not*: they do not appear in names and comments.

use crate::seams::sources;
use std::path::Path;

/// Crates whose subject the glossary is about.
const MODEL: &[&str] = &["src/base/", "src/fabric/", "src/replay/"];

/// Words with an everyday sense, which only the model must avoid.
const ORDINARY: &[&str] = &[
    "account",
    "adapter",
    "departure",
    "offer",
    "mode",
    "space",
    "stall",
    "track",
    "way",
];

/// Words with another sense: the word, the files that may use it, and the sense.
const OTHER_SENSES: &[(&str, &str, &str)] = &[
    ("entry", "", "an entry of a table, list or map"),
    ("exit", "", "the exit of the process"),
    (
        "host",
        "",
        "hosts of graphs and of InfiniBand's tools, and keys of experiments and results",
    ),
    ("lane", "", "a lane of a link (power)"),
    ("local", "", "a local link, and a local queueing scheme"),
    ("mode", "src/replay/", "the modes of MPI's sends"),
    (
        "space",
        "src/fabric/switch/voq/mod.rs",
        "the title of a publication",
    ),
    ("stall", "src/replay/", "a job that can't continue"),
];

/// Idioms that say nothing of a route.
const IDIOMS: &[&str] = &[
    "on the way",
    "on its way",
    "on their way",
    "under way",
    "way back",
];

/// The words of the column *not* of all tables.
fn forbidden() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut found, mut has_column) = (Vec::new(), false);
    for line in text.lines().filter_map(|line| line.strip_suffix('|')) {
        let last = line.rsplit('|').next().unwrap_or("");
        if line.starts_with("| term |") {
            has_column = last.trim() == "not";
        } else if has_column && line.starts_with("| ") {
            let words = last.split(',').map(|word| word.trim().to_lowercase());
            found.extend(words.filter(|word| !word.is_empty()));
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// The words of a line in lower case: `on_the_way` and `OnTheWay` have three. Texts in quotes are left out;
/// `in_text`: the line begins within one.
fn words(line: &str, in_text: &mut bool) -> Vec<String> {
    let (mut kept, mut before) = (String::new(), ' ');
    let mut rest = line.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '"' if *in_text => *in_text = false,
            '"' if before != '\'' => *in_text = true,
            _ if *in_text => {}
            '/' if line[at..].starts_with("//") => {
                kept.push_str(&line[at..]);
                break;
            }
            _ => kept.push(c),
        }
        before = c;
    }
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in kept.chars() {
        if !c.is_alphabetic() || c.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The words of a file with their lines, without those of [`IDIOMS`].
fn words_of(text: &str) -> Vec<(usize, String)> {
    let mut in_text = false;
    let lines = (1..).zip(text.lines());
    let all = lines.flat_map(|(number, line)| {
        let words = words(line, &mut in_text);
        words.into_iter().map(move |word| (number, word))
    });
    let mut all: Vec<_> = all.collect();
    for idiom in IDIOMS {
        while let Some((at, count)) = position(&all, idiom) {
            all.drain(at..at + count);
        }
    }
    all
}

/// Where `phrase` begins, in the singular or plural, and the number of its words.
fn position(words: &[(usize, String)], phrase: &str) -> Option<(usize, usize)> {
    let parts: Vec<&str> = phrase.split([' ', '-']).collect();
    let is_part = |part: &str, word: &str| word == part || word.strip_suffix('s') == Some(part);
    let mut windows = words.windows(parts.len());
    let at = windows.position(|window| {
        let pairs = parts.iter().zip(window);
        pairs
            .into_iter()
            .all(|(part, (_, word))| is_part(part, word))
    })?;
    Some((at, parts.len()))
}

#[test]
fn no_word_is_used_that_the_glossary_replaces() {
    let forbidden = forbidden();
    let mut found = String::new();
    for (name, text) in ["src", "formats/src"].into_iter().flat_map(sources) {
        let in_model = MODEL.iter().any(|dir| name.starts_with(dir));
        let all = words_of(&text);
        for word in &forbidden {
            let allowed = !in_model && ORDINARY.contains(&word.as_str())
                || OTHER_SENSES
                    .iter()
                    .any(|&(other, below, _)| word == other && name.starts_with(below));
            if let Some((at, _)) = position(&all, word).filter(|_| !allowed) {
                found.push_str(&format!("{name}:{}: {word}\n", all[at].0));
            }
        }
    }
    assert!(
        found.is_empty(),
        "CONTRIBUTING.md has the words to use instead; a word with another sense belongs into `OTHER_SENSES`\n{found}"
    );
}

#[test]
fn words_are_taken_from_names_and_comments() {
    let of = |line| words(line, &mut false).join(" ");
    assert_eq!(
        of("fn give_back(x: OnTheWay) // a \"b\" CarTrack"),
        "fn give back x on the way a b car track"
    );
    assert_eq!(
        of("let text = \"not this\\\" one\" + that;"),
        "let text that"
    );
}
