//! Every command that writes files: whatever ends it leaves its outputs as they were or as they shall be.

use super::{End, FLITWISE, SIGKILL, command, end, names, run, signal, text_of};
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const TRACE: &str = "traces/hpl-16.vef.gz";
const FABRIC: &str = "configs/hpl-16-tree.toml";
const GRAPH: &str = "tests/corpus/orcs/star8.dot";

/// Kills of each command; `FLITWISE_KILLS` asks for another number.
const KILLS: usize = 6;

/// A command that writes files, with two sets of arguments whose outputs differ.
struct Case {
    name: &'static str,
    /// The arguments without the output.
    args: [Vec<String>; 2],
    /// The option of the output, and its name in the directory of the test.
    option: &'static str,
    output: &'static str,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// All commands that write. `results` holds a finished run and a finished study.
fn cases(results: &Path) -> Vec<Case> {
    let at = |name: &str| text_of(&results.join(name));
    let case = |name, args: [String; 2], option, output| Case {
        name,
        args: args.map(|args| words(&args)),
        option,
        output,
    };
    let of = |text: &str| [text.to_owned(), text.to_owned()];
    vec![
        case(
            "congestion",
            [
                format!("congestion {FABRIC} --runs 20"),
                format!("congestion {FABRIC} --runs 30 --pattern shift --format both"),
            ],
            "--out",
            "analysis",
        ),
        case("man", of("man"), "--out", "man"),
        case(
            "qos",
            [
                "qos dtable configs/dtable-example.toml".to_owned(),
                "qos dtable configs/dtable-example.toml --json".to_owned(),
            ],
            "--out",
            "dtable.txt",
        ),
        case(
            "report",
            [
                format!("report --quiet {}", at("run")),
                format!("report --quiet {} {}", at("run"), at("study")),
            ],
            "-o",
            "page.html",
        ),
        case(
            "plot",
            [
                format!("plot --quiet --kind slowdown {}", at("study")),
                format!("plot --quiet --kind slowdown {} --title other", at("study")),
            ],
            "-o",
            "figure.svg",
        ),
        case(
            "orcs",
            [
                format!("orcs -i {GRAPH} -p bisect -n 10"),
                format!("orcs -i {GRAPH} -p bisect -n 40"),
            ],
            "-o",
            "orcs.txt",
        ),
        case(
            "trace generate",
            [
                "trace generate ring --ranks 64".to_owned(),
                "trace generate ring --ranks 65".to_owned(),
            ],
            "-o",
            "ring.vef",
        ),
        case(
            "trace convert",
            [
                format!("trace convert {TRACE}"),
                format!("trace convert {TRACE} --format vef"),
            ],
            "",
            "converted",
        ),
        case(
            "trace slice",
            [
                format!("trace slice {TRACE} --ranks 0-7"),
                format!("trace slice {TRACE} --ranks 0-9"),
            ],
            "",
            "slice.vef",
        ),
    ]
}

impl Case {
    /// The whole command line with the output at `path`.
    fn line(&self, variant: usize, path: &Path) -> Vec<String> {
        let mut line = self.args[variant].clone();
        if !self.option.is_empty() {
            line.push(self.option.to_owned());
        }
        line.push(text_of(path));
        line
    }

    fn complete(&self, variant: usize, path: &Path) -> Content {
        let line = self.line(variant, path);
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(0), "{}: {message}", self.name);
        content(path)
    }
}

fn refs(line: &[String]) -> Vec<&str> {
    line.iter().map(String::as_str).collect()
}

type Content = BTreeMap<String, Vec<u8>>;

/// The bytes of a file, or of the files in a directory, without the record of the command line.
fn content(path: &Path) -> Content {
    if path.is_file() {
        return BTreeMap::from([(String::new(), std::fs::read(path).unwrap())]);
    }
    let mut names = names(path);
    names.retain(|name| name != "command.txt" && path.join(name).is_file());
    names.retain(|name| !name.starts_with('.'));
    let read = |name: String| (name.clone(), std::fs::read(path.join(name)).unwrap());
    names.into_iter().map(read).collect()
}

