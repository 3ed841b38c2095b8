//! All commands that write, for the tests that kill them, send them signals and fill their disks.

use super::{End, command, names, run, text_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TRACE: &str = "traces/hpl-16.vef.gz";
const FABRIC: &str = "configs/hpl-16-tree.toml";
pub const GRAPH: &str = "tests/corpus/orcs/star8.dot";

/// What an output is at every moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A file, or a directory of one step: the old one or the new one.
    Whole,
    /// The result of a run: as above, or, after a signal, the result so far.
    Result,
    /// Tables of a study. A directory with study.json has all old tables or all new ones; after a signal, the tables of the
    /// runs so far.
    Tables,
    /// Records, each of which is complete.
    Records,
    /// A table with a row for each event: as the first; after a signal its first rows.
    Rows,
}

/// A command that writes, with two sets of arguments whose outputs differ.
pub struct Case {
    /// The command with its subcommands.
    pub name: String,
    /// The whole command line without the output.
    args: [Vec<String>; 2],
    /// The option of the output; empty: it is an argument of its own.
    option: &'static str,
    /// Its name in the directory of a test.
    pub output: &'static str,
    pub kind: Output,
}

pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub fn refs(line: &[String]) -> Vec<&str> {
    line.iter().map(String::as_str).collect()
}

/// All commands that write. `results` is a directory of [`results`].
pub fn cases(results: &Path) -> Vec<Case> {
    let at = |name: &str| text_of(&results.join(name));
    let (file, study) = (at("exp.toml"), at("study.toml"));
    let case = |name: &str, args: [String; 2], option, output, kind| Case {
        name: name.to_owned(),
        args: args.map(|more| [words(name), words(&more)].concat()),
        option,
        output,
        kind,
    };
    use Output::{Records, Result, Rows, Tables, Whole};
    let of = |text: &str| [text.to_owned(), text.to_owned()];
    let tasks = std::fs::read_to_string(results.join("tasks")).unwrap();
    let tasks: Vec<&str> = tasks.lines().collect();
    let (first, rest) = tasks.split_at(1);
    let starts = ["1us", "2us"].map(|start| format!("{file} --quiet --set job.0.start={start}"));
    let mut all = vec![
        case(
            "congestion",
            [
                format!("{FABRIC} --runs 20"),
                format!("{FABRIC} --runs 30 --pattern shift --format both"),
            ],
            "--out",
            "analysis",
            Whole,
        ),
        case(
            "congestion",
            [1, 2].map(|runs| format!("{FABRIC} --runs {runs} --seeds 1..2")),
            "--out",
            "analyses",
            Tables,
        ),
        case(
            "run",
            [1, 2].map(|seed| format!("{file} --quiet --force --seed {seed}")),
            "--out",
            "result",
            Result,
        ),
        case(
            "run",
            ["1..2", "1..3"].map(|seeds| format!("{file} --quiet --seeds {seeds}")),
            "--out",
            "seeds",
            Tables,
        ),
        case(
            "run",
            [1, 2].map(|seed| format!("{FABRIC} --quiet --no-split --seed {seed}")),
            "--records",
            "records",
            Records,
        ),
        case("run", starts.clone(), "--timeline", "timeline.csv", Rows),
        case("run", starts, "--messages", "messages.csv", Rows),
        case(
            "study",
            ["1..2", "2..3"].map(|seeds| format!("{study} --quiet --seeds {seeds}")),
            "--out",
            "study",
            Tables,
        ),
        case(
            "study task",
            [first, rest].map(|tasks| format!("{study} {}", tasks.join(" "))),
            "--out",
            "task",
            Records,
        ),
        case(
            "explain",
            [1, 2].map(|seed| format!("{file} --quiet --force --seed {seed}")),
            "--out",
            "explained",
            Result,
        ),
        case("man", of(""), "--out", "man", Whole),
        case(
            "qos dtable",
            ["", "--json"].map(|more| format!("configs/dtable-example.toml {more}")),
            "--out",
            "dtable.txt",
            Whole,
        ),
        case(
            "report",
            [
                format!("--quiet {}", at("run")),
                format!("--quiet {} {}", at("run"), at("study")),
            ],
            "--output",
            "page.html",
            Whole,
        ),
        case(
            "plot",
            ["", "--title other"]
                .map(|more| format!("--quiet --kind slowdown {} {more}", at("study"))),
            "--output",
            "figure.svg",
            Whole,
        ),
        case(
            "orcs",
            [10, 40].map(|runs| format!("-i {GRAPH} -p bisect -n {runs}")),
            "--output_file",
            "orcs.txt",
            Whole,
        ),
        case(
            "trace info",
            [TRACE, "traces/randomaccess-16.vef.gz"].map(str::to_owned),
            "--plot",
            "trace.svg",
            Whole,
        ),
        case(
            "trace convert",
            ["", "--format vef"].map(|more| format!("{TRACE} {more}")),
            "",
            "converted",
            Whole,
        ),
        case(
            "trace slice",
            ["0-7", "0-9"].map(|ranks| format!("{TRACE} --ranks {ranks}")),
            "",
            "slice.vef",
            Whole,
        ),
    ];
    for kernel in [
        "ring",
        "halo2d",
        "halo3d",
        "alltoall",
        "fft",
        "master-worker",
        "hpl",
        "random-access",
        "random-ring",
        "allreduce",
        "incast",
        "put-incast",
        "get-bcast",
        "ping-pong",
        "bandwidth",
    ] {
        all.push(case(
            &format!("trace generate {kernel}"),
            [16, 24].map(|ranks| format!("--ranks {ranks}")),
            "--output",
            "generated.vef",
            Whole,
        ));
    }
    all
}

