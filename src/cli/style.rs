//! Colours of messages and headings, on terminals only: files and pipes get the plain text.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use std::ffi::OsString;
use std::io::{Stderr, Stdout};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const CURE: Style = AnsiColor::Green.on_default();
const HEADING: Style = Style::new().bold();

/// When to colour, as the command line says; it decides before the command line is parsed, because errors of that are
/// coloured as well. `NO_COLOR`, `CLICOLOR` and `TERM` decide where it says nothing.
pub(super) fn choose(args: &[OsString]) -> clap::ColorChoice {
    let chosen = chosen(args).unwrap_or(clap::ColorChoice::Auto);
    match chosen {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::AlwaysAnsi,
        clap::ColorChoice::Never => ColorChoice::Never,
    }
    .write_global();
    chosen
}

/// The last value of `--color`.
fn chosen(args: &[OsString]) -> Option<clap::ColorChoice> {
    let args = args.iter().map(|arg| arg.to_str().unwrap_or_default());
    let args: Vec<&str> = args.take_while(|arg| *arg != "--").collect();
    let behind = |pair: &[&str]| (pair[0] == "--color").then(|| pair[1].to_owned());
    let joined = args.iter().filter_map(|arg| arg.strip_prefix("--color="));
    let apart = args.windows(2).filter_map(behind);
    let value = joined.map(str::to_owned).chain(apart).last()?;
    clap::ColorChoice::from_str(&value, true).ok()
}

/// A message for `to`: the word at its head and the cure at its end are coloured.
pub(super) fn message(text: &str, to: &Stderr) -> Option<String> {
    let (head, style) = match text.split_once(':')? {
        ("error", _) => ("error:", ERROR),
        ("warning", _) => ("warning:", WARNING),
        _ => return None,
    };
    if AutoStream::choice(to) == ColorChoice::Never {
        return None;
    }
    let rest = text.strip_prefix(head)?;
    // Messages name the cause, and after a semicolon the cure; an excerpt of a file follows.
    let end = rest.find('\n').unwrap_or(rest.len());
    let (said, excerpt) = rest.split_at(end);
    let (cause, cure) = match said.rsplit_once("; ") {
        Some((cause, cure)) => (cause, format!("; {CURE}{cure}{CURE:#}")),
        None => (said, String::new()),
    };
    Some(format!("{style}{head}{style:#}{cause}{cure}{excerpt}"))
}

/// A summary for `to`, whose headings are bold: the names at the left of the first paragraph, and the heads of tables.
pub(super) fn summary(text: &str, to: &Stdout) -> Option<String> {
    if AutoStream::choice(to) == ColorChoice::Never {
        return None;
    }
    let mut styled = String::new();
    for (number, paragraph) in text.split("\n\n").enumerate() {
        if number > 0 {
            styled += "\n\n";
        }
        let (mut first, mut rest) = (Vec::new(), "");
        if number == 0 {
            first.extend(paragraph.split('\n'));
        } else {
            let (line, lines) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            first.push(line);
            rest = lines;
        }
        let first: Vec<String> = first.into_iter().map(heading).collect();
        styled += &first.join("\n");
        if !rest.is_empty() {
            styled = styled + "\n" + rest;
        }
    }
    Some(styled)
}

/// A line with its name in bold; the line of a name alone, and the head of a table, are bold as a whole.
fn heading(line: &str) -> String {
    let is_value = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let (name, value) = match line.find("  ") {
        Some(end) if is_value(&line[end..]) => line.split_at(end),
        _ => (line, ""),
    };
    if name.trim().is_empty() {
        return line.to_owned();
    }
    format!("{HEADING}{name}{HEADING:#}{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_the_option_counts() {
        let chosen = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            chosen(&args)
        };
        assert_eq!(chosen("run x.toml"), None);
        assert_eq!(
            chosen("run --color=always"),
            Some(clap::ColorChoice::Always)
        );
        assert_eq!(
            chosen("run --color never x"),
            Some(clap::ColorChoice::Never)
        );
        assert_eq!(chosen("run -- --color=never"), None);
        assert_eq!(chosen("run --color=blue"), None);
    }

    #[test]
    fn names_and_heads_of_tables_are_bold() {
        let bold = |text: &str| format!("{HEADING}{text}{HEADING:#}");
        assert_eq!(
            heading("execution time  1 us"),
            bold("execution time") + "  1 us"
        );
        assert_eq!(heading("job   ranks  SL"), bold("job   ranks  SL"));
        assert_eq!(heading("HPL on a tree"), bold("HPL on a tree"));
        assert_eq!(heading(""), "");
    }
}