/// A directory with a run and a study, which `report` and `plot` read.
fn results(dir: &Path) -> PathBuf {
    let (file, results) = (super::experiment(dir), dir.join("results"));
    let [one, many] = ["run", "study"].map(|name| text_of(&results.join(name)));
    for args in [
        &["run", &file, "--quiet", "--out", &one][..],
        &["run", &file, "--quiet", "--out", &many, "--seeds", "1..2"],
    ] {
        let (how, _, message) = run(args);
        assert_eq!(how, End::Exit(0), "{message}");
    }
    results
}

#[test]
fn a_killed_command_leaves_the_old_or_the_new_output() {
    let dir = tempfile::tempdir().unwrap();
    let kills = std::env::var("FLITWISE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    for case in cases(&results(dir.path())) {
        let work = dir.path().join("work");
        let path = work.join(case.output);
        std::fs::create_dir(&work).unwrap();
        let began = Instant::now();
        let whole = [0, 1].map(|variant| case.complete(variant, &path));
        let wall = began.elapsed() / 2;
        for kill in 0..kills {
            let line = case.line(kill % 2, &path);
            let mut child = command(&refs(&line)).spawn().unwrap();
            // Spread over the time of a command, with most near its end.
            let part = ((kill + 1) as f64 / kills as f64).sqrt();
            std::thread::sleep(wall.mul_f64(1.1 * part));
            if child.try_wait().unwrap().is_none() {
                signal(&child, SIGKILL);
            }
            child.wait().unwrap();
            let left = content(&path);
            assert!(whole.contains(&left), "{}: {:?}", case.name, left.keys());
        }
        assert_eq!(case.complete(0, &path), whole[0], "{}", case.name);
        std::fs::remove_dir_all(&work).unwrap();
    }
}

/// A full disk, as the limit on the size of files, with the signal that this limit sends.
#[test]
fn a_full_disk_leaves_the_old_output() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases(&results(dir.path())) {
        let path = dir.path().join(case.output);
        let old = case.complete(0, &path);
        let child = Command::new("sh")
            .args(["-c", "ulimit -f 0; exec \"$0\" \"$@\"", FLITWISE])
            .args(case.line(1, &path))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (how, _, message) = end(child);
        assert_eq!(how, End::Exit(1), "{}: {message}", case.name);
        assert!(
            message.contains("File too large"),
            "{}: {message}",
            case.name
        );
        assert_eq!(content(&path), old, "{}", case.name);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let results = results(dir.path());
    let closed = dir.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write everywhere but in /proc.
    let superuser = std::fs::write(closed.join("x"), "").is_ok();
    let place = if superuser {
        Path::new("/proc")
    } else {
        &closed
    };
    for case in cases(&results) {
        let line = case.line(0, &place.join("no").join(case.output));
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(2), "{}: {message}", case.name);
    }
}