/// A directory with a run, a study and their files.
pub fn results(dir: &Path) -> PathBuf {
    let results = dir.join("results");
    std::fs::create_dir(&results).unwrap();
    let file = super::experiment(&results);
    let study = results.join("study.toml");
    let root = env!("CARGO_MANIFEST_DIR");
    let text = format!(
        "name = \"killed\"\n[experiment.fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n\
         [[experiment.job]]\ntrace = \"{root}/tests/corpus/experiments/tiny.vef\"\n\
         [[axis]]\nkey = \"job.0.compute_scale\"\nvalues = [1, 2]\n"
    );
    std::fs::write(&study, text).unwrap();
    let [one, many, new] = ["run", "study", "new"].map(|name| text_of(&results.join(name)));
    let study = text_of(&study);
    let of_study = ["study", "tasks", &study, "--out", &new];
    for args in [
        &["run", &file, "--quiet", "--out", &one][..],
        &["run", &file, "--quiet", "--out", &many, "--seeds", "1..2"],
        &of_study,
    ] {
        let (how, text, message) = run(args);
        assert_eq!(how, End::Exit(0), "{message}");
        std::fs::write(results.join("tasks"), text).unwrap();
    }
    results
}

impl Case {
    /// The whole command line with the output at `path`.
    pub fn line(&self, variant: usize, path: &Path) -> Vec<String> {
        let mut line = self.args[variant].clone();
        if !self.option.is_empty() {
            line.push(self.option.to_owned());
        }
        line.push(text_of(path));
        line
    }

    pub fn complete(&self, variant: usize, path: &Path) -> Content {
        let line = self.line(variant, path);
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(0), "{}: {message}", self.name);
        content(path)
    }

    /// Both outputs at `path`, each made where nothing was, and how long the second takes. The first one is left at `copy`.
    pub fn outputs(&self, path: &Path, copy: &Path) -> ([Content; 2], Duration) {
        let first = self.complete(0, path);
        copied(path, copy);
        removed(path);
        let began = Instant::now();
        let second = self.complete(1, path);
        let took = began.elapsed();
        removed(path);
        ([first, second], took)
    }

    /// What is wrong with the output at `path`, if it was the first of `whole` and the command with the second arguments
    /// ended early; `signalled`: by a signal that it could see.
    pub fn fault(&self, path: &Path, whole: &[Content; 2], signalled: bool) -> Option<String> {
        let left = content(path);
        let of_both =
            |name: &str, bytes: &Vec<u8>| whole.iter().any(|whole| whole.get(name) == Some(bytes));
        let good = match self.kind {
            _ if whole.contains(&left) => true,
            Output::Whole => false,
            Output::Result => signalled && text(path, "result.json").contains("\"interrupted\""),
            Output::Tables if signalled && is_partial(path) => true,
            Output::Tables => {
                let has_all =
                    |whole: &Content| whole.iter().all(|(name, of)| left.get(name) == Some(of));
                left.iter().all(|(name, bytes)| of_both(name, bytes))
                    && (!left.contains_key("study.json") || whole.iter().any(has_all))
            }
            Output::Records => records(path).iter().all(|record| {
                let text = std::fs::read_to_string(record).unwrap();
                text.ends_with("\"}\n") && serde_json::from_str::<Value>(&text).is_ok()
            }),
            Output::Rows => {
                let new = &whole[1][""];
                let head = new.iter().position(|&b| b == b'\n').unwrap_or(0);
                let left = &left[""];
                signalled && left.ends_with(b"\n") && left.starts_with(&new[..head])
            }
        };
        (!good).then(|| format!("{}: {:?}", self.name, left.keys()))
    }
}

