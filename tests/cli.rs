//! End-to-end cases: every file of `tests/cli` is a transcript of commands and of
//! what they must do.
//!
//! ```text
//! # What the case is about.
//! --- exp.toml                     a file of the case; up to the next `---` or `$`
//! [fabric]
//! $ run exp.toml --set 'a b=c'     arguments of flitwise; '…' keeps spaces;
//!                                  `< FILE` at the end: standard input is a pipe with FILE
//! exit: 2                          exit code, required
//! stdout: part                     must occur; `stdout:` alone: nothing at all
//! stderr: part                     likewise
//! exists: out/result.json          a file that the command must have made
//! absent: out/curve.csv            a file that is not there
//! ```
//!
//! `$ROOT` stands for the repository. Every command runs in an empty directory of the
//! case, with 4 GB of address space and 60 s. Exit code 2 and 1 always mean one
//! message on standard error, and no command ever panics.
//!
//! `FLITWISE_BLESS=1 cargo test --test cli` rewrites the transcripts: of a line that does not hold
//! only the value changes, a `part` to the nearest piece of the output. A command without such lines
//! gets its exit code and all that it prints.

#[path = "common/bless.rs"]
mod bless;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn main() {
    let dir = Path::new(ROOT).join("tests/cli");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    let trial = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Trial::test(name, move || run_case(&path))
    };
    let mut trials: Vec<Trial> = cases.into_iter().map(trial).collect();
    trials.push(Trial::test("blessing", what_blessing_writes));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// One command and what is expected of it.
struct Step {
    /// Its line, counted from 0.
    line: usize,
    args: Vec<String>,
    expected: Vec<Expected>,
}

struct Expected {
    /// Its line, counted from 0.
    line: usize,
    key: String,
    value: String,
}

/// What a command did.
struct Seen {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// What came of a transcript.
#[derive(Default)]
struct Played {
    /// What no command may do, and mistakes in the transcript.
    broken: String,
    /// Expectations that do not hold.
    differs: String,
    /// The transcript as it holds.
    blessed: String,
}

fn run_case(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let played = play(&text, &path.display().to_string())?;
    match (played.broken.is_empty(), played.differs.is_empty()) {
        (true, true) => Ok(()),
        (true, false) if bless::is_on() => {
            bless::write(path, &played.blessed);
            Ok(())
        }
        _ => Err((played.broken + &played.differs).into()),
    }
}

fn play(text: &str, name: &str) -> Result<Played, Failed> {
    let dir = tempfile::tempdir()?;
    let steps = parse(&text.replace("$ROOT", ROOT), dir.path())?;
    if steps.is_empty() {
        return Err("the case has no command".into());
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut played = Played::default();
    for step in &steps {
        let seen = run(&step.args, dir.path())?;
        let told = |line: usize, why: &str| {
            let command = step.args.join(" ");
            let shown = seen.shown();
            format!("{name}:{}: {command}\n{why}\n{shown}\n", line + 1)
        };
        if let Some(why) = seen.misconduct() {
            played.broken.push_str(&told(step.line, why));
        }
        for expected in &step.expected {
            if !seen.meets(expected, dir.path())? {
                let why = format!("expected `{}`", lines[expected.line]);
                played.differs.push_str(&told(expected.line, &why));
                lines[expected.line] = seen.instead_of(expected).replace(ROOT, "$ROOT");
            }
        }
        if !step.expected.iter().any(|expected| expected.key == "exit") {
            let why = "the case does not say `exit:`";
            played.differs.push_str(&told(step.line, why));
            let added = seen.expectations(step.expected.is_empty());
            lines[step.line].push_str(&added.replace(ROOT, "$ROOT"));
        }
    }
    lines.push(String::new());
    played.blessed = lines.join("\n");
    Ok(played)
}

fn parse(text: &str, dir: &Path) -> Result<Vec<Step>, Failed> {
    let mut steps: Vec<Step> = Vec::new();
    let mut file: Option<(PathBuf, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let ends_file = line.starts_with("--- ") || line.starts_with("$ ");
        if let Some((path, content)) = file.take_if(|_| ends_file) {
            std::fs::write(path, content)?;
        }
        if let Some((_, content)) = &mut file {
            content.push_str(line);
            content.push('\n');
        } else if let Some(name) = line.strip_prefix("--- ") {
            file = Some((dir.join(name), String::new()));
        } else if let Some(args) = line.strip_prefix("$ ") {
            steps.push(Step {
                line: number,
                args: split(args),
                expected: Vec::new(),
            });
        } else if !line.is_empty() && !line.starts_with('#') {
            let Some(step) = steps.last_mut() else {
                return Err(format!("line {}: `{line}` before a command", number + 1).into());
            };
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            step.expected.push(Expected {
                line: number,
                key: key.into(),
                value: value.trim().into(),
            });
        }
    }
    Ok(steps)
}

/// Splits at spaces outside of '…'.
fn split(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => out.push(String::new()),
            _ => out.last_mut().unwrap().push(c),
        }
    }
    out
}

