//! The commands in README and in the book are commands of the program, and print what is shown.
//!
//! - A block marked `console` is played: each line that begins with `$ ` runs in `sh`, and the lines below
//!   it are what it prints, where a line `...` stands for any number of lines. The blocks of a page run
//!   one after another in a directory of its own, which has `configs` and `traces` of the repository.
//! - In a block marked `sh` the program understands each command line of `flitwise`, and the files of the repository
//!   that it names exist. The commands run without their experiments, as some take minutes with them.
//!
//! `FLITWISE_BLESS=1 cargo test --test book` writes what is printed into blocks without `...`.

#[allow(dead_code, reason = "transcripts alone look for the nearest piece")]
#[path = "common/bless.rs"]
mod bless;

use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// A line that stands for any number of lines.
const ANY: &str = "...";

fn main() {
    let root = Path::new(ROOT);
    let mut pages = vec![root.join("README.md")];
    pages_below(&root.join("docs"), &mut pages);
    pages.sort();
    let trial = |path: PathBuf| {
        let name = path
            .strip_prefix(ROOT)
            .unwrap_or(&path)
            .display()
            .to_string();
        Trial::test(name, move || check(&path))
    };
    let trials = pages.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn pages_below(dir: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
}

/// A piece of a page.
enum Piece<'a> {
    /// A block of commands and what they print.
    Console(&'a str),
    /// A block of commands.
    Shell(&'a str),
    Other(&'a str),
}

/// The page in pieces; together they are the page.
fn pieces(page: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), page);
    while let Some(at) = rest.find("```") {
        let (before, fence) = rest.split_at(at);
        let start = fence.find('\n').map_or(fence.len(), |line| line + 1);
        let end = start + fence[start..].find("```").unwrap_or(fence.len() - start);
        pieces.push(Piece::Other(before));
        let block = &fence[start..end];
        match fence[3..start].trim() {
            "console" => pieces.extend([Piece::Other(&fence[..start]), Piece::Console(block)]),
            "sh" => pieces.extend([Piece::Other(&fence[..start]), Piece::Shell(block)]),
            _ => pieces.push(Piece::Other(&fence[..end])),
        }
        let after = (end + 3).min(fence.len());
        pieces.push(Piece::Other(&fence[end..after]));
        rest = &fence[after..];
    }
    pieces.push(Piece::Other(rest));
    pieces
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let dir = tempfile::tempdir()?;
    for name in ["configs", "traces"] {
        std::os::unix::fs::symlink(Path::new(ROOT).join(name), dir.path().join(name))?;
    }
    let (mut problems, mut blessed) = (String::new(), String::new());
    for piece in pieces(&text) {
        match piece {
            Piece::Console(block) => blessed += &play(block, dir.path(), &mut problems)?,
            Piece::Shell(block) => {
                understand(block, &mut problems)?;
                blessed += block;
            }
            Piece::Other(text) => blessed += text,
        }
    }
    if bless::is_on() {
        bless::write(path, &blessed);
    } else if !problems.is_empty() {
        return Err(problems.into());
    }
    Ok(())
}

/// Runs the commands of a block, and returns the block with what they print.
fn play(block: &str, dir: &Path, problems: &mut String) -> Result<String, Failed> {
    let mut blessed = String::new();
    let block = format!("\n{block}");
    for step in block.split("\n$ ").skip(1) {
        // A line that ends with a backslash continues.
        let mut ends = step.match_indices('\n').map(|(at, _)| at);
        let end = ends.find(|&at| !step[..at].ends_with('\\'));
        let (command, shown) = step.split_at(end.unwrap_or(step.len()));
        let shown = shown.strip_prefix('\n').unwrap_or("");
        // The split takes the end of the last line.
        let shown: String = shown.lines().flat_map(|line| [line, "\n"]).collect();
        let output = shell(&format!("exec 2>&1; {command}"), dir)?;
        let printed = String::from_utf8_lossy(&output.stdout).replace(ROOT, ".");
        let _ = writeln!(blessed, "$ {command}");
        let is_elided = shown.lines().any(|line| line == ANY);
        if matches(&shown, &printed) || is_elided {
            blessed += &shown;
        } else {
            blessed += &printed;
        }
        if !matches(&shown, &printed) {
            let _ = writeln!(problems, "$ {command}\nshown:\n{shown}printed:\n{printed}");
        }
    }
    Ok(blessed)
}

/// Whether `printed` is what is `shown`, where [`ANY`] stands for any lines.
fn matches(shown: &str, printed: &str) -> bool {
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let mut parts = lines.split(|line| *line == ANY);
    let first = parts.next().unwrap_or(&[]);
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let found = (0..=rest.len()).find(|&at| rest[at..].starts_with(part));
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Checks that the program understands the command lines of a block, in an empty directory: with no
/// experiment to read, it ends before it does anything.
fn understand(block: &str, problems: &mut String) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    for line in block.replace("\\\n", " ").lines() {
        let line = line.replace("cargo run --release -- ", "flitwise ");
        let command = line
            .split(" #")
            .next()
            .unwrap_or("")
            .split(" | ")
            .next()
            .unwrap_or("")
            .trim();
        if !command.starts_with("flitwise ") {
            continue;
        }
        for word in command.split([' ', '=', '\'', '"', ',']) {
            let is_ours = ["configs/", "traces/"]
                .iter()
                .any(|dir| word.starts_with(dir));
            if is_ours && !word.contains(['$', '…', '*']) && !Path::new(ROOT).join(word).exists()
            {
                let _ = writeln!(problems, "{command}\nthere is no {word}");
            }
        }
        let output = shell(command, dir.path())?;
        let said = String::from_utf8_lossy(&output.stderr);
        // The parser of command lines ends like this; a file that is missing does not.
        if said.contains("\nUsage: ") || said.contains("try '--help'") {
            let _ = writeln!(problems, "{command}\n{said}");
        }
    }
    Ok(())
}

/// Runs `command` in `dir`, which is the user's home as well: what it writes to `~` goes with the directory. `flitwise` is
/// the program of this build.
fn shell(command: &str, dir: &Path) -> Result<Output, Failed> {
    let program = Path::new(env!("CARGO_BIN_EXE_flitwise"));
    let folder = program.parent().ok_or("the program has no folder")?;
    let old = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("HOME", dir)
        .env("PATH", format!("{}:{old}", folder.display()))
        .output()?;
    Ok(output)
}
