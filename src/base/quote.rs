//! How messages quote input: escaped, so that no byte of a file reaches a terminal as a control
//! sequence, and cut, so that a message stays readable whatever the input is.

use std::fmt::{self, Write};

/// Most characters of input that a message quotes.
pub const MAX_QUOTE: usize = 200;

/// `text` in backticks, with [`cut`]'s rules.
#[must_use]
pub fn quoted(text: &str) -> Quoted<'_> {
    Quoted { text, mark: "`" }
}

/// `text` as messages show it: control characters escaped, at most [`MAX_QUOTE`] characters. Of a
/// longer text the start, an ellipsis, and how many characters it has.
///
/// ```
/// use flitwise_base::quote::{cut, quoted};
///
/// assert_eq!(quoted("CL\u{1b}[2J").to_string(), r"`CL\u{1b}[2J`");
/// let long = "x".repeat(1000);
/// assert!(cut(&long).to_string().ends_with("xxx… (1000 characters)"));
/// ```
#[must_use]
pub fn cut(text: &str) -> Quoted<'_> {
    Quoted { text, mark: "" }
}

/// A [`quoted`] or [`cut`] text.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a> {
    text: &'a str,
    mark: &'static str,
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mark)?;
        let mut shown = 0;
        for c in self.text.chars() {
            let width = if is_unprintable(c) {
                c.escape_default().len()
            } else {
                1
            };
            shown += width;
            if shown > MAX_QUOTE {
                let all = self.text.chars().count();
                return write!(f, "…{} ({all} characters)", self.mark);
            }
            match width {
                1 => f.write_char(c)?,
                _ => write!(f, "{}", c.escape_default())?,
            }
        }
        f.write_str(self.mark)
    }
}

/// True for characters that move the cursor, start a control sequence, or change the order in which
/// a terminal shows the others.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A field of a line of which `text` is all, or, where `whole` is false, the part that is read: as
/// [`quoted`], with every byte that is not ASCII escaped.
#[must_use]
pub fn quoted_bytes(text: &[u8], whole: bool) -> String {
    let mut shown = String::new();
    for &byte in text {
        let escaped = std::ascii::escape_default(byte);
        if shown.len() + escaped.len() > MAX_QUOTE {
            let more = if whole { "" } else { "more than " };
            return format!("`{shown}…` ({more}{} bytes)", text.len());
        }
        shown.extend(escaped.map(char::from));
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_shown_whole_and_long_ones_by_their_start() {
        assert_eq!(quoted("").to_string(), "``");
        let most = "é".repeat(MAX_QUOTE);
        assert_eq!(cut(&most).to_string(), most);
        let more = format!("{most}é");
        assert_eq!(
            quoted(&more).to_string(),
            format!("`{most}…` ({} characters)", MAX_QUOTE + 1)
        );
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown() {
        let all: String = ('\0'..='\u{ffff}').collect();
        for text in all.split_inclusive('a') {
            assert!(!cut(text).to_string().chars().any(is_unprintable));
        }
        let escapes = "\u{1b}".repeat(1 << 20);
        let shown = cut(&escapes).to_string();
        assert!(shown.starts_with(r"\u{1b}\u{1b}"), "{shown}");
        assert!(shown.chars().count() < MAX_QUOTE + 40, "{shown}");
        assert!(shown.ends_with("… (1048576 characters)"), "{shown}");
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(quoted_bytes(b"12\xff\x1b", true), r"`12\xff\x1b`");
        let long = quoted_bytes(&[b'7'; 1 << 20], false);
        assert!(long.ends_with("7…` (more than 1048576 bytes)"), "{long}");
        assert!(long.len() < MAX_QUOTE + 40, "{long}");
    }
}
