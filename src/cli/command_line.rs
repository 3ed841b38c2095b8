//! Command lines: quoted for a shell, and what is wrong with them.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::fmt::Write;

/// Options that users expect of other commands: command, options, advice.
const OF_OTHERS: [(&str, &[&str], &str); 2] = [
    (
        "explain",
        &["--vary", "--seeds", "--until-ci"],
        "explain takes one experiment; set one value with --set",
    ),
    (
        "study",
        &["--vary"],
        "the axes of a study are in its file ([[axis]]); `flitwise run EXPERIMENT --vary` needs no file",
    ),
];

/// A seed. Several of them belong to another option.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        if text.contains("..") || text.contains(',') {
            format!("a seed is one number; use --seeds {text}")
        } else {
            "a seed is a whole number from 0 to 18446744073709551615".to_owned()
        }
    })
}

/// The same error; but one more argument of a command that has subcommands is unexpected, not a subcommand that conflicts
/// with the arguments before it.
pub(super) fn no_subcommand(error: clap::Error, command: &clap::Command) -> clap::Error {
    let is_conflict = error.kind() == ErrorKind::ArgumentConflict;
    let argument = error.get(ContextKind::InvalidSubcommand);
    let Some(argument) = argument.filter(|_| is_conflict) else {
        return error;
    };
    let mut unexpected = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    unexpected.insert(ContextKind::InvalidArg, argument.clone());
    if let Some(usage) = error.get(ContextKind::Usage) {
        unexpected.insert(ContextKind::Usage, usage.clone());
    }
    unexpected
}

/// The error of the command line `args`, with advice on an argument that the command does not take. No option is meant
/// as a value, as a tip of clap has it.
pub(super) fn explained(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let advice = advice(argument, args);
    let tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    let is_meant = |tip: &StyledStr| !tip.to_string().contains(" as a value");
    let tips: Vec<StyledStr> = tips.into_iter().filter(is_meant).chain(advice).collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// The advice on `argument`, which the command of `args` does not take.
fn advice(argument: &str, args: &[OsString]) -> Option<StyledStr> {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    if let Some(at) = words.iter().position(|word| *word == argument)
        && let [.., option, before] = words[..at]
        && (option == "--vary" || before.starts_with("--vary="))
        && before.contains('=')
    {
        let values = before.strip_prefix("--vary=").unwrap_or(before);
        let values = values.trim_end_matches(',');
        return Some(format!("commas separate values: --vary {values},{argument}").into());
    }
    let command = words.get(1)?;
    let known = OF_OTHERS
        .iter()
        .find(|(of, options, _)| of == command && options.contains(&argument));
    known.map(|(.., advice)| (*advice).into())
}

/// The command, quoted for a shell, with a line break behind it.
pub(super) fn typed() -> String {
    let mut text = String::from("flitwise");
    for argument in std::env::args_os().skip(1) {
        let _ = match argument.to_str() {
            Some(argument) => write!(text, " {}", quoted(argument)),
            None => write!(text, " {}", quoted_bytes(argument.as_encoded_bytes())),
        };
    }
    text + "\n"
}

/// An argument that is no text, quoted for a shell that knows `$'…'`.
fn quoted_bytes(argument: &[u8]) -> String {
    format!("$'{}'", argument.escape_ascii())
}

/// An argument, quoted for a shell where necessary.
pub(super) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{explained, quoted, seed};

    #[test]
    fn no_option_is_meant_as_a_value() {
        let said = |line: &str| {
            let args: Vec<_> = line.split(' ').map(Into::into).collect();
            let error = crate::cli::command().try_get_matches_from(&args);
            explained(error.unwrap_err(), &args).to_string()
        };
        let explain = said("flitwise explain exp.toml --vary seed=1,2");
        assert!(
            explain.contains("explain takes one experiment"),
            "{explain}"
        );
        assert!(!explain.contains("as a value"), "{explain}");
        let similar = said("flitwise run exp.toml --vray seed=1,2");
        assert!(
            similar.contains("a similar argument exists: '--vary'"),
            "{similar}"
        );
        let spaces = said("flitwise run exp.toml --vary qos.scheduler=rr sbt");
        assert!(
            spaces.contains("commas separate values: --vary qos.scheduler=rr,sbt"),
            "{spaces}"
        );
        let comma = said("flitwise run exp.toml --vary qos.scheduler=rr, sbt");
        assert!(comma.contains("qos.scheduler=rr,sbt"), "{comma}");
    }

    #[test]
    fn several_seeds_are_for_another_option() {
        assert_eq!(seed("7"), Ok(7));
        assert_eq!(
            seed("1..5"),
            Err("a seed is one number; use --seeds 1..5".to_owned())
        );
        assert!(seed("x").unwrap_err().contains("whole number"));
    }

    #[test]
    fn arguments_are_quoted_where_they_must_be() {
        assert_eq!(quoted("qos.scheduler=rr,sbt"), "qos.scheduler=rr,sbt");
        assert_eq!(quoted("measure.loads=[1, 2]"), "'measure.loads=[1, 2]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
