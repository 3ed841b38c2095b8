//! Background traffic: every NIC sends messages of one size at a constant rate.

use super::cbr::{Period, Phase, Turns};
use super::rng::{Purpose, Stream};
use crate::fabric::spec::{Tick, Timing};
use crate::fabric::workload::Message;
use thiserror::Error;

pub use super::cbr::Rate;

/// Token of the messages of the first background flow; those of flow i have i less. No
/// message of a job has a token beyond 32 bits.
pub const BACKGROUND_TOKEN: u64 = u64::MAX;

/// One background flow, sent by every NIC of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundFlow {
    /// Service level.
    pub sl: u8,
    /// Payload of every message in bytes.
    pub message_bytes: u64,
    /// Flits of every message (see [`message_flits`]).
    pub message_flits: u64,
    /// Offered load per NIC.
    pub rate: Rate,
    /// Where the messages go.
    pub pattern: Pattern,
}

/// Destinations of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Every other NIC, each equally likely, drawn anew for every message.
    Uniform,
}

/// A flow that cannot be generated, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackgroundError {
    /// A rate of 0 in numerator or denominator, or messages without a flit.
    #[error("a background flow needs a rate above 0 and messages of at least one flit")]
    Nothing,
    /// The time between two messages does not fit.
    #[error("the time between two background messages is longer than 2^64 ticks")]
    TooSlow,
    /// There is nobody to send to.
    #[error("background traffic needs at least 2 NICs, but the fabric has {0}")]
    TooFewNics(u32),
}

/// Flits of a message of `bytes` bytes, cut into packets of `mtu_bytes` with
/// `header_bytes` each (`docs/model.md` §1).
#[must_use]
pub fn message_flits(timing: &Timing, mtu_bytes: u32, header_bytes: u32, bytes: u64) -> u64 {
    let mtu = u64::from(mtu_bytes.max(1));
    let whole = (bytes / mtu).saturating_mul(timing.flits(mtu_bytes, header_bytes).into());
    match (bytes % mtu) as u32 {
        0 if bytes > 0 => whole,
        rest => whole.saturating_add(timing.flits(rest, header_bytes).into()),
    }
}

/// Generator of all background flows.
///
/// The i-th message of a source is created in tick ⌊phase + i·m/r⌋ for messages
/// of m flits at a rate of r flits per tick, with a phase drawn from [0, m/r)
/// for every (flow, source).
#[derive(Debug, Clone)]
pub struct Background {
    nics: u32,
    flows: Vec<Sender>,
    messages: u64,
    bytes: u64,
    /// Sources of one flow in one tick; kept for its memory.
    due: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Sender {
    flow: BackgroundFlow,
    turns: Turns,
    /// By source.
    streams: Vec<Stream>,
    token: u64,
    created: u64,
    delivered: u64,
}

/// What became of one background flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundOutcome {
    /// Service level.
    pub sl: u8,
    /// Flits of every message.
    pub message_flits: u64,
    /// Messages created.
    pub messages: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
}

impl BackgroundOutcome {
    /// Messages created and not delivered.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.messages.saturating_sub(self.messages_delivered)
    }
}

impl Background {
    /// The flows on a fabric with `nics` NICs under the experiment's `seed`.
    ///
    /// # Errors
    /// If a flow sends nothing or has nowhere to send to.
    pub fn new(flows: &[BackgroundFlow], nics: u32, seed: u64) -> Result<Self, BackgroundError> {
        if !flows.is_empty() && nics < 2 {
            return Err(BackgroundError::TooFewNics(nics));
        }
        let senders = flows.iter().enumerate().map(|(index, &flow)| {
            let period = Period::new(flow.message_flits, flow.rate)?;
            let mut streams: Vec<Stream> = (0..u64::from(nics))
                .map(|source| Stream::new(seed, Purpose::Background, [index as u64, source]))
                .collect();
            let phases = streams
                .iter_mut()
                .map(|s| Phase::draw(&period, s))
                .collect();
            Ok(Sender {
                flow,
                turns: Turns::new(period, phases),
                streams,
                token: BACKGROUND_TOKEN - index as u64,
                created: 0,
                delivered: 0,
            })
        });
        Ok(Self {
            nics,
            flows: senders.collect::<Result<_, _>>()?,
            messages: 0,
            bytes: 0,
            due: Vec::new(),
        })
    }

    /// Tick of the next message; `None` without flows.
    #[must_use]
    pub fn next_tick(&self) -> Option<Tick> {
        self.flows.iter().map(|sender| sender.turns.tick()).min()
    }