/// Whatever lies behind a link in a directory of results stays as it is.
#[test]
fn links_in_a_directory_are_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let file = super::experiment(dir.path());
    let (kept, study) = (dir.path().join("kept"), dir.path().join("study"));
    let pages = dir.path().join("man");
    let lines = [
        words(&format!(
            "run {file} --quiet --seeds 1..2 --out {}",
            text_of(&study)
        )),
        words(&format!("man --out {}", text_of(&pages))),
    ];
    let complete = || {
        for line in &lines {
            let (how, _, message) = run(&refs(line));
            assert_eq!(how, End::Exit(0), "{message}");
        }
    };
    complete();
    for path in [
        study.join("runs.csv"),
        study.join("command.txt"),
        study.join("summary.txt"),
        pages.join("flitwise.1"),
    ] {
        let old = std::fs::read(&path).unwrap();
        std::fs::write(&kept, "mine").unwrap();
        std::fs::remove_file(&path).unwrap();
        symlink(&kept, &path).unwrap();
        complete();
        assert_eq!(std::fs::read(&kept).unwrap(), b"mine", "{}", path.display());
        assert!(!path.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), old);
    }
    // The directory of the slowest run may be a link as well.
    let (slowest, elsewhere) = (study.join("slowest-run"), dir.path().join("elsewhere"));
    std::fs::rename(&slowest, &elsewhere).unwrap();
    std::fs::write(elsewhere.join("summary.txt"), "mine").unwrap();
    symlink(&elsewhere, &slowest).unwrap();
    complete();
    assert_eq!(
        std::fs::read(elsewhere.join("summary.txt")).unwrap(),
        b"mine"
    );
    assert!(!slowest.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn results_of_other_commands_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let results = results(dir.path());
    let file = text_of(&dir.path().join("exp.toml"));
    let analysis = results.join("analysis");
    let all = cases(&results);
    all[0].complete(0, &analysis);
    let analyse = |at: &str| all[0].line(0, &results.join(at));
    let one = |at: &str| {
        words(&format!(
            "run {file} --force --out {}",
            text_of(&results.join(at))
        ))
    };
    let many = |at: &str| [one(at), words("--seeds 1..2")].concat();
    let mut without_force = many("analysis");
    without_force.retain(|word| word != "--force");
    for (line, at) in [
        (analyse("run"), "run"),
        (analyse("study"), "study"),
        (one("analysis"), "analysis"),
        (one("study"), "study"),
        (without_force, "analysis"),
    ] {
        let before = content(&results.join(at));
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(2), "{line:?}: {message}");
        assert!(message.contains("which is no file of a"), "{message}");
        assert_eq!(content(&results.join(at)), before);
    }
    // Without its document it may be anything.
    std::fs::remove_file(analysis.join("congestion.json")).unwrap();
    let (how, _, message) = run(&refs(&analyse("analysis")));
    assert_eq!(how, End::Exit(2), "{message}");
    assert!(message.contains("no congestion.json"), "{message}");
}

#[test]
fn an_input_is_never_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| text_of(&dir.path().join(name));
    std::fs::copy(GRAPH, at("d.dot")).unwrap();
    std::fs::copy("configs/dtable-example.toml", at("d.toml")).unwrap();
    symlink(at("d.dot"), at("link")).unwrap();
    for line in [
        format!("orcs -i {} -o {}", at("d.dot"), at("d.dot")),
        format!("orcs -i {} -o {}", at("link"), at("d.dot")),
        format!("qos dtable {} --out {}", at("d.toml"), at("d.toml")),
    ] {
        let (how, _, message) = run(&refs(&words(&line)));
        assert_eq!(how, End::Exit(2), "{line}: {message}");
        assert!(message.contains("is the input"), "{message}");
    }
    assert_eq!(
        std::fs::read(at("d.dot")).unwrap(),
        std::fs::read(GRAPH).unwrap()
    );
}

/// The next run removes the unfinished files that a killed study left.
#[test]
fn what_a_killed_study_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let file = super::experiment(dir.path());
    let study = dir.path().join("study");
    let line = words(&format!(
        "run {file} --quiet --seeds 1..2 --out {}",
        text_of(&study)
    ));
    let (how, _, message) = run(&refs(&line));
    assert_eq!(how, End::Exit(0), "{message}");
    let before = names(&study);
    let left = study.join(".tables.1-0123456789abcdef.part");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("runs.csv"), "half").unwrap();
    std::fs::write(
        study.join("records/.x.json.1-0123456789abcdef.part"),
        "half",
    )
    .unwrap();
    let (how, _, message) = run(&refs(&line));
    assert_eq!(how, End::Exit(0), "{message}");
    assert_eq!(names(&study), before);
    assert!(
        names(&study.join("records"))
            .iter()
            .all(|name| !name.starts_with('.'))
    );
}
