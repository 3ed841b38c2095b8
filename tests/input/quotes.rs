//! What messages show of the input: never more than 200 characters at once, never a character that
//! a terminal obeys, and always the place.

use flitwise::config::{dtable_text, load, resolve_text};
use flitwise::formats::vef::check_file;
use flitwise::quote::{
    MAX_QUOTE, csv_cell, cut, is_unprintable, message, of_csv_cell, printed, quoted, quoted_bytes,
};
use std::path::Path;

/// Characters of a message that quotes at most a key, a value and a line.
const MOST: usize = 1500;

/// A word of a megabyte that begins with what clears a terminal.
fn long() -> String {
    format!("\u{1b}[2J\u{202e}{}", "x".repeat(1 << 20))
}

/// Checks that a message is short and harmless, and says that it left something out.
fn short(message: &str) {
    harmless(message);
    assert!(message.contains('…'), "{message}");
}

fn harmless(message: &str) {
    let start: String = message.chars().take(300).collect();
    assert!(message.chars().count() < MOST, "{start}");
    let obeyed = |c| c != '\n' && is_unprintable(c);
    assert!(!message.chars().any(obeyed), "{start}");
    assert!(!message.contains(&"x".repeat(201)), "{start}");
}

fn refused(text: &str, sets: &[String]) -> String {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/traces"));
    let error = resolve_text("exp.toml", text, dir, sets).unwrap_err();
    error.to_string()
}

#[test]
fn experiments_quote_little_of_a_long_line() {
    // As a basic string of TOML, which has no control characters.
    let word = long().replace('\u{1b}', "\\u001b");
    let job = "[[job]]\ntrace = \"hpl-16.vef.gz\"\n";
    for text in [
        format!("{word} = 1"),
        format!("seed = {word}"),
        format!("seed = \"{word}\""),
        format!("seed = [\"{word}\"]"),
        format!("\"{word}\" = 1"),
        format!("[fabric]\n\"{word}\" = 1"),
        format!("[fabric]\nkind = \"{word}\""),
        format!("[fabric]\nflit = \"{word}\""),
        format!("[fabric]\nflit = \"7{}\"", "x".repeat(1 << 20)),
        format!("[fabric]\nkind = \"voq\"\nlink_speed = \"{word}\""),
        format!("[fabric]\nkind = \"voq\"\nlink_speed = \"{word}/s\""),
        format!("[fabric]\npreset = \"{word}\""),
        format!("[qos]\nscheduler = \"{word}\""),
        format!("[qos]\nservice_levels = [{{ name = \"{word}\", scs = [0], share = 1 }}]"),
        format!("[qos.dtable.distances]\n\"{word}\" = 1"),
        format!(
            "[congestion_control]\nkind = \"ib\"\n[congestion_control.service_levels.\"{word}\"]\nThreshold = 1"
        ),
        format!("[[background]]\nrate = \"{word}\""),
        format!("[[background]]\nrate = 0.1\nsl = \"{word}\""),
        format!("[[background]]\nrate = 0.1\npattern = \"{word}\""),
        format!("[[job]]\ntrace = \"{word}\""),
        format!("{job}name = \"{word}\""),
        format!("{job}sl = \"{word}\""),
        format!("{job}vfabric = \"{word}\""),
        format!("{job}placement = \"{word}\""),
        format!("{job}repeat = \"{word}\""),
        format!("{job}[[vfabric]]\nname = \"{word}\"\ntc = 0"),
        format!("{job}[collectives]\nbcast = \"{word}\""),
        format!(
            "[fabric.topology]\nkind = \"torus\"\ndimensions = [{}]",
            ["1"; 100_000].join(", ")
        ),
    ] {
        short(&refused(&text, &[]));
    }
}

