//! Every option of every command that takes a number, with zero, a negative and a huge number, nothing, and given twice:
//! refused by a message that names it, or accepted for a reason. `options.txt` lists the accepted ones with their reasons.

use super::reasons::have_reasons;
use super::{End, FLITWISE, end};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// The values, as help texts name them, that are numbers, sizes, times and lists of numbers.
const NUMBERS: [&str; 17] = [
    "<BYTES>",
    "<FLOPS>",
    "<GRID>",
    "<INT>",
    "<LIST>",
    "<N>",
    "<NIC>",
    "<P%>",
    "<PART>",
    "<SECONDS>",
    "<SEED>",
    "<SEEDS>",
    "<SIZE>",
    "<SRC> <DST>",
    "<TIME>",
    "<WIDTH>",
    "<X>",
];
/// The other ones: texts, names and files.
const TEXTS: [&str; 25] = [
    "<ARG>",
    "<AXIS=SETTING>",
    "<AXIS>",
    "<CLOCK>",
    "<DIR>",
    "<ENGINE>",
    "<FILE>",
    "<FORM>",
    "<FORMAT>",
    "<KEY=v1,v2>",
    "<KIND>",
    "<METRIC>",
    "<NAME>",
    "<NAME|KEY=TEXT>",
    "<OPTION>",
    "<PATH>",
    "<PATTERN>",
    "<PROGRAM>",
    "<RESULT>",
    "<STRING>",
    "<SUBSET>",
    "<TEXT>",
    "<TITLE>",
    "<WHEN>",
    "<a.b=c>",
];
/// A part of a network that fails.
const PARTS: &str = "<WHAT>";

/// The arguments with which each command succeeds; `@` stands for a task of the study. The kernels of `trace generate`
/// have the same.
const GOOD: [(&str, &str); 11] = [
    ("run", "exp.toml --quiet --no-split"),
    ("study", "study.toml --dry-run"),
    ("study tasks", "study.toml"),
    ("study task", "study.toml @"),
    ("plot", "result --quiet --kind time -o plot.svg"),
    ("explain", "exp.toml --quiet"),
    ("fabric info", "exp.toml"),
    ("congestion", "exp.toml"),
    ("orcs", "-i star8.dot"),
    ("trace convert", "ring.vef out.vef"),
    ("trace slice", "ring.vef out.vef --ranks 0-1"),
];
const GENERATE: &str = "--ranks 4 --iterations 1 -o out.vef";

/// The arguments of `GOOD` for `command` without `option`, which a test gives itself.
fn good(command: &str, option: &str, task: &str) -> Option<Vec<String>> {
    let known = GOOD.iter().find(|(name, _)| *name == command);
    let kernel = || command.starts_with("trace generate ").then_some(GENERATE);
    let words = known.map(|(_, words)| *words).or_else(kernel)?;
    let mut words: Vec<String> = words.split(' ').map(|w| w.replace('@', task)).collect();
    if let Some(at) = words.iter().position(|word| word == option) {
        words.drain(at..at + 2);
    }
    Some(words)
}

fn flitwise(dir: &Path, args: &[String]) -> (End, String, String) {
    let mut command = Command::new(FLITWISE);
    command.args(args).current_dir(dir).stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().unwrap())
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Adds the options with a value of `command` and its subcommands, by the names of the commands, as `--help` prints them.
fn add_options(command: &str, options: &mut BTreeMap<String, Vec<(String, String)>>) {
    let mut args = words(&format!("{command} --help"));
    args.retain(|word| !word.is_empty());
    let (how, help, _) = flitwise(Path::new("."), &args);
    assert_eq!(how, End::Exit(0), "{command}");
    let mut below = "";
    for line in help.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            below = line;
        }
        let indent = line.len() - line.trim_start().len();
        // The name and the value come before the meaning, which two spaces set off.
        let term = line.trim_start().split("  ").next().unwrap_or("");
        if below == "Commands:" && indent == 2 && term != "help" {
            add_options(format!("{command} {term}").trim_start(), options);
        } else if indent < 8 && term.starts_with('-') {
            let long = term.find("--").map(|at| &term[at..]);
            if let Some((name, value)) = long.and_then(|long| long.split_once(' ')) {
                let of_command = options.entry(command.to_owned()).or_default();
                of_command.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

/// Puts files for the commands into `dir`, and returns a task of the study there.
fn prepare(dir: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let done = |line: &str| {
        let (how, out, err) = flitwise(dir, &words(line));
        assert_eq!(how, End::Exit(0), "{line}: {err}");
        out
    };
    std::fs::copy(
        root.join("tests/corpus/orcs/star8.dot"),
        dir.join("star8.dot"),
    )
    .unwrap();
    std::fs::write(
        dir.join("exp.toml"),
        "[fabric]\ntopology = { kind = \"single\", nics = 4 }\n[[job]]\ntrace = \"ring.vef\"\n[[background]]\nrate = 0.1\n",
    )
    .unwrap();
    std::fs::write(
        dir.join("study.toml"),
        "experiment = \"exp.toml\"\n[[axis]]\nkey = \"background.0.rate\"\nvalues = [0.1, 0.2]\n",
    )
    .unwrap();
    done("trace generate ring --ranks 4 --iterations 2 -o ring.vef");
    done("run exp.toml --quiet --no-split --out result");
    let tasks = done("study tasks study.toml");
    tasks.lines().next().unwrap().to_owned()
}

#[test]
fn odd_numbers_are_refused_by_name_or_have_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let task = prepare(dir);
    let mut options = BTreeMap::new();
    add_options("", &mut options);
    let (mut accepted, mut wrong) = (BTreeSet::new(), Vec::new());
    for (command, options) in &options {
        for (option, value) in options {
            if TEXTS.contains(&&**value) || value == PARTS {
                continue;
            }
            assert!(
                NUMBERS.contains(&&**value),
                "{command} {option}: {value} is neither in NUMBERS nor in TEXTS"
            );
            let good =
                good(command, option, &task).unwrap_or_else(|| panic!("{command} is not in GOOD"));
            for odd in ["0", "-1", "1e30", "", "twice"] {
                let one = if odd == "twice" { "1" } else { odd };
                let mut given = vec![option.clone()];
                given.extend(value.split(' ').map(|_| one.to_owned()));
                if odd == "twice" {
                    given.extend(given.clone());
                }
                let mut args = words(command);
                args.extend(good.iter().cloned().chain(given));
                let (how, _, message) = flitwise(dir, &args);
                match how {
                    End::Exit(0) => drop(
                        accepted
                            .insert(format!("{command} {option} = {odd}").trim_end().to_owned()),
                    ),
                    End::Exit(2) if message.contains(option.trim_start_matches('-')) => {}
                    _ => wrong.push(format!("{args:?}: {how:?} {message}")),
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "they fail, or their message does not name the option:\n{}",
        wrong.join("\n")
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    have_reasons(&root.join("tests/interrupt/options.txt"), &accepted);
}
