//! The streaming parser of the text. It opens no files: the caller feeds it bytes.

use memchr::{memchr, memmem};

use super::labels::{Labels, Refused};
use super::operation::{self, Verb};
use super::record::{Dependency, Kind, Op};
use super::words::{Fault, Words};
use crate::limits::{MAX_GOAL_LINE, MAX_GOAL_RANK_OPS, MAX_TASKS};
use crate::place::PlaceError;
use crate::quote::quoted_bytes;

/// What [`Parser::next`] found at the start of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Not a whole statement: call again with the same bytes and more after them.
    NeedMore,
    /// A part of a schedule. `consumed` bytes are to be dropped before the next call.
    Part {
        /// Bytes to drop.
        consumed: usize,
        /// What they say.
        part: Part,
    },
    /// The end of the file, behind all ranks.
    End,
}

/// A part of a schedule, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Blanks and comments.
    Nothing,
    /// The number of ranks.
    Ranks(u32),
    /// The start of a rank. Ranks come in order from 0.
    Rank(u32),
    /// The next operation of the rank.
    Op(Op),
    /// A dependency between two operations above.
    Dependency(Dependency),
    /// The end of the rank.
    RankEnd,
}

/// Parser of one file; see the [module of the format](super).
#[derive(Debug, Clone)]
pub struct Parser {
    expects: Expects,
    comment: Comment,
    /// The line at which the last comment began.
    comment_line: u64,
    /// The line at which the next bytes begin, from 1.
    next_line: u64,
    /// The line of the last part.
    line: u64,
    ranks: u32,
    /// The rank that is read, or comes next.
    rank: u32,
    /// Operations of the rank so far.
    ops: u32,
    labels: Labels,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Ranks,
    Rank,
    Brace,
    Statement,
}

/// The comment in which the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comment {
    None,
    Line,
    Block,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            expects: Expects::Ranks,
            comment: Comment::None,
            comment_line: 0,
            next_line: 1,
            line: 0,
            ranks: 0,
            rank: 0,
            ops: 0,
            labels: Labels::default(),
        }
    }
}

impl Parser {
    /// A parser at the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of the line of the last part, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Parses one part at the start of `buf`; `eof` says that nothing follows `buf`.
    ///
    /// # Errors
    /// If the text violates the format. The parser stays where it is.
    ///
    /// # Examples
    /// ```
    /// use flitwise_formats::goal::{Parser, Part, Step};
    ///
    /// let mut rest: &[u8] = b"num_ranks 1\nrank 0 {\nl1: calc 500\nl2: send 8b to 0 tag 3\nl2 requires l1\n}\n";
    /// let mut parser = Parser::new();
    /// let mut names = Vec::new();
    /// while let Step::Part { consumed, part } = parser.next(rest, true)? {
    ///     if let Part::Op(op) = part {
    ///         names.push((parser.line(), op.name()));
    ///     }
    ///     rest = &rest[consumed..];
    /// }
    /// assert_eq!(names, [(3, "calc"), (4, "send")]);
    /// # Ok::<(), flitwise_formats::PlaceError>(())
    /// ```
    pub fn next(&mut self, buf: &[u8], eof: bool) -> Result<Step, PlaceError> {
        let mut part = Part::Nothing;
        let blank = self.skip(buf, eof)?;
        if blank > 0 {
            let consumed = blank;
            return Ok(Step::Part { consumed, part });
        }
        if buf.is_empty() {
            return if eof { self.end() } else { Ok(Step::NeedMore) };
        }
        // Half of the start or the end of a comment.
        let half = self.comment != Comment::None || buf == b"/";
        if half && !eof {
            return Ok(Step::NeedMore);
        }
        let most = &buf[..buf.len().min(MAX_GOAL_LINE + 1)];
        let line = match memchr(b'\n', most) {
            Some(end) => &most[..end],
            None if most.len() > MAX_GOAL_LINE => return Err(self.too_long()),
            None if eof => most,
            None => return Ok(Step::NeedMore),
        };
        let mut words = Words::new(line);
        match self.part(&mut words) {
            Ok(found) => part = found,
            Err(fault) => return Err(self.wrong(fault)),
        }
        self.line = self.next_line;
        let consumed = words.at();
        Ok(Step::Part { consumed, part })
    }

