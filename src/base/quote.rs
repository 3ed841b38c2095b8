//! How messages quote input: escaped, so that no byte of a file reaches a terminal as a control
//! sequence, and cut, so that a message stays readable whatever the input is.

use std::borrow::Cow;
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

/// Most characters of a line of a message.
const MAX_LINE: usize = 8000;

/// Everything that is printed: whatever text of input is in it, no character reaches a terminal as a control sequence.
///
/// The functions that print are the only ones that use it; they need not know what comes from input. Escapes follow
/// JSON, so that a document stays one.
#[must_use]
pub fn printed(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !is_unprintable(c);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if harmless(c) {
            shown.push(c);
        } else {
            // Writing to a String succeeds.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        }
    }
    Cow::Owned(shown)
}

/// The same for a message, of which each line is cut to 8,000 characters as well.
#[must_use]
pub fn message(text: &str) -> Cow<'_, str> {
    let text = printed(text);
    if text.len() <= MAX_LINE {
        return text;
    }
    let line = |line: &str| match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => {
            let all = line.chars().count();
            format!(
                "{}… ({all} characters)",
                line.get(..end).unwrap_or_default()
            )
        }
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    Cow::Owned(lines.join("\n"))
}

/// A cell of a CSV file with text of input: an apostrophe comes before what a spreadsheet would take for a formula.
/// Numbers stay as they are.
#[must_use]
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) && text.len() > 1 && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text of a [cell](csv_cell).
#[must_use]
pub fn of_csv_cell(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => cell,
    }
}

fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
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
