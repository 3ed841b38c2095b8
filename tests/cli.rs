//! End-to-end cases: every file of `tests/cli` is a transcript of commands and of
//! what they must do.
//!
//! ```text
//! # What the case is about.
//! --- exp.toml                     a file of the case; up to the next `---` or `$`
//! [fabric]
//! $ run exp.toml --set 'a b=c'     arguments of flitwise; '…' keeps spaces
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
    let trials = cases.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// One command and what is expected of it.
struct Step {
    line: usize,
    args: Vec<String>,
    expected: Vec<(String, String)>,
}

fn run_case(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?.replace("$ROOT", ROOT);
    let dir = tempfile::tempdir()?;
    let steps = parse(&text, dir.path())?;
    let mut failures = String::new();
    for step in &steps {
        if let Err(why) = run_step(step, dir.path()) {
            let place = format!("{}:{}", path.display(), step.line);
            failures.push_str(&format!("{place}: {}\n{why}\n", step.args.join(" ")));
        }
    }
    match (steps.is_empty(), failures.is_empty()) {
        (true, _) => Err("the case has no command".into()),
        (_, true) => Ok(()),
        _ => Err(failures.into()),
    }
}

fn parse(text: &str, dir: &Path) -> Result<Vec<Step>, Failed> {
    let mut steps: Vec<Step> = Vec::new();
    let mut file: Option<(PathBuf, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
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
                return Err(format!("line {number}: `{line}` before a command").into());
            };
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            step.expected.push((key.into(), value.trim().into()));
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

fn run_step(step: &Step, dir: &Path) -> Result<(), String> {
    let (code, stdout, stderr) = run(&step.args, dir)?;
    let shown = || format!("exit {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}");
    let fail = |why: String| Err(format!("{why}\n{}", shown()));
    if stderr.contains("panicked") {
        return fail("it panicked".into());
    }
    if matches!(code, Some(1 | 2))
        && stderr.lines().filter(|l| l.starts_with("error:")).count() != 1
    {
        return fail("there is not exactly one message".into());
    }
    if !step.expected.iter().any(|(key, _)| key == "exit") {
        return Err("the case does not say `exit:`".into());
    }
    for (key, value) in &step.expected {
        let stream = match key.as_str() {
            "exit" if code.map(|c| c.to_string()).as_ref() == Some(value) => continue,
            "exit" => return fail(format!("expected exit code {value}")),
            "exists" if dir.join(value).exists() => continue,
            "exists" => return fail(format!("there is no {value}")),
            "absent" if !dir.join(value).exists() => continue,
            "absent" => return fail(format!("there is a {value}")),
            "stdout" => &stdout,
            "stderr" => &stderr,
            other => return Err(format!("the case says `{other}`, which means nothing")),
        };
        if value.is_empty() && !stream.is_empty() {
            return fail(format!("expected an empty {key}"));
        }
        if !stream.contains(value.as_str()) {
            return fail(format!("expected on {key}: {value}"));
        }
    }
    Ok(())
}

fn run(args: &[String], dir: &Path) -> Result<(Option<i32>, String, String), String> {
    let streams = tempfile::tempdir().map_err(|e| e.to_string())?;
    let create = |name: &str| std::fs::File::create(streams.path().join(name)).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_flitwise"))
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
    Ok((status.code(), read("stdout"), read("stderr")))
}