impl Seen {
    fn shown(&self) -> String {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        format!("exit {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
    }

    /// What no command may do.
    fn misconduct(&self) -> Option<&'static str> {
        let errors = self.stderr.lines().filter(|l| l.starts_with("error:"));
        if self.stderr.contains("panicked") {
            Some("it panicked")
        } else if matches!(self.code, Some(1 | 2)) && errors.count() != 1 {
            Some("there is not exactly one message")
        } else {
            None
        }
    }

    fn exit_code(&self) -> String {
        self.code.map_or("signal".into(), |code| code.to_string())
    }

    fn stream(&self, key: &str) -> Result<&str, String> {
        match key {
            "stdout" => Ok(&self.stdout),
            "stderr" => Ok(&self.stderr),
            other => Err(format!("the case says `{other}`, which means nothing")),
        }
    }

    fn meets(&self, expected: &Expected, dir: &Path) -> Result<bool, String> {
        let value = &expected.value;
        Ok(match expected.key.as_str() {
            "exit" => self.exit_code() == *value,
            "exists" => dir.join(value).exists(),
            "absent" => !dir.join(value).exists(),
            key if value.is_empty() => self.stream(key)?.is_empty(),
            key => self.stream(key)?.contains(value.as_str()),
        })
    }

    /// What holds where `expected` does not.
    fn instead_of(&self, expected: &Expected) -> String {
        let Expected { key, value, .. } = expected;
        match key.as_str() {
            "exit" => format!("exit: {}", self.exit_code()),
            "exists" => format!("absent: {value}"),
            "absent" => format!("exists: {value}"),
            key => {
                let stream = self.stream(key).unwrap_or_default();
                match bless::nearest(stream, value) {
                    Some(part) => format!("{key}: {part}"),
                    None => format!("{key}:"),
                }
            }
        }
    }

    /// Lines to add behind a command without an exit code: that, and with `all` whatever it printed.
    fn expectations(&self, all: bool) -> String {
        let mut lines = format!("\nexit: {}", self.exit_code());
        for (key, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let told = stream.lines().filter(|line| !line.trim().is_empty());
            for line in told.filter(|_| all) {
                lines.push_str(&format!("\n{key}: {}", line.trim()));
            }
            if all && stream.is_empty() {
                lines.push_str(&format!("\n{key}:"));
            }
        }
        lines
    }
}

fn run(args: &[String], dir: &Path) -> Result<Seen, String> {
    let streams = tempfile::tempdir().map_err(|e| e.to_string())?;
    let create = |name: &str| std::fs::File::create(streams.path().join(name)).unwrap();
    let (args, input, command) = match args {
        [args @ .., arrow, file] if arrow == "<" => {
            (args, file.as_str(), "cat \"$in\" | \"$0\" \"$@\"")
        }
        _ => (args, "", "exec \"$0\" \"$@\""),
    };
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v 4000000; in=$1; shift; {command}"))
        .args([env!("CARGO_BIN_EXE_flitwise"), input])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(create("stdout"))
        .stderr(create("stderr"))
        .spawn()
        .map_err(|e| e.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("still running after 60 s".into());
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let read = |name: &str| {
        let bytes = std::fs::read(streams.path().join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Seen {
        code: status.code(),
        stdout: read("stdout"),
        stderr: read("stderr"),
    })
}

/// What the program has never said, and how a transcript that claims it is rewritten.
fn what_blessing_writes() -> Result<(), Failed> {
    let outdated = "\
# A comment stays.
$ --version
exit: 3
stdout: flit-wise 0.0
stderr: a warning
$ run missing.toml --out out
stderr: cannot raed `missing.toml`
exists: out/result.json
$ run missing.toml --quiet
$ --version
stdout:
exit: 0
";
    let version = env!("CARGO_PKG_VERSION");
    let holds = format!(
        "\
# A comment stays.
$ --version
exit: 0
stdout: flitwise {version}
stderr:
$ run missing.toml --out out
exit: 2
stderr: cannot read `missing.toml`
absent: out/result.json
$ run missing.toml --quiet
exit: 2
stdout:
stderr: error: cannot read `missing.toml`: no such file
$ --version
stdout: flitwise {version}
exit: 0
"
    );
    let blessed = play(outdated, "outdated")?.blessed;
    if blessed != holds {
        return Err(format!("blessed to\n{blessed}\nnot\n{holds}").into());
    }
    let again = play(&holds, "blessed")?;
    match (again.differs.is_empty(), again.blessed == holds) {
        (true, true) => Ok(()),
        _ => Err(format!("{}blessed again to\n{}", again.differs, again.blessed).into()),
    }
}
