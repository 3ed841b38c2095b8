//! The streaming parser. It opens no files: the caller feeds it bytes.

use flitwise_base::place::PlaceError;

use super::action::Action;
use super::args::digits;
use super::grammar;
use crate::grammar::word;
use crate::limits::{MAX_TI_LINE, MAX_TI_LINE_PER_RANK};

/// The result of [`Parser::next`].
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Not a whole line: call again with the same bytes and more after them.
    NeedMore,
    /// Empty lines and comments.
    Nothing {
        /// Bytes to drop before the next call.
        consumed: usize,
    },
    /// A line.
    Action {
        /// Bytes to drop before the next call.
        consumed: usize,
        /// The rank that the line is of.
        rank: u32,
        /// Its meaning.
        action: Action,
    },
    /// The end of the file.
    End,
}

/// Parser of the lines of one file; see the [module of the format](super).
#[derive(Debug, Clone)]
pub struct Parser {
    line: u64,
    ranks: u32,
    /// Of which rank the lines are, if they begin with their line number in place of it.
    numbered: Option<u32>,
}

/// The line at the start of `buf` without its line feed, in a trace of `ranks` ranks; `None` if its end is not there yet.
#[inline]
pub(super) fn line(buf: &[u8], eof: bool, ranks: u32) -> Result<Option<&[u8]>, String> {
    let longest = MAX_TI_LINE + MAX_TI_LINE_PER_RANK * ranks as usize;
    match crate::grammar::line(buf, eof, longest) {
        Ok((_, line)) => Ok(Some(line)),
        Err(nom::Err::Incomplete(_)) => Ok(None),
        Err(_) => Err(format!(
            "a line of more than {longest} bytes is longer than any action: is this a TI trace?"
        )),
    }
}

impl Parser {
    /// A parser at the start of a file of a trace with `ranks` ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        Self {
            line: 0,
            ranks,
            numbered: None,
        }
    }

    /// A parser of lines of `rank` that have the number of the line in place of the rank.
    pub(super) fn numbered(ranks: u32, rank: u32) -> Self {
        Self {
            line: 0,
            ranks,
            numbered: Some(rank),
        }
    }

    /// Number of the last line parsed, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The number of the line at the start of `buf`.
    fn number(&self, buf: &[u8]) -> u64 {
        let first = word::<()>(&buf[..buf.len().min(24)]).ok();
        let number = first.filter(|_| self.numbered.is_some());
        let number = number.and_then(|(_, number)| digits(number));
        number.unwrap_or(self.line + 1)
    }

    /// Parses a line at the start of `buf`; `eof` says that nothing follows `buf`.
    ///
    /// # Errors
    /// If the line violates the format. The parser stays where it is.
    ///
    /// # Examples
    /// ```
    /// use flitwise_formats::ti::{Action, Parser, Step};
    ///
    /// let mut rest: &[u8] = b"0 init\n0 isend 1 7 1e3 0\n0 wait 0 1 7\n0 finalize";
    /// let mut parser = Parser::new(2);
    /// let mut bytes = 0;
    /// while let Step::Action { consumed, rank, action } = parser.next(rest, true)? {
    ///     assert_eq!(rank, 0);
    ///     if let Action::Send { elements, .. } = action {
    ///         // Datatype 0 is `MPI_DOUBLE`.
    ///         bytes += elements.bytes();
    ///     }
    ///     rest = &rest[consumed..];
    /// }
    /// assert_eq!((bytes, parser.line()), (8000, 4));
    /// # Ok::<(), flitwise_formats::PlaceError>(())
    /// ```
    #[inline]
    pub fn next(&mut self, buf: &[u8], eof: bool) -> Result<Step, PlaceError> {
        let wrong = |e| PlaceError::line(self.number(buf), e);
        if buf.is_empty() {
            return Ok(if eof { Step::End } else { Step::NeedMore });
        }
        let Some(line) = line(buf, eof, self.ranks).map_err(wrong)? else {
            return Ok(Step::NeedMore);
        };
        let consumed = (line.len() + 1).min(buf.len());
        let (rank, rest, number) = match self.numbered {
            // Only this program writes such lines.
            Some(rank) => {
                let (rest, number) = word::<()>(line).unwrap_or((line, b""));
                (rank, rest, digits(number).unwrap_or(self.line + 1))
            }
            None => {
                let Some((rank, rest)) = grammar::first_column(line).map_err(wrong)? else {
                    self.line += 1;
                    return Ok(Step::Nothing { consumed });
                };
                if rank >= self.ranks {
                    return Err(wrong(format!(
                        "a line of rank {rank}, but the trace has the ranks 0 to {}; correct it, or its list of \
                         files",
                        self.ranks.saturating_sub(1)
                    )));
                }
                (rank, rest, self.line + 1)
            }
        };
        let action = grammar::action(rest, self.ranks).map_err(|e| PlaceError::line(number, e))?;
        self.line = number;
        Ok(Step::Action {
            consumed,
            rank,
            action,
        })
    }
}
