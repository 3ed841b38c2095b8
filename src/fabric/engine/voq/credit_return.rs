//! The credits of one packet that leaves a buffer, or of a few short ones.

use super::rate::Rate;
use super::schedule::{Lines, Schedule};
use crate::engine::bits::Divisor;
use crate::engine::variant::Variant;
use crate::spec::Tick;
use flitwise_base::units::Ratio;

/// The rates at which packets leave buffers, which all credit returns share.
#[derive(Debug)]
pub(super) struct DrainRates {
    /// Rates of links, send engines and sinks, by their index.
    pub rates: Vec<Rate>,
    pub flits_per_credit: Divisor,
    pub crossbar: Crossbar,
}

/// The rate of the crossbar: in which ticks the flits of a packet cross.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossbar {
    /// `flits` cross in `ticks` ticks; the fraction is reduced.
    flits: u64,
    ticks: u64,
    /// The same rate, exact to the byte.
    pub rate: Rate,
}

impl Crossbar {
    /// A crossbar of `rate` flits per tick.
    pub(super) fn new(rate: Ratio, flit_bytes: u32) -> Self {
        Self {
            flits: rate.num().max(1),
            ticks: rate.den(),
            rate: Rate::new(rate, flit_bytes),
        }
    }

    /// Ticks between the crossing of the header and the crossing of flit `i`, if flit `i` is
    /// available in time.
    #[inline]
    pub(super) fn flit(self, i: u32) -> Tick {
        let ticks = u64::from(i) * self.ticks;
        if self.flits == 1 {
            ticks
        } else {
            ticks / self.flits
        }
    }

    /// Flits that can cross in the first `ticks` ticks.
    fn flits_in(self, ticks: Tick) -> u64 {
        ticks.saturating_mul(self.flits).div_ceil(self.ticks)
    }
}

/// The packets that a [`CreditReturn`] is about, and how their flits leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// One packet; a link or a sink takes its flits.
    ByLink,
    /// One packet; the crossbar takes its flits: flit i leaves [`Crossbar::flit`] after the first, or when it is
    /// available.
    ByCrossbar,
    /// Up to [`Singles::MOST`] packets of one credit each.
    Singles,
}

/// When each of some packets of one credit gives it back: ticks behind the first one, in a byte each. Bytes without a
/// packet repeat the last one.
#[derive(Debug, Clone, Copy)]
struct Singles(u32);

impl Singles {
    /// Packets that have a place.
    const MOST: u16 = 5;

    /// The ticks from the first credit to the last one.
    #[inline(always)]
    fn last(self) -> u8 {
        self.0.to_le_bytes()[3]
    }

    /// The ticks from the first credit to credit `c`, from 0 and below [`Singles::MOST`].
    #[inline]
    fn of(self, c: u32) -> Tick {
        match c {
            0 => 0,
            c => self.0.to_le_bytes()[c as usize - 1].into(),
        }
    }

    /// Credits that are back `ticks` after the first one, before the last one.
    #[inline]
    fn by(self, ticks: Tick) -> u32 {
        let is_back = |&&of: &&u8| Tick::from(of) <= ticks;
        1 + self.0.to_le_bytes().iter().filter(is_back).count() as u32
    }

    /// Adds credit `c`, 1 to 4, `ticks` after the first one.
    #[inline]
    fn with(self, c: u16, ticks: u8) -> Self {
        let from = 8 * u32::from(c - 1);
        let kept = (1 << from) - 1;
        Self(self.0 & kept | (u32::from(ticks) * 0x0101_0101) << from)
    }
}

/// The credits of a packet that leaves a buffer, or of some packets of one credit. All ticks are shifted to when the
/// sender may use the credits: later than the flits leave, by the ticks that a credit takes to the sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct CreditReturn<V: Variant> {
    /// Tick in which the header leaves; of packets of one credit, in which the first one's credit is back.
    first: Tick,
    /// Ticks from there to the last credit. `layout::check_limits` keeps them within 32 bits. Of packets of one credit,
    /// [`Singles`].
    span: u32,
    pub credits: u16,
    /// VL of the buffer; 0 for buffers that count without regard to VLs.
    pub vl: u8,
    leaves: Leaves,
    /// From which tick each flit is available to the crossbar, or leaves by the link or sink.
    lines: Lines<V>,
}

