//! The words of a line, and numbers in them.

use super::action::Elements;
use super::datatype::Datatype;
use crate::limits::MAX_TI_COUNT;
use crate::quote::quoted_bytes;

/// The arguments of an action. What is wrong is returned as a message that names the action and the argument.
#[derive(Debug, Clone)]
pub(super) struct Args<'a> {
    /// The action as the line has it.
    action: &'a [u8],
    rest: &'a [u8],
    /// Arguments taken.
    taken: usize,
    ranks: u32,
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c')
}

/// The first word of `text`, if it has one, and what follows.
#[inline]
pub(super) fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|b| !is_blank(b))?;
    let text = &text[start..];
    let end = text.iter().position(is_blank).unwrap_or(text.len());
    Some(text.split_at(end))
}

/// A number that consists of digits.
#[inline]
pub(super) fn digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 19 {
        return None;
    }
    let mut value = 0;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

fn float(word: &[u8]) -> Option<f64> {
    // Rust accepts `inf`, `nan` and their kin as well.
    if word
        .iter()
        .any(|b| !matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
    {
        return None;
    }
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

impl<'a> Args<'a> {
    pub fn new(action: &'a [u8], rest: &'a [u8], ranks: u32) -> Self {
        Self {
            action,
            rest,
            taken: 0,
            ranks,
        }
    }

    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of arguments that are left.
    pub fn left(&self) -> usize {
        let mut rest = self.rest;
        let mut n = 0;
        while let Some((_, after)) = word(rest) {
            rest = after;
            n += 1;
        }
        n
    }

    #[inline]
    fn take(&mut self) -> Option<&'a [u8]> {
        let (word, rest) = word(self.rest)?;
        self.rest = rest;
        self.taken += 1;
        Some(word)
    }

    fn needed(&mut self, what: &str) -> Result<&'a [u8], String> {
        match self.take() {
            Some(word) => Ok(word),
            None => Err(format!(
                "{}: {what} is missing: it has {} arguments; complete the line",
                quoted_bytes(self.action, true),
                self.taken
            )),
        }
    }

    #[cold]
    fn wrong(&self, what: &str, expected: &str, found: &[u8]) -> String {
        format!(
            "{}: expected {expected} for {what} (argument {}), found {}; correct it",
            quoted_bytes(self.action, true),
            self.taken,
            quoted_bytes(found, true)
        )
    }

    /// That there is no such action, or none that can be replayed.
    #[cold]
    pub fn unknown(&self) -> String {
        const RECORDED: [&str; 9] = [
            "io",
            "win_",
            "put",
            "get",
            "rput",
            "rget",
            "accumulate",
            "start",
            "fetch",
        ];
        let name = String::from_utf8_lossy(self.action).to_ascii_lowercase();
        let shown = quoted_bytes(self.action, true);
        match RECORDED.iter().any(|start| name.starts_with(start)) {
            true => format!(
                "{shown} is recorded, but a replay does not know what it does; record a program that does not use it"
            ),
            false => format!("{shown} is no action of a TI trace; correct it"),
        }
    }

    /// Steps over all that is left.
    pub fn ignore(&mut self) {
        self.rest = &[];
    }

    /// Steps over `n` arguments.
    pub fn skip(&mut self, n: usize) {
        for _ in 0..n {
            self.take();
        }
    }

    /// Nothing may be left.
    pub fn end(&mut self) -> Result<(), String> {
        match self.take() {
            None => Ok(()),
            Some(extra) => Err(format!(
                "{}: has at most {} arguments in a trace of {} ranks, found {} behind them; remove it",
                quoted_bytes(self.action, true),
                self.taken - 1,
                self.ranks,
                quoted_bytes(extra, true)
            )),
        }
    }

    /// A number of at least 0, whole or not.
    pub fn amount(&mut self, what: &str) -> Result<f64, String> {
        let word = self.needed(what)?;
        float(word).ok_or_else(|| self.wrong(what, "a number of at least 0", word))
    }

    /// A number of elements. It may have a fraction or an exponent, and is rounded.
    #[inline]
    pub fn count(&mut self, what: &str) -> Result<u64, String> {
        let word = self.needed(what)?;
        let count = match digits(word) {
            Some(count) => Some(count),
            // Cannot truncate: it is at least 0, and a conversion saturates.
            None => float(word).map(|value| value.round() as u64),
        };
        count
            .filter(|&count| count <= MAX_TI_COUNT)
            .ok_or_else(|| self.wrong(what, "a number from 0 to 2^53", word))
    }

    /// A list with an entry for each rank.
    pub fn counts(&mut self, what: &str) -> Result<Box<[u64]>, String> {
        // The line has as many words, or this fails before it takes more.
        let mut counts = Vec::new();
        for _ in 0..self.ranks {
            counts.push(self.count(what)?);
        }
        Ok(counts.into())
    }

    /// The count that is left, if there is one.
    pub fn maybe_count(&mut self, what: &str) -> Result<Option<u64>, String> {
        match word(self.rest) {
            None => Ok(None),
            Some(_) => self.count(what).map(Some),
        }
    }

    /// A rank.
    #[inline]
    pub fn rank(&mut self, what: &str) -> Result<u32, String> {
        let word = self.needed(what)?;
        self.rank_of(what, word)
    }

    fn rank_of(&self, what: &str, word: &[u8]) -> Result<u32, String> {
        match digits(word) {
            Some(rank) if rank < u64::from(self.ranks) => Ok(rank as u32),
            Some(rank) if self.ranks == 1 => Err(format!(
                "{}: {what} is rank {rank}, but these are the lines of rank 0 alone; if other files have those of the \
                 other ranks, give the list of the files or their directory: else correct it",
                quoted_bytes(self.action, true),
            )),
            _ => {
                let last = self.ranks.saturating_sub(1);
                Err(self.wrong(what, &format!("a rank from 0 to {last}"), word))
            }
        }
    }

    /// A rank, or any.
    #[inline]
    pub fn rank_or_any(&mut self, what: &str) -> Result<Option<u32>, String> {
        let word = self.needed(what)?;
        match is_negative(word) {
            true => Ok(None),
            false => self.rank_of(what, word).map(Some),
        }
    }

    /// A tag.
    #[inline]
    pub fn tag(&mut self) -> Result<u32, String> {
        let word = self.needed("the tag")?;
        self.tag_of(word)
    }

    fn tag_of(&self, word: &[u8]) -> Result<u32, String> {
        let max = i32::MAX as u64;
        match digits(word) {
            Some(tag) if tag <= max => Ok(tag as u32),
            _ => Err(self.wrong("the tag", "a number from 0 to 2^31 - 1", word)),
        }
    }

    /// A tag, or any.
    #[inline]
    pub fn tag_or_any(&mut self) -> Result<Option<u32>, String> {
        let word = self.needed("the tag")?;
        match is_negative(word) {
            true => Ok(None),
            false => self.tag_of(word).map(Some),
        }
    }

    /// The root, 0 if there is none.
    pub fn root(&mut self) -> Result<u32, String> {
        match word(self.rest) {
            None => Ok(0),
            Some(_) => self.rank("the root"),
        }
    }

    /// A datatype; bytes if there is none.
    #[inline]
    pub fn datatype(&mut self, what: &str) -> Result<Datatype, String> {
        let Some(word) = self.take() else {
            return Ok(Datatype::BYTE);
        };
        let id = match word {
            b"-1" => Some(-1),
            _ => digits(word).and_then(|id| i64::try_from(id).ok()),
        };
        let max = Datatype::MAX;
        id.and_then(Datatype::of_id)
            .ok_or_else(|| self.wrong(what, &format!("a number from -1 to {max}"), word))
    }

    /// A count, then a datatype if there is one.
    #[inline]
    pub fn elements(&mut self) -> Result<Elements, String> {
        let count = self.count("the number of elements")?;
        let datatype = self.datatype("the datatype")?;
        Ok(Elements { count, datatype })
    }
}

/// True for a number below 0, all of which mean any.
fn is_negative(word: &[u8]) -> bool {
    word.strip_prefix(b"-")
        .is_some_and(|word| digits(word).is_some())
}
