//! Patterns from files: pairs of ranks, with bytes or without.

use super::{Level, Pair};
use thiserror::Error;
use twox_hash::XxHash3_128;

/// Most ranks that a file may name.
const MOST_RANKS: u32 = 1 << 24;

/// Pairs from a file, or the messages between the ranks of a traced job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given {
    /// The origin of the pairs.
    pub source: String,
    /// One more than the largest rank.
    pub ranks: u32,
    /// The levels; none is empty.
    pub levels: Vec<Level>,
}

/// A line that is no pair.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct GivenError {
    /// Line, from 1.
    pub line: usize,
    /// The problem, and what is expected.
    pub problem: String,
}

impl Given {
    /// XXH3 of the pairs and their bytes, level by level, whatever the file is called.
    #[must_use]
    pub fn digest(&self) -> u128 {
        let mut hasher = XxHash3_128::new();
        let mut add = |number: u64| hasher.write(&number.to_le_bytes());
        for level in &self.levels {
            add(level.pairs.len() as u64);
            for (at, pair) in level.pairs.iter().enumerate() {
                add(pair.from.into());
                add(pair.to.into());
                add(level.weights.get(at).copied().unwrap_or(0));
            }
        }
        hasher.finish_128()
    }

    /// Reads pairs: `FROM TO` or `FROM TO BYTES` on every line; an empty line begins the next level, `#` a comment.
    /// Without bytes all messages are equally long. `source` is a name for the file.
    ///
    /// ```
    /// use flitwise_oblivious::Given;
    ///
    /// let given = Given::parse("halves", "0 1\n2 3 # both\n\n1 0\n3 2\n")?;
    /// assert_eq!((given.ranks, given.levels.len()), (4, 2));
    /// # Ok::<(), flitwise_oblivious::GivenError>(())
    /// ```
    ///
    /// # Errors
    /// The first line that is no pair, a rank that sends to itself, bytes on some lines of the file only, or no pair
    /// at all.
    pub fn parse(source: &str, text: &str) -> Result<Self, GivenError> {
        let mut given = Self {
            source: source.to_owned(),
            ..Self::default()
        };
        let mut open = Level::default();
        let mut weighted = None;
        for (line, whole) in (1..).zip(text.lines()) {
            let wrong = |problem: String| GivenError { line, problem };
            let text = whole.split('#').next().unwrap_or("").trim();
            if text.is_empty() {
                if whole.trim().is_empty() {
                    given.close(&mut open);
                }
                continue;
            }
            let (pair, bytes) = pair(text).map_err(wrong)?;
            if *weighted.get_or_insert(bytes.is_some()) != bytes.is_some() {
                return Err(wrong(
                    "bytes stand on some lines only; write them on all lines, or on none".into(),
                ));
            }
            given.ranks = given.ranks.max(pair.from.max(pair.to) + 1);
            open.pairs.push(pair);
            open.weights.extend(bytes);
        }
        given.close(&mut open);
        if given.levels.is_empty() {
            Err(GivenError {
                line: 1,
                problem: "no pair of ranks; write `0 1` on a line".into(),
            })
        } else {
            Ok(given)
        }
    }

    /// One level of pairs with their bytes. Pairs of a rank with itself and those without bytes are left out.
    #[must_use]
    pub fn matrix(source: &str, ranks: u32, sent: impl IntoIterator<Item = (Pair, u64)>) -> Self {
        let mut level = Level::default();
        let sent = sent.into_iter();
        for (pair, bytes) in sent.filter(|(pair, bytes)| pair.from != pair.to && *bytes > 0) {
            level.pairs.push(pair);
            level.weights.push(bytes);
        }
        let mut given = Self {
            source: source.to_owned(),
            ranks,
            levels: Vec::new(),
        };
        given.close(&mut level);
        given
    }

    fn close(&mut self, open: &mut Level) {
        if !open.pairs.is_empty() {
            open.counted = open.pairs.len();
            self.levels.push(std::mem::take(open));
        }
    }
}

fn pair(text: &str) -> Result<(Pair, Option<u64>), String> {
    const EXPECTED: &str = "write `FROM TO` or `FROM TO BYTES`";
    let mut words = text.split_whitespace();
    let mut rank = || {
        let word = words
            .next()
            .ok_or_else(|| format!("one rank alone; {EXPECTED}"))?;
        let rank = word.parse::<u32>().ok().filter(|&rank| rank < MOST_RANKS);
        rank.ok_or_else(|| format!("{word:?} is no rank below {MOST_RANKS}; {EXPECTED}"))
    };
    let (from, to) = (rank()?, rank()?);
    if from == to {
        return Err(format!("rank {from} sends to itself; remove the line"));
    }
    let bytes = words.next().map(|word| {
        let bytes = word.parse::<u64>().ok().filter(|&bytes| bytes > 0);
        bytes.ok_or_else(|| format!("{word:?} is no number of bytes above 0; {EXPECTED}"))
    });
    match words.next() {
        Some(more) => Err(format!("{more:?} follows a pair; {EXPECTED}")),
        None => Ok((Pair { from, to }, bytes.transpose()?)),
    }
}