#[test]
fn overrides_quote_little() {
    let word = long();
    for set in [
        word.clone(),
        format!("{word}=1"),
        format!("seed={word}"),
        format!("seed.{word}=1"),
        format!("job.{word}=1"),
        format!("job.0.sl={word}"),
    ] {
        let text = "job = [{ trace = \"hpl-16.vef.gz\" }]\n";
        short(&refused(text, &[set]));
    }
    let set = format!("dtable.service_levels.0.name={word}");
    let error = dtable_text("--preset", "[dtable]\nservice_levels = [{}]\n", &[set]);
    // Refused for the entries that are missing, which are looked at before the name.
    assert!(error.unwrap_err().to_string().len() < MOST);
}

#[test]
fn files_beside_the_experiment_quote_little() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let word = long();
    std::fs::write(path("cct"), &word).unwrap();
    std::fs::write(path("fabric"), format!("Switch\t8 \"{word}\"\n")).unwrap();
    for (text, place) in [
        (
            "[fabric]\nkind = \"voq\"\n[congestion_control]\nkind = \"ib\"\nCCT = { file = \"cct\" }\n",
            "cct:1: ",
        ),
        (
            "[fabric]\nkind = \"voq\"\ntopology = { kind = \"ibnetdiscover\", file = \"fabric\" }\n",
            "fabric:1: ",
        ),
    ] {
        std::fs::write(path("exp.toml"), text).unwrap();
        let message = load(&path("exp.toml"), &[]).unwrap_err().to_string();
        assert!(message.contains(place), "{message}");
        harmless(&message);
    }
}

#[test]
fn traces_quote_little() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.vef");
    let (word, digits) = (long(), "1".repeat(1 << 20));
    for text in [
        word.clone(),
        format!("VEF3 2 1 0 0 0 0 1000\n{word}\n"),
        format!("VEF3 2 1 0 0 0 0 1000\n0 0 1 {digits} 0 0 -1\n"),
        format!("VEF3 2 1 1 0 0 0 1000\nC0 {word}\n"),
    ] {
        std::fs::write(&path, text).unwrap();
        let message = match check_file(&path) {
            Ok(check) => check.errors.first[0].message.clone(),
            Err(e) => e.to_string(),
        };
        harmless(&message);
    }
}

/// What nests too deeply names its file and line.
#[test]
fn nesting_names_the_place() {
    let lists = "[".repeat(1000) + &"]".repeat(1000);
    let tables = "{ a = ".repeat(1000) + "1" + &" }".repeat(1000);
    let parts = "a.".repeat(1000) + "b = 1";
    for nested in [
        format!("x = {lists}"),
        format!("x = {tables}"),
        parts.clone(),
        format!("[{}]", parts.trim_end_matches(" = 1")),
        format!("x = {{ {parts} }}"),
    ] {
        for text in [
            format!("seed = 1\n\n{nested}\n"),
            format!("seed = 1\n\n{nested}\ny = \"\"\"\n\n\"\"\"\n"),
            format!("\n\n{nested}"),
        ] {
            let message = refused(&text, &[]);
            assert!(message.starts_with("exp.toml:3:"), "{message}");
            assert!(message.contains("is that deep"), "{message}");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("base.toml"), format!("\n{parts}\n")).unwrap();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/traces/hpl-16.vef.gz");
    let text = format!("job = [{{ trace = {trace:?} }}]\nbaseline.file = \"base.toml\"\n");
    let error = resolve_text("exp.toml", &text, dir.path(), &[]).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("base.toml:2:"), "{message}");
}