    /// Length of the blanks and comments at the start of `buf`.
    fn skip(&mut self, buf: &[u8], eof: bool) -> Result<usize, PlaceError> {
        let mut at = 0;
        loop {
            let rest = &buf[at..];
            match self.comment {
                Comment::Line => match memchr(b'\n', rest) {
                    Some(end) => {
                        at += end;
                        self.comment = Comment::None;
                    }
                    None => return Ok(buf.len()),
                },
                Comment::Block => match memmem::find(rest, b"*/") {
                    Some(end) => {
                        self.next_line += lines(&rest[..end]);
                        at += end + 2;
                        self.comment = Comment::None;
                    }
                    None if eof => return Err(self.open_comment()),
                    None => {
                        // The last byte may be half of the end.
                        let n = rest.len().saturating_sub(1);
                        self.next_line += lines(&rest[..n]);
                        return Ok(at + n);
                    }
                },
                Comment::None => match rest {
                    [b'\n', ..] => {
                        self.next_line += 1;
                        at += 1;
                    }
                    [b' ' | b'\t' | b'\r' | b'\x0c', ..] => at += 1,
                    [b'/', b'/', ..] => self.comment = Comment::Line,
                    [b'/', b'*', ..] => {
                        at += 2;
                        self.comment = Comment::Block;
                        self.comment_line = self.next_line;
                    }
                    _ => return Ok(at),
                },
            }
        }
    }

    fn part(&mut self, words: &mut Words) -> Result<Part, Fault> {
        match self.expects {
            Expects::Ranks => {
                if !words.word(b"num_ranks") {
                    return Err(words.expected(
                        "`num_ranks` and the number of ranks",
                        "this is no GOAL schedule",
                    ));
                }
                words.blanks();
                let start = words.at();
                let ranks = words.number("the number of ranks", u64::from(MAX_TASKS))?;
                if ranks == 0 {
                    words.rewind(start);
                    return Err(words.expected("at least 1 rank", "correct it"));
                }
                self.ranks = ranks as u32;
                self.expects = Expects::Rank;
                Ok(Part::Ranks(self.ranks))
            }
            Expects::Rank => self.rank_start(words),
            Expects::Brace => self.brace(words),
            Expects::Statement if words.eat(b'}') => {
                self.rank += 1;
                self.expects = Expects::Rank;
                self.labels = Labels::default();
                Ok(Part::RankEnd)
            }
            Expects::Statement => self.statement(words),
        }
    }

    fn rank_start(&mut self, words: &mut Words) -> Result<Part, Fault> {
        let (rank, ranks) = (self.rank, self.ranks);
        if rank == ranks {
            return Err(words.expected(
                &format!("the end of the file after {ranks} ranks"),
                "correct `num_ranks`, or remove what follows",
            ));
        }
        let cure = format!("ranks come in order from 0 to {}", ranks - 1);
        if !words.word(b"rank") {
            return Err(words.expected(&format!("`rank {rank} {{`"), &cure));
        }
        words.blanks();
        let start = words.at();
        let found = words.number("the rank", u64::from(u32::MAX))?;
        if found != u64::from(rank) {
            words.rewind(start);
            return Err(words.expected(&format!("rank {rank}"), &cure));
        }
        self.expects = Expects::Brace;
        self.ops = 0;
        words.blanks();
        match words.at_end() {
            true => Ok(Part::Nothing),
            false => self.brace(words),
        }
    }

    fn brace(&mut self, words: &mut Words) -> Result<Part, Fault> {
        if !words.eat(b'{') {
            return Err(words.expected(
                &format!("`{{` after `rank {}`", self.rank),
                "see the format's description",
            ));
        }
        self.expects = Expects::Statement;
        Ok(Part::Rank(self.rank))
    }

    /// A statement, and the end of its line or of its rank behind it.
    fn statement(&mut self, words: &mut Words) -> Result<Part, Fault> {
        const STATEMENT: &str = "`send`, `recv`, `calc`, a label or `}`";
        let start = words.at();
        let Some(name) = words.name() else {
            return Err(words.expected(STATEMENT, "one statement is on each line"));
        };
        words.blanks();
        let label = words.eat(b':').then_some(name);
        let part = if label.is_some() {
            words.blanks();
            let at = words.at();
            let op = words.name().and_then(Verb::of);
            let Some(verb) = op else {
                words.rewind(at);
                return Err(words.expected(
                    "`send`, `recv` or `calc` after the label",
                    "these are all operations of GOAL",
                ));
            };
            Part::Op(operation::parse(words, verb, self.ranks)?)
        } else if let Some(verb) = Verb::of(name) {
            Part::Op(operation::parse(words, verb, self.ranks)?)
        } else if let Some(kind) = kind(words) {
            Part::Dependency(self.dependency(words, name, start, kind)?)
        } else {
            words.rewind(start);
            return Err(words.expected(STATEMENT, "these are all statements of GOAL"));
        };
        words.blanks();
        if !words.at_end() && words.peek() != Some(b'}') {
            return Err(words.expected(
                "the end of the line after the statement",
                "one statement is on each line, its parts in the order of the format's description",
            ));
        }
        if let Part::Op(_) = part {
            self.add(words, label)?;
        }
        Ok(part)
    }

