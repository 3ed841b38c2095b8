//! Command lines, quoted for a shell.

use std::fmt::Write;

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
    use super::quoted;

    #[test]
    fn arguments_are_quoted_where_they_must_be() {
        assert_eq!(quoted("qos.scheduler=rr,sbt"), "qos.scheduler=rr,sbt");
        assert_eq!(quoted("measure.loads=[1, 2]"), "'measure.loads=[1, 2]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
