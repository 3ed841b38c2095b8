//! Traffic patterns: pairs of ranks in levels. The pairs of a level communicate at the same time; levels follow each
//! other (ORCS, sections 2.4 and 4).

mod given;
mod level;
mod neighbor;

pub use given::{Given, GivenError};
pub use level::{Level, Pair};

use crate::named::unknown;
use flitwise_base::random::Stream;
use std::fmt;
use std::sync::Arc;

/// Most pairs of one level.
const MOST_PAIRS: u64 = 1 << 27;

/// A traffic pattern for any number of ranks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// A random permutation, drawn anew in every run. A rank may draw itself; it then sends nothing.
    Random,
    /// A random permutation in which no rank draws itself, as ORCS 2.0 draws it, rank by rank: not all are equally
    /// likely. Drawn anew in every run.
    Derangement,
    /// Nothing, as a companion of another pattern.
    Null,
    /// 2i + 1 sends to 2i. Of an odd number of ranks the last is idle.
    Bisect,
    /// 2i + 1 and 2i send to each other.
    BisectBothWays,
    /// Binomial tree: level l has i → i + 2^l for i < 2^l (Figure 6).
    Tree,
    /// Level l has i → i + 2^l modulo the number of ranks (Figure 1).
    Bruck,
    /// All send to rank 0.
    Gather,
    /// Rank 0 sends to all.
    Scatter,
    /// Level l has l → l + 1; the last one closes the ring.
    Ring,
    /// Ranks whose numbers differ in bit l exchange; ranks beyond the largest power of two P get one message
    /// from the rank P below in a level of their own.
    RecursiveDoubling,
    /// Every rank exchanges with up to that number of others: 2, 4 or 6 in the report.
    Neighbor(u32),
    /// Two patterns side by side on parts of the ranks.
    Versus(Box<Versus>),
    /// All to all in levels: level l has i → i + l + 1 modulo the number of ranks.
    Shift,
    /// One level of `Shift`: i → i + distance.
    ShiftBy(u32),
    /// Every rank sends to every other one at the same time.
    AllToAll,
    /// Rank (row, column) of the largest square of ranks sends to (column, row).
    Transpose,
    /// Every rank sends to another one, drawn at random in every run: several may draw the same.
    Uniform,
    /// Pairs from a file or a trace.
    Given(Arc<Given>),
}

/// Two patterns at the same time: the first on ranks 0 to `ranks` − 1, the second on the others, whose numbers begin
/// with `ranks` (section 2.5 and `ptrnvsptrn`). They run level by level. If the second pattern ends first, it begins
/// again; if the first one does, the second continues alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Versus {
    /// The pattern that is examined.
    pub first: Pattern,
    /// The pattern that disturbs it.
    pub second: Pattern,
    /// Ranks of the first pattern.
    pub ranks: u32,
}

/// Names and patterns, for all patterns that need only a name.
const NAMED: &[(&str, Pattern)] = &[
    ("rand", Pattern::Random),
    ("derangement", Pattern::Derangement),
    ("null", Pattern::Null),
    ("bisect", Pattern::Bisect),
    ("bisect_fb_sym", Pattern::BisectBothWays),
    ("tree", Pattern::Tree),
    ("bruck", Pattern::Bruck),
    ("gather", Pattern::Gather),
    ("scatter", Pattern::Scatter),
    ("ring", Pattern::Ring),
    ("recdbl", Pattern::RecursiveDoubling),
    ("2neighbor", Pattern::Neighbor(2)),
    ("4neighbor", Pattern::Neighbor(4)),
    ("6neighbor", Pattern::Neighbor(6)),
    ("shift", Pattern::Shift),
    ("alltoall", Pattern::AllToAll),
    ("transpose", Pattern::Transpose),
    ("uniform", Pattern::Uniform),
];