/// A chain of errors names each cause once: `{:#}` prints all of them, and so do many programs.
#[test]
fn causes_are_named_once() {
    let trace = format!("{}/traces/hpl-16.vef.gz", env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.vef.gz");
    std::fs::write(&cut, &std::fs::read(&trace).unwrap()[..3000]).unwrap();
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (path, cause) in [
        (dir.path().join("nowhere.vef"), "No such file"),
        (empty, "is a directory"),
        (cut.clone(), "damaged"),
    ] {
        let error = anyhow::Error::from(check_file(&path).unwrap_err());
        let chain = format!("{error:#}");
        assert_eq!(chain.matches(cause).count(), 1, "{chain}");
        let name = path.display().to_string();
        assert_eq!(chain.matches(&name).count(), 1, "{chain}");
    }
    let text = format!("job = [{{ trace = {:?} }}]\n", cut.display().to_string());
    let plan = resolve_text("exp.toml", &text, dir.path(), &[]).unwrap();
    let control = flitwise::run::Control::default();
    let error = flitwise::run::run_plan(&plan, &control, 1).unwrap_err();
    let chain = format!("{:#}", anyhow::Error::from(error));
    assert_eq!(chain.matches("damaged").count(), 1, "{chain}");
    assert_eq!(chain.matches("incomplete").count(), 1, "{chain}");
}

#[test]
fn short_texts_are_shown_whole_and_long_ones_by_their_start() {
    assert_eq!(quoted("").to_string(), "``");
    let most = "é".repeat(MAX_QUOTE);
    assert_eq!(cut(&most).to_string(), most);
    let more = format!("{most}é");
    assert_eq!(
        quoted(&more).to_string(),
        format!("`{most}…` ({} characters)", MAX_QUOTE + 1)
    );
}

#[test]
fn nothing_that_a_terminal_obeys_is_shown() {
    let all: String = ('\0'..='\u{ffff}').collect();
    for text in all.split_inclusive('a') {
        assert!(!cut(text).to_string().chars().any(is_unprintable));
    }
    let escapes = "\u{1b}".repeat(1 << 20);
    let shown = cut(&escapes).to_string();
    assert!(shown.starts_with(r"\u{1b}\u{1b}"), "{shown}");
    assert!(shown.chars().count() < MAX_QUOTE + 40, "{shown}");
    assert!(shown.ends_with("… (1048576 characters)"), "{shown}");
}

#[test]
fn bytes_that_are_no_text_are_escaped() {
    assert_eq!(quoted_bytes(b"12\xff\x1b", true), r"`12\xff\x1b`");
    let long = quoted_bytes(&[b'7'; 1 << 20], false);
    assert!(long.ends_with("7…` (more than 1048576 bytes)"), "{long}");
    assert!(long.len() < MAX_QUOTE + 40, "{long}");
}

/// Whatever is printed shows no control character, and a document stays one.
#[test]
fn what_is_printed_is_harmless() {
    assert_eq!(
        printed("a\tb\n\u{1b}[2J\u{9b}\u{202e}"),
        "a\tb\n\\u001b[2J\\u009b\\u202e"
    );
    let document = format!("{}", serde_json::json!({ "name": "\u{7f}\u{202e}" }));
    let again: serde_json::Value = serde_json::from_str(&printed(&document)).unwrap();
    assert_eq!(again["name"], "\u{7f}\u{202e}");
    let long = "x".repeat(100_000);
    let shown = message(&format!("short\n{long}")).into_owned();
    assert!(
        shown.len() < 9000
            && shown.starts_with("short\n")
            && shown.ends_with("… (100000 characters)")
    );
}

/// No cell of a table with text of input is a formula of a spreadsheet; numbers are as they were.
#[test]
fn cells_are_no_formulas() {
    for text in [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "\r=1",
    ] {
        let cell = csv_cell(text);
        assert!(cell.starts_with('\''), "{text}");
        assert_eq!(of_csv_cell(&cell), text);
    }
    for text in ["-1.5", "+2", "-", "1e-3", "rr", "", "'quoted'"] {
        assert_eq!(csv_cell(text), text);
        assert_eq!(of_csv_cell(text), text);
    }
}

/// A cell may have as many characters as a value of an axis.
#[test]
fn long_cells_are_cut() {
    let long = "7,".repeat(70_000);
    let rows = [["permutation", "mean"], [&long, "1"]].map(|row| row.map(str::to_owned).to_vec());
    let mut table = String::new();
    flitwise::results::write_table(&mut table, &rows).unwrap();
    assert!(
        table.len() < 1000 && table.contains("… (140000 characters)"),
        "{table}"
    );
}
