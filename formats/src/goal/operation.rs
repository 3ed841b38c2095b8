//! Parses an operation of the text.

use super::record::{Op, Task};
use super::words::{Fault, Words};

/// The word with which an operation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Send,
    Recv,
    Calc,
}

impl Verb {
    pub fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"send" => Some(Self::Send),
            b"recv" => Some(Self::Recv),
            b"calc" => Some(Self::Calc),
            _ => None,
        }
    }
}

/// The operation behind its first word, in a schedule of `ranks` ranks.
pub(super) fn parse(words: &mut Words, verb: Verb, ranks: u32) -> Result<Op, Fault> {
    words.blanks();
    let mut op = Op::new(match verb {
        Verb::Calc => Task::Calc {
            time: words.number("the time", u64::MAX)?,
        },
        Verb::Send => {
            let bytes = size(words, b"to")?;
            let to = peer(words, false, ranks)?.unwrap_or_default();
            let tag = tag(words, false)?.unwrap_or_default();
            Task::Send { bytes, to, tag }
        }
        Verb::Recv => {
            let bytes = size(words, b"from")?;
            let from = peer(words, true, ranks)?;
            let tag = tag(words, true)?;
            Task::Recv { bytes, from, tag }
        }
    });
    op.cpu = part_number(words, b"cpu")?;
    if verb != Verb::Calc {
        op.nic = part_number(words, b"nic")?;
    }
    Ok(op)
}

/// `64b to` or `64b from`.
fn size(words: &mut Words, way: &'static [u8]) -> Result<u64, Fault> {
    let bytes = words.number("the size in bytes", u64::MAX)?;
    if !words.word(b"b") {
        return Err(words.expected("`b` directly after the size", "sizes are bytes: `64b`"));
    }
    words.blanks();
    if !words.word(way) {
        let way = String::from_utf8_lossy(way).into_owned();
        return Err(words.expected(
            &format!("`{way}` and a rank"),
            "a send goes `to` a rank, a recv comes `from` one",
        ));
    }
    Ok(bytes)
}

/// The other rank.
fn peer(words: &mut Words, any: bool, ranks: u32) -> Result<Option<u32>, Fault> {
    words.blanks();
    let start = words.at();
    let max = u64::from(u32::MAX);
    let rank = match any {
        true => words.number_or_any("the rank", max)?,
        false => Some(words.number("the rank", max)?),
    };
    match rank {
        Some(rank) if rank >= u64::from(ranks) => {
            words.rewind(start);
            Err(words.expected(
                &format!("a rank from 0 to {}", ranks - 1),
                "correct the rank, or `num_ranks`",
            ))
        }
        rank => Ok(rank.map(|rank| rank as u32)),
    }
}

/// The tag, 0 if there is none.
fn tag(words: &mut Words, any: bool) -> Result<Option<u32>, Fault> {
    words.blanks();
    if !words.word(b"tag") {
        return Ok(Some(0));
    }
    words.blanks();
    let max = u64::from(u32::MAX) - 1;
    let tag = match any {
        true => words.number_or_any("the tag", max)?,
        false => Some(words.number("the tag", max)?),
    };
    Ok(tag.map(|tag| tag as u32))
}

/// The number after `word`, 0 if there is none.
fn part_number(words: &mut Words, word: &'static [u8]) -> Result<u8, Fault> {
    words.blanks();
    if !words.word(word) {
        return Ok(0);
    }
    words.blanks();
    let what = match word {
        b"cpu" => "the CPU",
        _ => "the NIC",
    };
    Ok(words.number(what, u64::from(u8::MAX))? as u8)
}
