//! Why a text is not VEF.

use std::fmt;

use flitwise_base::quote::quoted_bytes;

/// Text that is not VEF: where, what was expected, what was seen, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Box<Detail>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Detail {
    line: u64,
    column: usize,
    expected: String,
    seen: String,
    cure: String,
}

impl ParseError {
    #[cold]
    pub(super) fn new(
        line: u64,
        column: usize,
        expected: String,
        seen: String,
        cure: impl Into<String>,
    ) -> Self {
        Self(Box::new(Detail {
            line,
            column,
            expected,
            seen,
            cure: cure.into(),
        }))
    }

    /// Line number, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.0.line
    }

    /// Byte position in the line, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }
}

impl fmt::Display for ParseError {
    /// Everything but the line, which stands beside the file's name.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let d = &*self.0;
        write!(
            f,
            "column {}: expected {}, found {}; {}",
            d.column, d.expected, d.seen, d.cure
        )
    }
}

impl std::error::Error for ParseError {}

/// UTF-8 without control characters but tabs and carriage returns; a character may be cut off.
fn is_text(field: &[u8]) -> bool {
    let control = |b: &u8| b.is_ascii_control() && !matches!(b, b'\t' | b'\r');
    let utf8 = std::str::from_utf8(field).map_or_else(|e| e.error_len().is_none(), |_| true);
    utf8 && !field.iter().any(control)
}

/// The field at the start of `rest`, for a message; what is no text is not shown. `cut` says that the
/// line continues after `rest`.
pub(super) fn quote(rest: &[u8], cut: bool) -> String {
    match rest.first() {
        None => "the end of the file".into(),
        Some(b'\n') => "the end of the line".into(),
        Some(b' ') => "a space".into(),
        Some(_) => {
            let end = rest.iter().position(|b| matches!(b, b' ' | b'\n'));
            let field = &rest[..end.unwrap_or(rest.len())];
            if is_text(field) {
                quoted_bytes(field, end.is_some() || !cut)
            } else {
                "binary data".into()
            }
        }
    }
}