    /// Creates the messages due up to tick `now`: tick by tick, the flows in
    /// their order, the sources ascending.
    pub fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        while let Some(tick) = self.next_tick().filter(|&tick| tick <= now) {
            for sender in &mut self.flows {
                self.due.clear();
                while sender.turns.tick() == tick && sender.turns.tick() < Tick::MAX {
                    self.due.push(sender.turns.source());
                    sender.turns.advance();
                }
                self.due.sort_unstable();
                for &source in &self.due {
                    out.push(sender.message(source, self.nics));
                    sender.created += 1;
                    self.messages += 1;
                    self.bytes = self.bytes.saturating_add(sender.flow.message_bytes);
                }
            }
            if tick == Tick::MAX {
                return;
            }
        }
    }

    /// A message with this token was delivered.
    pub(super) fn delivered(&mut self, token: u64) {
        let index = usize::try_from(BACKGROUND_TOKEN - token);
        if let Some(sender) = index.ok().and_then(|i| self.flows.get_mut(i)) {
            sender.delivered += 1;
        }
    }

    /// What became of each flow so far.
    #[must_use]
    pub fn outcomes(&self) -> Vec<BackgroundOutcome> {
        let one = |sender: &Sender| BackgroundOutcome {
            sl: sender.flow.sl,
            message_flits: sender.flow.message_flits,
            messages: sender.created,
            messages_delivered: sender.delivered,
        };
        self.flows.iter().map(one).collect()
    }

    /// Messages created so far.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Payload of the messages created so far, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Sender {
    fn message(&mut self, src: u32, nics: u32) -> Message {
        let stream = &mut self.streams[src as usize];
        let dst = match self.flow.pattern {
            Pattern::Uniform => {
                let other = stream.below(u64::from(nics) - 1) as u32;
                other + u32::from(other >= src)
            }
        };
        Message {
            src,
            dst,
            sl: self.flow.sl,
            bytes: self.flow.message_bytes,
            token: self.token,
            report_injection: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(sl: u8, flits: u64, per_tick: (u64, u64)) -> BackgroundFlow {
        BackgroundFlow {
            sl,
            message_bytes: flits.saturating_mul(8),
            message_flits: flits,
            rate: Rate {
                flits: per_tick.0,
                ticks: per_tick.1,
            },
            pattern: Pattern::Uniform,
        }
    }

    fn run(flows: &[BackgroundFlow], nics: u32, until: Tick) -> Vec<(Tick, Message)> {
        let mut background = Background::new(flows, nics, 1).unwrap();
        let mut all = Vec::new();
        let mut out = Vec::new();
        while let Some(tick) = background.next_tick().filter(|&t| t < until) {
            background.act(tick, &mut out);
            all.extend(out.drain(..).map(|m| (tick, m)));
        }
        all
    }

    #[test]
    fn the_offered_load_is_exact_for_every_source() {
        let all = run(&[flow(0, 16, (3, 10))], 8, 16_000);
        for nic in 0..8 {
            let mine: Vec<Tick> = all
                .iter()
                .filter(|(_, m)| m.src == nic)
                .map(|e| e.0)
                .collect();
            assert_eq!(mine.len(), 300); // 16,000 ticks × 0.3 / 16
            assert!(mine.windows(2).all(|w| (53..=54).contains(&(w[1] - w[0]))));
        }
    }

    #[test]
    fn destinations_are_uniform_over_the_others() {
        let all = run(&[flow(0, 1, (1, 1))], 4, 30_000);
        let mut counts = [[0_u32; 4]; 4];
        for (_, m) in &all {
            counts[m.src as usize][m.dst as usize] += 1;
        }
        for (src, row) in counts.iter().enumerate() {
            for (dst, &count) in row.iter().enumerate() {
                assert_eq!(count == 0, src == dst);
                assert!(src == dst || (9_600..10_400).contains(&count), "{count}");
            }
        }
    }

    #[test]
    fn a_further_flow_does_not_disturb_the_first() {
        let alone = run(&[flow(0, 16, (1, 10))], 16, 5_000);
        let mut both = run(&[flow(0, 16, (1, 10)), flow(1, 7, (2, 9))], 16, 5_000);
        both.retain(|(_, m)| m.sl == 0);
        assert_eq!(alone, both);
    }

    #[test]
    fn within_a_tick_flows_then_sources() {
        let all = run(&[flow(0, 4, (1, 1)), flow(1, 2, (1, 1))], 16, 100);
        assert!(all.is_sorted_by_key(|(tick, m)| (*tick, m.sl, m.src)));
    }

    #[test]
    fn flits_of_a_message_count_every_packet() {
        let timing = Timing {
            tick_ps: 640,
            flit_bytes: 8,
            link: 1,
            host_link: 1,
            input_store: 0,
            routing: 0,
            allocation: 1,
            crossbar: 1,
            output_store: 0,
            mport_speedup: 1,
            central_speedup: 1,
        };
        assert_eq!(message_flits(&timing, 64, 0, 0), 1);
        assert_eq!(message_flits(&timing, 64, 0, 64), 8);
        assert_eq!(message_flits(&timing, 64, 0, 65), 9);
        assert_eq!(message_flits(&timing, 64, 4, 128), 18);
        assert_eq!(message_flits(&timing, 60, 0, 125), 8 + 8 + 1);
    }

    #[test]
    fn impossible_flows_are_errors() {
        let new = |f, nics| Background::new(&[f], nics, 1).map(|_| ());
        assert_eq!(new(flow(0, 1, (0, 1)), 4), Err(BackgroundError::Nothing));
        assert_eq!(new(flow(0, 0, (1, 1)), 4), Err(BackgroundError::Nothing));
        assert_eq!(
            new(flow(0, u64::MAX, (1, 2)), 4),
            Err(BackgroundError::TooSlow)
        );
        let alone = new(flow(0, 1, (1, 1)), 1);
        assert_eq!(alone, Err(BackgroundError::TooFewNics(1)));
        assert!(Background::new(&[], 1, 1).unwrap().next_tick().is_none());
    }
}