impl Pattern {
    /// All names, for messages.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        NAMED.iter().map(|&(name, _)| name).collect()
    }

    /// The pattern of that name: one of [`Pattern::names`], `Nneighbor` or `shift:N` with a number.
    ///
    /// # Errors
    /// If there is none; the message lists all names.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((_, pattern)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(pattern.clone());
        }
        let number = |digits: &str| digits.parse::<u32>().ok();
        let neighbors = text.strip_suffix("neighbor").and_then(number);
        if let Some(n) = neighbors.filter(|&n| n > 0) {
            return Ok(Self::Neighbor(n));
        }
        if let Some(n) = text.strip_prefix("shift:").and_then(number) {
            return Ok(Self::ShiftBy(n));
        }
        Err(format!(
            "{}, also Nneighbor and shift:N",
            unknown("pattern", text, &Self::names())
        ))
    }

    /// Whether pairs have bytes, which cables add up, instead of counting alike.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        match self {
            Self::Given(given) => given.levels.iter().any(|level| !level.weights.is_empty()),
            Self::Versus(both) => both.first.has_bytes() || both.second.has_bytes(),
            _ => false,
        }
    }

    /// Number of levels with `ranks` ranks.
    #[must_use]
    pub fn levels(&self, ranks: u32) -> u32 {
        let one_of = |least: u32| u32::from(ranks >= least);
        match self {
            Self::Null => 0,
            Self::Random => one_of(1),
            Self::Tree | Self::Bruck => ceil_log2(ranks),
            Self::Ring => ranks * one_of(2),
            Self::RecursiveDoubling => match ranks {
                0 => 0,
                _ => ranks.ilog2() + u32::from(!ranks.is_power_of_two()),
            },
            Self::Shift => ranks.saturating_sub(1),
            Self::Bisect
            | Self::BisectBothWays
            | Self::Derangement
            | Self::Gather
            | Self::Scatter
            | Self::Neighbor(_)
            | Self::ShiftBy(_)
            | Self::AllToAll
            | Self::Transpose
            | Self::Uniform => one_of(2),
            Self::Versus(both) => {
                let [first, second] = both.levels(ranks);
                first.max(second)
            }
            Self::Given(given) => given.levels.len() as u32,
        }
    }

    /// Writes the pairs of `level` into `out`, in the order of the report. Random patterns take them from `stream`.
    pub fn fill(&self, level: u32, ranks: u32, stream: &mut Stream, out: &mut Level) {
        out.clear();
        if level < self.levels(ranks) {
            self.add(level, ranks, stream, out);
            out.counted = match self {
                Self::Versus(both) => both.counted(level, ranks, out),
                _ => out.pairs.len(),
            };
        }
    }

    fn add(&self, level: u32, n: u32, stream: &mut Stream, out: &mut Level) {
        match self {
            Self::Null => {}
            Self::Random => {
                let mut to: Vec<u32> = (0..n).collect();
                stream.shuffle(&mut to);
                out.extend((0..n).zip(to));
            }
            Self::Derangement => out.extend((0..).zip(derangement(n, stream))),
            Self::Bisect => out.extend((0..n / 2).map(|i| (2 * i + 1, 2 * i))),
            Self::BisectBothWays => {
                out.extend((0..n / 2).flat_map(|i| [(2 * i, 2 * i + 1), (2 * i + 1, 2 * i)]));
            }
            Self::Tree => {
                let distance = 1 << level;
                out.extend((0..distance.min(n - distance)).map(|i| (i, i + distance)));
            }
            Self::Bruck => out.extend((0..n).map(|i| (i, (i + (1 << level)) % n))),
            Self::Gather => out.extend((1..n).map(|i| (i, 0))),
            Self::Scatter => out.extend((1..n).map(|i| (0, i))),
            Self::Ring => out.extend([(level, (level + 1) % n)]),
            Self::RecursiveDoubling => recursive_doubling(level, n, out),
            Self::Neighbor(most) => neighbor::add(n, *most, out),
            Self::Versus(both) => both.add(level, n, stream, out),
            Self::Shift => out.extend((0..n).map(|i| (i, after(i, level + 1, n)))),
            Self::ShiftBy(distance) => {
                out.extend((0..n).map(|i| (i, after(i, distance % n, n))));
            }
            Self::AllToAll => {
                let others = |i| (0..n).filter(move |&k| k != i).map(move |k| (i, k));
                out.extend((0..n).flat_map(others));
            }
            Self::Transpose => {
                let side = n.isqrt();
                let pair = |i| (i, i % side * side + i / side);
                out.extend((0..side * side).map(pair).filter(|(from, to)| from != to));
            }
            Self::Uniform => out.extend((0..n).map(|i| {
                let draw = stream.below(u64::from(n) - 1) as u32;
                (i, draw + u32::from(draw >= i))
            })),
            Self::Given(given) => {
                let level = &given.levels[level as usize];
                out.pairs.extend_from_slice(&level.pairs);
                out.weights.extend_from_slice(&level.weights);
            }
        }
    }

    /// The cure if no rank of the examined pattern sends to another one, in the level or in any; `None` if one may do.
    pub(crate) fn silence(&self, level: Option<u32>, ranks: u32) -> Option<String> {
        Some(match self {
            Self::Null => "as a second pattern (--against) it leaves the first one alone".into(),
            Self::Versus(both) => return both.silence(level, ranks),
            _ if ranks < 2 => "give it at least 2 ranks".into(),
            Self::ShiftBy(distance) if distance % ranks == 0 => {
                format!("take a distance that is no multiple of {ranks}")
            }
            Self::Transpose if ranks < 4 => "give it at least 4 ranks, a square".into(),
            // Nor does a trace without messages send; what it lacks is told where it is read.
            _ => return None,
        })
    }

    /// Tells if `ranks` ranks are too few for what the pattern's name says.
    #[must_use]
    pub fn shortfall(&self, ranks: u32) -> Option<String> {
        match self {
            Self::Neighbor(most) if *most >= ranks => Some(format!(
                "{self} among {ranks} ranks: each has only {} others, and exchanges with all of them",
                ranks.saturating_sub(1)
            )),
            Self::Versus(both) => {
                let first = both.first.shortfall(both.ranks);
                first.or_else(|| both.second.shortfall(ranks.saturating_sub(both.ranks)))
            }
            _ => None,
        }
    }

    /// Whether the pattern works with `ranks` ranks.
    ///
    /// # Errors
    /// If a level has more than 2^27 pairs, the pairs of a file or trace name more ranks, or the parts of two patterns
    /// do not fit, or one of them has bytes and the other none.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        let n = u64::from(ranks);
        match self {
            Self::AllToAll if n * n.saturating_sub(1) > MOST_PAIRS => Err(format!(
                "alltoall among {ranks} ranks is more than {MOST_PAIRS} pairs at the same time; take the pattern shift, which has \
                 them in levels"
            )),
            Self::Given(given) if given.ranks > ranks => Err(format!(
                "the pairs name {} ranks, but there are {ranks}",
                given.ranks
            )),
            Self::Versus(both) => {
                let part = both.ranks;
                let nested = |p: &Self| matches!(p, Self::Versus(_));
                if nested(&both.first) || nested(&both.second) {
                    return Err("a part of ptrnvsptrn cannot be ptrnvsptrn".into());
                }
                if !(1..ranks).contains(&part) {
                    return Err(format!(
                        "the first pattern has {part} ranks and the second one all others, but there are {ranks} in all; give \
                         each at least one"
                    ));
                }
                both.check_units()?;
                both.first.check(part)?;
                both.second.check(ranks - part)
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMED.iter().find(|(_, pattern)| pattern == self) {
            return f.write_str(name);
        }
        match self {
            Self::Neighbor(n) => write!(f, "{n}neighbor"),
            Self::ShiftBy(n) => write!(f, "shift:{n}"),
            Self::Versus(both) => {
                let Versus {
                    first,
                    second,
                    ranks,
                } = &**both;
                write!(f, "{first} on {ranks} ranks against {second}")
            }
            Self::Given(given) => f.write_str(&given.source),
            _ => Ok(()),
        }
    }
}