/// Fills the unused entries of a queue.
impl<V: Variant> Default for CreditReturn<V> {
    fn default() -> Self {
        Self {
            first: 0,
            span: 0,
            credits: 0,
            vl: 0,
            leaves: Leaves::ByLink,
            lines: Lines::default(),
        }
    }
}

impl<V: Variant> CreditReturn<V> {
    /// A link or a sink takes the flits in the ticks of `leaves`.
    #[inline(always)]
    pub(super) fn leaving(leaves: &Schedule<V>, credits: u16, vl: u8) -> Self {
        // A line may begin behind the only flit of a packet, which is short.
        let first = leaves.header().min(leaves.tail());
        Self {
            first,
            span: (leaves.tail() - first) as u32,
            credits,
            vl,
            leaves: Leaves::ByLink,
            lines: leaves.lines(),
        }
    }

    /// The crossbar takes the flits from tick `start` on, when they are available. It takes the
    /// last one in tick `end`.
    #[inline(always)]
    pub(super) fn crossing(
        start: Tick,
        end: Tick,
        available: &Schedule<V>,
        credits: u16,
        vl: u8,
    ) -> Self {
        // Without lines the flits come at the rate of the crossbar: the later header decides.
        let first = if V::IS_PLAIN {
            start.max(available.header())
        } else {
            start
        };
        Self {
            first,
            span: (end - first) as u32,
            credits,
            vl,
            leaves: if V::IS_PLAIN {
                Leaves::ByLink
            } else {
                Leaves::ByCrossbar
            },
            lines: available.lines(),
        }
    }

    /// Tick of the last credit.
    #[inline]
    pub(super) fn end(&self) -> Tick {
        self.first
            + match self.leaves {
                Leaves::Singles => Singles(self.span).last().into(),
                Leaves::ByLink | Leaves::ByCrossbar => Tick::from(self.span),
            }
    }

    /// The same, but its last credit is back in tick `end`, at or after its own end. A return of one credit may then
    /// [take up](Self::followed_by) others.
    #[inline(always)]
    pub(super) fn ending(mut self, end: Tick) -> Self {
        if self.credits == 1 {
            (self.first, self.span, self.leaves) = (end, 0, Leaves::Singles);
        } else {
            self.span = (end - self.first) as u32;
        }
        self
    }

    /// This return with the one credit of `next` added, which is back in tick `end`, at or after the end of this one.
    /// `None` if one of the two is not of packets of one credit, their VLs differ, or there is no place.
    #[inline(always)]
    pub(super) fn followed_by(&self, next: &Self, end: Tick) -> Option<Self> {
        if (self.leaves, next.credits) != (Leaves::Singles, 1) {
            return None;
        }
        let ticks = u8::try_from(end - self.first).ok()?;
        (self.vl == next.vl && self.credits < Singles::MOST).then(|| Self {
            span: Singles(self.span).with(self.credits, ticks).0,
            credits: self.credits + 1,
            ..*self
        })
    }

    /// Tick of credit `c`, counted from 0.
    #[inline]
    pub(super) fn credit_tick(&self, drain: &DrainRates, c: u32) -> Tick {
        if c + 1 >= u32::from(self.credits) {
            return self.end();
        }
        if self.leaves == Leaves::Singles {
            return self.first + Singles(self.span).of(c);
        }
        let last_flit = (c + 1) * drain.flits_per_credit.value() - 1;
        let leaves = self.lines.tick_of(self.first, &drain.rates, last_flit);
        if self.leaves == Leaves::ByCrossbar {
            leaves.max(self.first + drain.crossbar.flit(last_flit))
        } else {
            leaves
        }
    }

    /// Credits that are back by tick `now`, including credits already applied.
    pub(super) fn credits_by(&self, drain: &DrainRates, now: Tick) -> u32 {
        if now >= self.end() {
            return self.credits.into();
        }
        if now < self.first {
            return 0;
        }
        if self.leaves == Leaves::Singles {
            return Singles(self.span).by(now - self.first);
        }
        // Not all flits have left, so the last credit, which may be a part of one, is not back.
        let rest = u32::from(self.credits) - 1;
        let mut flits = rest * drain.flits_per_credit.value();
        if self.leaves == Leaves::ByCrossbar {
            let crossed = drain.crossbar.flits_in(now - self.first + 1);
            flits = flits.min(u32::try_from(crossed).unwrap_or(flits));
        }
        let flits = self.lines.flits_by(self.first, &drain.rates, now, flits);
        drain.flits_per_credit.floor(flits)
    }
}