fn text(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_default()
}

/// Whether a directory has the tables of a part of a study, and says so.
fn is_partial(dir: &Path) -> bool {
    let study: Value = serde_json::from_str(&text(dir, "study.json")).unwrap_or_default();
    let number = |key: &str| study[key].as_u64().unwrap_or(0);
    let rows = text(dir, "runs.jsonl").lines().count() as u64;
    number("missing") > 0 && rows + number("missing") == number("runs")
}

/// The files of records below `dir`.
fn records(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names(dir) {
        let path = dir.join(&name);
        if path.is_dir() {
            found.extend(records(&path));
        } else if !name.starts_with('.') && name.ends_with(".json") && name.len() > 32 {
            found.push(path);
        }
    }
    found
}

pub type Content = BTreeMap<String, Vec<u8>>;

/// The bytes of a file, or of the files in a directory, without what differs from run to run.
pub fn content(path: &Path) -> Content {
    if path.is_file() {
        return BTreeMap::from([(String::new(), std::fs::read(path).unwrap())]);
    }
    let mut names = names(path);
    names.retain(|name| name != "command.txt" && path.join(name).is_file());
    names.retain(|name| !name.starts_with('.') && name.len() < 32);
    let read = |name: String| {
        let bytes = std::fs::read(path.join(&name)).unwrap();
        let Ok(Value::Object(mut json)) = serde_json::from_slice(&bytes) else {
            return (name, bytes);
        };
        match json.remove("engine") {
            Some(_) => (name, Value::Object(json).to_string().into_bytes()),
            None => (name, bytes),
        }
    };
    names.into_iter().map(read).collect()
}

/// The hidden files and directories below `dir`: what an ended command has left.
pub fn left_over(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names(dir) {
        let path = dir.join(&name);
        if name.starts_with('.') {
            found.push(path);
        } else if path.is_dir() {
            found.extend(left_over(&path));
        }
    }
    found
}

pub fn copied(from: &Path, to: &Path) {
    removed(to);
    let done = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(done.unwrap().success());
}

pub fn removed(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}

/// Options with the name of a file or directory that is read.
const READ: [&str; 10] = [
    "--from",
    "--against",
    "--tables",
    "--pairs",
    "--trace",
    "--hosts",
    "--path",
    "--input_file",
    "--label",
    "--preset",
];

/// The subcommands of a command, and its options of files and directories; an argument that is an output counts as an
/// option without a name.
fn parts_of(line: &[&str]) -> (Vec<String>, Vec<String>) {
    let help = command(&[line, &["-h"]].concat()).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (mut below, mut options) = (Vec::new(), Vec::new());
    let mut in_commands = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            in_commands = line.starts_with("Commands:");
        }
        if let Some(usage) = line.strip_prefix("Usage: ") {
            options.extend(usage.contains("<OUTPUT>").then(String::new));
        }
        let mut words = line.split_whitespace();
        match words.next() {
            Some(name) if in_commands && line.starts_with("  ") && !line.starts_with("   ") => {
                below.extend(
                    (name != "help" && !name.starts_with("Commands")).then(|| name.to_owned()),
                );
            }
            Some(first) if first.starts_with('-') => {
                let words: Vec<&str> = line.split_whitespace().take(3).collect();
                let value = words
                    .iter()
                    .position(|w| ["<FILE>", "<DIR>", "<PATH>"].contains(w));
                options.extend(value.map(|at| words[at - 1].to_owned()));
            }
            _ => {}
        }
    }
    (below, options)
}

/// A new subcommand or option that writes is an error here until it is in [`cases`].
#[test]
fn every_command_that_writes_is_in_the_list() {
    let dir = tempfile::tempdir().unwrap();
    let all = cases(&results(dir.path()));
    let mut open = vec![String::new()];
    let mut found = 0;
    while let Some(name) = open.pop() {
        let (below, options) = parts_of(&name.split_whitespace().collect::<Vec<_>>());
        open.extend(
            below
                .iter()
                .map(|one| format!("{name} {one}").trim().to_owned()),
        );
        for option in options.iter().filter(|one| !READ.contains(&one.as_str())) {
            // `study tasks` reads the records in its directory; `init` never replaces a file and has a test of its own;
            // the program writes what `record` leaves, and tests/record kills it.
            if ["study tasks", "init", "record"].contains(&name.as_str()) && option == "--out" {
                continue;
            }
            let mut cases = all.iter();
            let known = cases.any(|case| case.name == name && case.option == option);
            assert!(
                known,
                "`{name} {option}` writes a file, and no test kills it"
            );
            found += 1;
        }
    }
    assert!(found >= 20, "{found} outputs found");
}
