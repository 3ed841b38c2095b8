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
