//! What a user starts from: every template runs outside of the repository, and `flitwise list` has every word.

use flitwise::config::experiment_keys;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the words of a command line in `dir`.
fn flitwise(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitwise"));
    command.args(args).current_dir(dir).output().unwrap()
}

fn printed(dir: &Path, args: &[&str]) -> String {
    let out = flitwise(dir, args);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {errors}");
    String::from_utf8(out.stdout).unwrap()
}

/// The templates with their questions.
fn templates(dir: &Path) -> Vec<(String, String)> {
    let list = printed(dir, &["init", "--list"]);
    let lines = list.lines().take_while(|line| !line.is_empty());
    let pairs = lines.map(|line| line.split_once("  ").unwrap());
    pairs
        .map(|(name, question)| (name.to_owned(), question.trim().to_owned()))
        .collect()
}

/// Keys without a comment, except for `name` and the like.
fn without_comment(text: &str) -> Vec<&str> {
    let explains = |line: &str| line.starts_with('#') || line.contains(" # ");
    let lines: Vec<&str> = text.lines().collect();
    let mut keys = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, _)) = line.split_once('=') else {
            continue;
        };
        let says_itself =
            ["name", "description", "tags", "trace", "topology"].contains(&key.trim());
        let is_key = !line.starts_with([' ', '#']) && !says_itself;
        if is_key && !explains(line) && !(at > 0 && lines[at - 1].starts_with('#')) {
            keys.push(*line);
        }
    }
    keys
}

#[test]
fn every_template_runs_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let templates = templates(dir);
    assert!(templates.len() >= 10, "{templates:?}");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0);
    for (name, question) in templates {
        assert!(question.ends_with('?'), "{name}: {question}");
        let dir = &dir.join(&name);
        std::fs::create_dir(dir).unwrap();
        let told = printed(dir, &["init", &name]);
        let commands: Vec<&str> = told
            .lines()
            .filter_map(|l| l.strip_prefix("  flitwise "))
            .collect();
        assert!(commands.len() >= 2, "{told}");
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let schema = text
                .lines()
                .next()
                .unwrap()
                .strip_prefix("#:schema ./")
                .unwrap();
            let schema = std::fs::read(dir.join(schema)).unwrap();
            let schema =
                jsonschema::validator_for(&serde_json::from_slice(&schema).unwrap()).unwrap();
            let table: toml::Table = text.parse().unwrap();
            let errors: Vec<String> = schema
                .iter_errors(&serde_json::to_value(&table).unwrap())
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
            assert_eq!(without_comment(&text), [""; 0], "{}", path.display());
            if !table.contains_key("experiment") {
                printed(dir, &["fabric", "check", path.to_str().unwrap()]);
            }
        }
        let first: Vec<&str> = commands[0].split_whitespace().collect();
        printed(dir, &first);
        // The others are right as far as their arguments go.
        for command in &commands[1..] {
            let subcommand = command.split_whitespace().next().unwrap();
            assert!(
                ["run", "explain", "fabric", "congestion", "study", "report"].contains(&subcommand)
            );
        }
    }
}

#[test]
fn every_word_of_the_experiment_is_listed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let overview: Value = serde_json::from_str(&printed(here, &["list", "--json"])).unwrap();
    let mut listed = Vec::new();
    for one in overview["kinds"].as_array().unwrap() {
        let kind = one["kind"].as_str().unwrap();
        let words: Value = serde_json::from_str(&printed(here, &["list", kind, "--json"])).unwrap();
        for line in words["words"].as_array().unwrap() {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            assert!(!text("meaning").is_empty(), "{kind}: {line}");
            listed.push((text("key"), text("word")));
        }
    }
    for key in experiment_keys() {
        for word in key.words {
            let pair = (key.path.clone(), word.text);
            assert!(listed.contains(&pair), "{pair:?}");
        }
    }
}
