//! The streaming parser of the text. It opens no files: the caller feeds it bytes.

use flitwise_base::place::PlaceError;
use flitwise_base::quote::quoted_bytes;
use memchr::{memchr, memmem};
use nom::Parser as _;
use nom::character::complete::char;
use nom::combinator::{map_opt, opt};
use nom::sequence::terminated;

use super::labels::{Labels, Refused};
use super::operation::{Verb, operation};
use super::record::{Dependency, DependencyKind, Op};
use super::words::{Parsed, after_blanks, blanks, expected, is_end, name, number, word};
use crate::grammar::{self, expect, fault, run};
use crate::limits::{MAX_GOAL_LINE, MAX_GOAL_RANK_OPS, MAX_TASKS};

/// The result of [`Parser::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Not a whole statement: call again with the same bytes and more after them.
    NeedMore,
    /// A part of a schedule. `consumed` bytes are to be dropped before the next call.
    Part {
        /// Bytes to drop.
        consumed: usize,
        /// Their meaning.
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
        let consumed = self.skip(buf, eof)?;
        if consumed > 0 {
            let part = Part::Nothing;
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
        let line = match grammar::line(buf, eof, MAX_GOAL_LINE) {
            Ok((_, line)) => line,
            Err(nom::Err::Incomplete(_)) => return Ok(Step::NeedMore),
            Err(_) => return Err(self.too_long()),
        };
        let parsed = run(|line| self.part(line), line);
        let (rest, part) = parsed.map_err(|fault| {
            let column = line.len() - fault.rest.len() + 1;
            let message = format!("column {column}: {}", fault.expected);
            PlaceError::line(self.next_line, message)
        })?;
        self.line = self.next_line;
        let consumed = line.len() - rest.len();
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

    #[inline]
    fn part<'a>(&mut self, line: &'a [u8]) -> Parsed<'a, Part> {
        match (self.expects, line) {
            (Expects::Ranks, _) => self.number_of_ranks(line),
            (Expects::Rank, _) => self.rank_start(line),
            (Expects::Brace, _) => self.brace(line),
            (Expects::Statement, [b'}', rest @ ..]) => {
                self.rank += 1;
                self.expects = Expects::Rank;
                self.labels = Labels::default();
                Ok((rest, Part::RankEnd))
            }
            (Expects::Statement, _) => self.statement(line),
        }
    }

    fn number_of_ranks<'a>(&mut self, line: &'a [u8]) -> Parsed<'a, Part> {
        let what = "`num_ranks` and the number of ranks";
        let word = expect(
            word("num_ranks"),
            expected(what, "this is no GOAL schedule"),
        );
        let (start, _) = terminated(word, blanks).parse(line)?;
        match number("the number of ranks", MAX_TASKS.into())(start)? {
            (_, 0) => fault(start, expected("at least 1 rank", "correct it")(start)),
            (rest, ranks) => {
                self.ranks = ranks as u32;
                self.expects = Expects::Rank;
                Ok((rest, Part::Ranks(self.ranks)))
            }
        }
    }

    fn rank_start<'a>(&mut self, line: &'a [u8]) -> Parsed<'a, Part> {
        let (rank, ranks) = (self.rank, self.ranks);
        if rank == ranks {
            let what = format!("the end of the file after {ranks} ranks");
            let cure = "correct `num_ranks`, or remove what follows";
            return fault(line, expected(what, cure)(line));
        }
        let cure = format!("ranks come in order from 0 to {}", ranks - 1);
        let first = expected(format!("`rank {rank} {{`"), cure.clone());
        let (start, _) = terminated(expect(word("rank"), first), blanks).parse(line)?;
        let (rest, found) = number("the rank", u32::MAX.into())(start)?;
        if found != u64::from(rank) {
            return fault(start, expected(format!("rank {rank}"), cure)(start));
        }
        self.expects = Expects::Brace;
        self.ops = 0;
        let (rest, ()) = blanks(rest)?;
        if is_end(rest) {
            Ok((rest, Part::Nothing))
        } else {
            self.brace(rest)
        }
    }

    fn brace<'a>(&mut self, line: &'a [u8]) -> Parsed<'a, Part> {
        let what = format!("`{{` after `rank {}`", self.rank);
        let what = expected(what, "see the format's description");
        let (rest, _) = expect(char('{'), what)(line)?;
        self.expects = Expects::Statement;
        Ok((rest, Part::Rank(self.rank)))
    }

    /// A statement, and the end of its line or of its rank behind it.
    #[inline]
    fn statement<'a>(&mut self, line: &'a [u8]) -> Parsed<'a, Part> {
        const STATEMENT: &str = "`send`, `recv`, `calc`, a label or `}`";
        const ONE: &str = "one statement is on each line";
        let first = expect(name, expected(STATEMENT, ONE));
        let (rest, first) = terminated(first, blanks).parse(line)?;
        let mut label = None;
        let (rest, part) = if let [b':', rest @ ..] = rest {
            label = Some(first);
            let verb = expect(map_opt(name, Verb::of), |at| {
                let what = "`send`, `recv` or `calc` after the label";
                expected(what, "these are all operations of GOAL")(at)
            });
            let (rest, verb) = after_blanks(verb).parse(rest)?;
            operation(rest, verb, self.ranks).map(|(rest, op)| (rest, Part::Op(op)))?
        } else if let Some(verb) = Verb::of(first) {
            operation(rest, verb, self.ranks).map(|(rest, op)| (rest, Part::Op(op)))?
        } else if let (rest, Some(kind)) = opt(map_opt(name, kind)).parse(rest)? {
            self.dependency(line, first, rest, kind)?
        } else {
            let statement = expected(STATEMENT, "these are all statements of GOAL");
            return fault(line, statement(line));
        };
        let (rest, ()) = blanks(rest)?;
        if !is_end(rest) && !rest.starts_with(b"}") {
            let what = "the end of the line after the statement";
            let cure =
                "one statement is on each line, its parts in the order of the format's description";
            return fault(rest, expected(what, cure)(rest));
        }
        if let Part::Op(_) = part
            && let Err(message) = self.add(label)
        {
            return fault(rest, message);
        }
        Ok((rest, part))
    }

    /// Counts an operation that is parsed, and gives it its label.
    fn add(&mut self, label: Option<&[u8]>) -> Result<(), String> {
        if self.ops as usize == MAX_GOAL_RANK_OPS {
            return Err(
                "more than 2^24 operations in one rank; convert the schedule to its binary form, where a \
                 rank may have more"
                    .into(),
            );
        }
        if let Some(label) = label {
            self.labels.add(label, self.ops).map_err(|e| match e {
                Refused::Taken(index) => format!(
                    "label {} already belongs to operation {index} of rank {} (both count from 0); give \
                     each operation of a rank a label of its own",
                    quoted_bytes(label, true),
                    self.rank
                ),
                Refused::Full => "the labels of the rank take more than 256 MB; shorten them, or label \
                                  the operations `l1`, `l2`, … in their order"
                    .into(),
            })?;
        }
        self.ops += 1;
        Ok(())
    }

    /// The dependency of the operation with the label `of`, at the start of `line`, on the one that `rest` names.
    fn dependency<'a>(
        &self,
        line: &'a [u8],
        of: &[u8],
        rest: &'a [u8],
        kind: DependencyKind,
    ) -> Parsed<'a, Part> {
        let (at, ()) = blanks(rest)?;
        let what = "a label to wait for";
        let (rest, on) = expect(name, |at| {
            expected(what, "see the format's description")(at)
        })(at)?;
        let find = |label: &[u8], at| match self.labels.get(label) {
            Some(index) => Ok((at, index)),
            None => {
                let message = format!(
                    "no operation above in rank {} has the label {}; define it above, or correct the label",
                    self.rank,
                    quoted_bytes(label, true)
                );
                fault(at, message)
            }
        };
        let ((_, of), (_, on)) = (find(of, line)?, find(on, at)?);
        if of == on {
            let message = "an operation waits for itself; correct one label";
            return fault(rest, message.into());
        }
        Ok((rest, Part::Dependency(Dependency { of, on, kind })))
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
                "a line of more than {MAX_GOAL_LINE} bytes; write one statement on each line, and a long comment on lines of its own"
            ),
        };
        PlaceError::line(self.next_line, message)
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn kind(name: &[u8]) -> Option<DependencyKind> {
    match name {
        b"requires" => Some(DependencyKind::Done),
        b"irequires" => Some(DependencyKind::Started),
        _ => None,
    }
}
