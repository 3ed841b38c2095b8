//! The messages of serde and TOML in the words of a user.

use super::suggestion;
use flitwise_base::quote::{cut, quoted};
use std::borrow::Cow;

/// The beginning of serde's message of an unknown key.
pub(super) const UNKNOWN_KEY: &str = "unknown field `";

/// The beginning of serde's message of an unknown value.
pub(super) const UNKNOWN_VALUE: &str = "unknown variant `";

/// The key that is missing, if the error is that one is.
pub(super) fn missing(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("missing field `")?;
    Some(rest.trim_end().trim_end_matches('`'))
}

/// The message in the words of a user.
pub(super) fn friendly(message: &str) -> String {
    match message {
        "recursion limit" => return "a key has too many parts; no key is that deep".to_owned(),
        "cannot recurse further; max recursion depth met" => {
            return "too many brackets in brackets; no value is that deep".to_owned();
        }
        _ => {}
    }
    for (start, kind) in [(UNKNOWN_KEY, "key"), (UNKNOWN_VALUE, "value")] {
        let Some(rest) = message.strip_prefix(start) else {
            continue;
        };
        // The written word may have backticks, too.
        let (word, expected) = (rest.rsplit_once("`, expected "))
            .or_else(|| rest.split_once("`, there are no "))
            .unwrap_or((rest.trim_end_matches('`'), ""));
        let candidates: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!(
            "unknown {kind} {}{}",
            quoted(word),
            suggestion(word, &candidates)
        );
    }
    if message.trim_end() == "wanted string or table" {
        return "wrong type: expected a name in quotes".into();
    }
    let (problem, expected) = match message.rsplit_once(", expected ") {
        Some((problem, expected)) => (problem, Some(expected.trim_end())),
        None => (message.trim_end(), None),
    };
    // Whatever is expected: a whole number that TOML has, but no value here.
    let huge = (problem.trim_end_matches(" as i128"))
        .strip_prefix("invalid type: integer `")
        .and_then(|rest| rest.strip_suffix('`'))
        .filter(|number| number.parse::<i64>().is_err());
    let mut text = match problem {
        "invalid type: sequence" => "wrong type: a list".to_owned(),
        "invalid type: map" => "wrong type: a table".to_owned(),
        other => match huge {
            Some(number) => format!("the number {} is out of range", quoted(number)),
            None => shorter(other).replacen("invalid type: ", "wrong type: ", 1),
        },
    };
    if let Some(expected) = expected {
        text.push_str(", expected ");
        text.push_str(in_words(expected));
    }
    text
}

/// serde's message with the text that it quotes, the whole value of a key, cut.
fn shorter(message: &str) -> Cow<'_, str> {
    let text = (message.split_once(" string \""))
        .and_then(|(before, rest)| Some((before, rest.strip_suffix('"')?)));
    match text {
        Some((before, text)) => Cow::Owned(format!("{before} string \"{}\"", cut(text))),
        None => Cow::Borrowed(message),
    }
}

/// Rust's types in words.
fn in_words(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "a tuple of size 2" => "a list of two values",
        "u32" => "a whole number from 0 to 4294967295",
        "i64" | "isize" => "a whole number from -9223372036854775808 to 9223372036854775807",
        // As wide as u64 on the machines that run this.
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "a sequence" => "a list",
        "a map" => "a table",
        "a string" => "a text",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}