    /// Counts an operation that is parsed, and gives it its label.
    fn add(&mut self, words: &Words, label: Option<&[u8]>) -> Result<(), Fault> {
        if self.ops as usize == MAX_GOAL_RANK_OPS {
            return Err(words.fault(
                "more than 2^24 operations in one rank; convert the schedule to its binary form, where a \
                 rank may have more"
                    .into(),
            ));
        }
        if let Some(label) = label {
            let shown = || quoted_bytes(label, true);
            self.labels.add(label, self.ops).map_err(|e| {
                words.fault(match e {
                    Refused::Taken(index) => format!(
                        "label {} is that of operation {index} of rank {} already (they count from 0); give \
                         each operation of a rank a label of its own",
                        shown(),
                        self.rank
                    ),
                    Refused::Full => "the labels of the rank take more than 256 MB; shorten them, or label \
                                      the operations `l1`, `l2`, … in their order"
                        .into(),
                })
            })?;
        }
        self.ops += 1;
        Ok(())
    }

    fn dependency(
        &self,
        words: &mut Words,
        of: &[u8],
        start: usize,
        kind: Kind,
    ) -> Result<Dependency, Fault> {
        words.blanks();
        let at = words.at();
        let Some(on) = words.name() else {
            return Err(words.expected("a label to wait for", "see the format's description"));
        };
        let find = |label: &[u8], at: usize| {
            self.labels.get(label).ok_or_else(|| Fault {
                at,
                message: format!(
                    "no operation above in rank {} has the label {}; define it above, or correct the label",
                    self.rank,
                    quoted_bytes(label, true)
                ),
            })
        };
        let (of, on) = (find(of, start)?, find(on, at)?);
        if of == on {
            return Err(words.fault("an operation waits for itself; correct one label".into()));
        }
        Ok(Dependency { of, on, kind })
    }

    fn end(&self) -> Result<Step, PlaceError> {
        let missing = match self.expects {
            Expects::Rank if self.rank == self.ranks => return Ok(Step::End),
            Expects::Ranks => {
                "expected `num_ranks` and the number of ranks, found the end of the file; this is \
                               no GOAL schedule, or it is empty"
                    .to_owned()
            }
            Expects::Rank => format!(
                "expected rank {} of {}, found the end of the file; it is cut short: copy or make it again",
                self.rank, self.ranks
            ),
            Expects::Brace | Expects::Statement => format!(
                "rank {} does not end; the file is cut short: copy or make it again",
                self.rank
            ),
        };
        Err(PlaceError::line(self.next_line, missing))
    }

    #[cold]
    fn wrong(&self, fault: Fault) -> PlaceError {
        let message = format!("column {}: {}", fault.at + 1, fault.message);
        PlaceError::line(self.next_line, message)
    }

    #[cold]
    fn open_comment(&self) -> PlaceError {
        PlaceError::line(
            self.comment_line,
            "a comment that begins with `/*` does not end; write `*/` behind it",
        )
    }

    #[cold]
    fn too_long(&self) -> PlaceError {
        let message = match self.expects {
            Expects::Ranks => format!(
                "expected `num_ranks` and the number of ranks, found a line of more than {MAX_GOAL_LINE} bytes; \
                 this is no GOAL schedule"
            ),
            _ => format!(
                "a line of more than {MAX_GOAL_LINE} bytes; one statement is on each line, and a long comment on \
                 lines of its own"
            ),
        };
        PlaceError::line(self.next_line, message)
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn kind(words: &mut Words) -> Option<Kind> {
    match words.name()? {
        b"requires" => Some(Kind::Done),
        b"irequires" => Some(Kind::Started),
        _ => None,
    }
}