impl Versus {
    /// Levels of both patterns.
    fn levels(&self, ranks: u32) -> [u32; 2] {
        let rest = ranks.saturating_sub(self.ranks);
        [
            self.first.levels(self.ranks.min(ranks)),
            self.second.levels(rest),
        ]
    }

    /// The cure of [`Pattern::silence`]. Without levels of the first pattern there is nothing to examine; beyond its last
    /// level the second one is alone and is counted.
    fn silence(&self, level: Option<u32>, ranks: u32) -> Option<String> {
        let [first, second] = self.levels(ranks);
        match level {
            Some(level) if (1..=level).contains(&first) && level < second => None,
            _ => self.first.silence(level, self.ranks),
        }
    }

    /// Refuses pairs with bytes beside pairs without: cables would have to add up bytes and connections.
    fn check_units(&self) -> Result<(), String> {
        let both = [&self.first, &self.second];
        let sends = |pattern: &&Pattern| **pattern != Pattern::Null;
        let of = |bytes| {
            let mut with = both.into_iter().filter(sends);
            with.find(|pattern| pattern.has_bytes() == bytes)
        };
        match [true, false].map(of) {
            [Some(with), Some(without)] => Err(format!(
                "{with} has bytes and {without} has none, and cables add up one or the other; leave the bytes out of a \
                 file of pairs, or analyse a trace or job alone"
            )),
            _ => Ok(()),
        }
    }

    fn add(&self, level: u32, ranks: u32, stream: &mut Stream, out: &mut Level) {
        let [first, second] = self.levels(ranks);
        if level < first {
            self.first.add(level, self.ranks, stream, out);
        }
        if second > 0 {
            let begin = out.pairs.len();
            let rest = ranks.saturating_sub(self.ranks);
            self.second.add(level % second, rest, stream, out);
            for pair in &mut out.pairs[begin..] {
                pair.from += self.ranks;
                pair.to += self.ranks;
            }
        }
    }

    /// Number of pairs of the first pattern, which come first.
    fn counted(&self, level: u32, ranks: u32, out: &Level) -> usize {
        if level < self.levels(ranks)[0] {
            out.pairs
                .iter()
                .filter(|pair| pair.from < self.ranks)
                .count()
        } else {
            0
        }
    }
}

/// i + distance modulo n, for distance below n.
fn after(i: u32, distance: u32, n: u32) -> u32 {
    ((u64::from(i) + u64::from(distance)) % u64::from(n)) as u32
}

/// Smallest l with 2^l ≥ n.
fn ceil_log2(n: u32) -> u32 {
    match n {
        0 | 1 => 0,
        _ => (n - 1).ilog2() + 1,
    }
}

/// Targets of `n` > 1 ranks: each takes one at random of those that are left and not itself. A last rank that finds only
/// itself trades with another one.
fn derangement(n: u32, stream: &mut Stream) -> Vec<u32> {
    let mut left: Vec<u32> = (0..n).collect();
    let mut targets: Vec<u32> = Vec::with_capacity(left.len());
    for rank in 0..n {
        if left[..] == [rank] {
            let other = stream.below(u64::from(rank)) as usize;
            let target = std::mem::replace(&mut targets[other], rank);
            targets.push(target);
            break;
        }
        let at = loop {
            let at = stream.below(left.len() as u64) as usize;
            if left[at] != rank {
                break at;
            }
        };
        targets.push(left.swap_remove(at));
    }
    targets
}

fn recursive_doubling(level: u32, n: u32, out: &mut Level) {
    let power = 1 << n.ilog2();
    if level < n.ilog2() {
        let lower = (0..power).filter(|k| k >> level & 1 == 0);
        out.extend(lower.flat_map(|k| [(k, k + (1 << level)), (k + (1 << level), k)]));
    } else {
        out.extend((0..n - power).map(|i| (i, i + power)));
    }
}
