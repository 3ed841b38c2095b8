//! Synthetic traffic: flows of messages beside the jobs, or instead of them.
//!
//! A source (a NIC within a flow) creates messages at the ticks that the injection process of
//! its flow gives. An application queue may hold any number of them, but this module keeps no
//! list of them: a source stores only its next message, and hands it over when the fabric asks
//! for it ([`Background::replenish`]). So a backlog takes no memory.
//!
//! Phase 3 of a tick (`docs/model/fabric.md` §5) calls this module through the
//! [`Workload`](flitwise_fabric::workload::Workload) of the replay. It creates messages and
//! counts them; the fabric cuts them into packets. `injection` decides when messages are
//! created, `pattern` where they go, `source` joins the two, `queues` stores the waiting ones, and `turns` says whose comes
//! next where flows take turns.

mod agenda;
mod gap;
mod group_shift;
mod hand_over;
mod injection;
mod pattern;
mod queues;
mod source;
mod turns;

use self::agenda::Agenda;
pub use self::injection::{Injection, Rate};
pub use self::pattern::{Pattern, PatternError, Sender, Target};
use self::queues::Queues;
use self::source::{Flow, Source};
pub use self::turns::NicQueueing;
use flitwise_fabric::ids::{NicId, NicPair};
use flitwise_fabric::spec::{FabricSpec, Tick};
use flitwise_fabric::workload::Queueing;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Token of the messages of the first flow that have its first size. Each further size
/// subtracts 1 from it, and each further flow subtracts [`MAX_SIZES`]. Tokens of jobs have at
/// most 32 bits.
pub const BACKGROUND_TOKEN: u64 = u64::MAX;
/// Most message sizes of a flow.
pub const MAX_SIZES: usize = 64;
/// Most flows, so that their tokens differ from the tokens of jobs.
pub const MAX_FLOWS: usize = 1 << 24;

/// The background flow that a message with this token belongs to; `None` of a job's message.
#[must_use]
pub fn flow_of(token: u64) -> Option<u32> {
    let flow = (BACKGROUND_TOKEN - token) / MAX_SIZES as u64;
    u32::try_from(flow)
        .ok()
        .filter(|&flow| (flow as usize) < MAX_FLOWS)
}

/// One size of the messages of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSize {
    /// Payload in bytes.
    pub bytes: u64,
    /// Units of link time (see [`message_units`]), at least 1.
    pub units: u64,
    /// Weight, at least 1: the share of this size is its weight over the sum of all weights.
    pub weight: u64,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundFlow {
    /// Service level.
    pub sl: u8,
    /// Sizes of its messages, from 1 to [`MAX_SIZES`] of them.
    pub sizes: Vec<MessageSize>,
    /// Offered load of every NIC that sends.
    pub rate: Rate,
    /// Injection process.
    pub injection: Injection,
    /// Tick from which on messages are created.
    pub start: Tick,
    /// Tick from which on no message is created.
    pub stop: Tick,
    /// The NICs that send.
    pub senders: Vec<Sender>,
}

/// A flow that cannot be generated, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BackgroundError {
    /// The denominator of the rate is 0, or a message has no flit.
    #[error("a background flow needs a rate and messages of at least one flit")]
    Nothing,
    /// The time between two messages exceeds the range of ticks.
    #[error("the time between two background messages is longer than 2^60 ticks")]
    TooSlow,
    /// More than one message would have to be created in every tick.
    #[error("a bernoulli source creates at most one message per tick; lower its rate")]
    TooFast,
    /// The fabric has fewer than 2 NICs.
    #[error("background traffic needs at least 2 NICs, but the fabric has {0}")]
    TooFewNics(u32),
    /// A sender or receiver does not exist, or a NIC sends to itself.
    #[error("a background flow from NIC {src} to NIC {dst} cannot be: there are NICs 0 to {last}", src = .pair.src, dst = .pair.dst)]
    Sender {
        /// Sender and receiver.
        pair: NicPair,
        /// Highest NIC of the fabric.
        last: u32,
    },
    /// There are more than [`MAX_FLOWS`] flows, or more than [`MAX_SIZES`] sizes in one.
    #[error("there are more than 2^24 background flows or more than 64 sizes in one")]
    TooMany,
}

/// Units of link time ([`FabricSpec::link_units`]) that a message of `bytes` takes when it is
/// cut into packets of at most `mtu_bytes` (`docs/model/fabric.md` §1).
#[must_use]
pub fn message_units(fabric: &FabricSpec, mtu_bytes: u32, bytes: u64) -> u64 {
    let mtu = u64::from(mtu_bytes.max(1));
    let whole = (bytes / mtu).saturating_mul(fabric.link_units(mtu_bytes).into());
    match (bytes % mtu) as u32 {
        0 if bytes > 0 => whole,
        rest => whole.saturating_add(fabric.link_units(rest).into()),
    }
}

/// Messages of one background flow that were created and delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundOutcome {
    /// Service level.
    pub sl: u8,
    /// Messages created.
    pub messages: u64,
    /// Units of link time of the messages created.
    pub units: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Units of link time of the messages delivered.
    pub units_delivered: u64,
}

/// The message of a flow that has waited longest in an application queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// Number of its flow.
    pub flow: u32,
    /// NIC that is to send it.
    pub nic: NicId,
    /// Tick of its creation.
    pub since: Tick,
}

impl BackgroundFlow {
    /// Checks sizes and rate without a fabric.
    ///
    /// # Errors
    /// As [`Background::new`].
    pub fn check(&self) -> Result<(), BackgroundError> {
        Flow::new(self).map(|_| ())
    }
}

impl BackgroundOutcome {
    /// Messages created and not yet delivered.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.messages.saturating_sub(self.messages_delivered)
    }

    /// The part of the messages created that was delivered, 0 to 1; 1 if none was created.
    #[must_use]
    pub fn delivered_share(&self) -> f64 {
        if self.messages == 0 {
            return 1.0;
        }
        self.messages_delivered.min(self.messages) as f64 / self.messages as f64
    }

    /// The messages since `earlier`, an outcome of the same flow.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sl: self.sl,
            messages: self.messages - earlier.messages,
            units: self.units - earlier.units,
            messages_delivered: self.messages_delivered - earlier.messages_delivered,
            units_delivered: self.units_delivered - earlier.units_delivered,
        }
    }
}

/// All flows, and the messages that wait in the application queues that they feed.
#[derive(Debug, Clone)]
pub struct Background {
    nics: u32,
    nic_queueing: NicQueueing,
    flows: Vec<Flow>,
    /// In the order of [`Queues::new`].
    sources: Vec<Source>,
    queues: Queues,
    /// The tick of the next message of each permanent queue of which the fabric has no
    /// message. Items from the number of permanent queues on are the sources that draw
    /// destinations for many queues.
    agenda: Agenda,
    /// Items of the agenda that are due in the present tick.
    due: Vec<u32>,
    /// Queues for which sources drew messages in the present tick.
    drawn_queues: Vec<u32>,
    /// Messages handed to the fabric.
    handed: u64,
    /// Payload of these messages in bytes.
    handed_bytes: u64,
}

impl Background {
    /// The flows on a fabric with `nics` NICs. `queueing` says how messages queue there, and
    /// `seed` is the seed of the experiment.
    ///
    /// # Errors
    /// If a flow has nothing to send, or a NIC that does not exist.
    pub fn new(
        flows: &[BackgroundFlow],
        nics: u32,
        seed: u64,
        queueing: Queueing,
    ) -> Result<Self, BackgroundError> {
        Self::with(flows, nics, seed, queueing, NicQueueing::Fifo, &[])
    }

    /// The same with an order in which flows are served. Jobs send on the service levels `shared`; in a FIFO these do
    /// not matter.
    ///
    /// # Errors
    /// As [`Background::new`].
    pub fn with(
        flows: &[BackgroundFlow],
        nics: u32,
        seed: u64,
        queueing: Queueing,
        nic_queueing: NicQueueing,
        shared: &[u8],
    ) -> Result<Self, BackgroundError> {
        let shared = match nic_queueing {
            NicQueueing::Fifo => &[],
            NicQueueing::PerFlow => shared,
        };
        if !flows.is_empty() && nics < 2 {
            return Err(BackgroundError::TooFewNics(nics));
        }
        if flows.len() > MAX_FLOWS {
            return Err(BackgroundError::TooMany);
        }
        let (mut states, mut sources) = (Vec::with_capacity(flows.len()), Vec::new());
        for (index, flow) in (0..).zip(flows) {
            let state = Flow::new(flow)?;
            state.add_sources(flow, index, nics, seed, &mut sources)?;
            states.push(state);
        }
        let queues = Queues::new(queueing, &states, shared, nics, &mut sources);
        let permanent = queues.permanent();
        let mut background = Self {
            nics,
            nic_queueing,
            agenda: Agenda::new(permanent as usize + sources.len()),
            queues,
            due: Vec::new(),
            drawn_queues: Vec::new(),
            handed: 0,
            handed_bytes: 0,
            sources,
            flows: states,
        };
        for queue in 0..permanent {
            background.put_on_agenda(queue);
        }
        if queueing == Queueing::PerPair {
            for (at, source) in (0..).zip(&background.sources) {
                if matches!(source.target, Target::Uniform { .. }) && source.next.tick < Tick::MAX {
                    background.agenda.insert(permanent + at, source.next.tick);
                }
            }
        }
        Ok(background)
    }

    /// Whether messages of jobs may have to wait for others.
    #[inline]
    #[must_use]
    pub fn has_queues(&self) -> bool {
        self.takes_turns() || !self.flows.is_empty()
    }

    /// Whether the flows take turns.
    #[inline]
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        self.nic_queueing == NicQueueing::PerFlow
    }

    /// Tick in which [`Background::act`] is due: a message may be created for a queue of which
    /// the fabric has none. [`Tick::MAX`] if there will be none.
    #[inline]
    #[must_use]
    pub fn next_tick(&self) -> Tick {
        self.agenda.soonest()
    }

    /// Counts a delivered message by its token. Ignores tokens of jobs.
    pub fn delivered(&mut self, token: u64) {
        let index = usize::try_from(BACKGROUND_TOKEN - token).unwrap_or(usize::MAX);
        if let Some(flow) = self.flows.get_mut(index / MAX_SIZES)
            && let Some(size) = flow.sizes.get(index % MAX_SIZES)
        {
            flow.so_far.messages_delivered += 1;
            flow.so_far.units_delivered = flow.so_far.units_delivered.saturating_add(size.units);
        }
    }

    /// The outcome of each flow up to and including tick `end`, which must not be earlier than
    /// the last call of any other method.
    #[must_use]
    pub fn outcomes(&self, end: Tick) -> Vec<BackgroundOutcome> {
        let mut outcomes: Vec<_> = self.flows.iter().map(|flow| flow.so_far).collect();
        for source in &self.sources {
            let outcome = &mut outcomes[source.flow as usize];
            let flow = &self.flows[source.flow as usize];
            let end = end.min(flow.stop.saturating_sub(1));
            let waits_over_gap = source.then.is_some();
            if source.next.tick > end && !waits_over_gap {
                continue;
            }
            let counted = flow.process.count(source.next, end);
            if let Some(messages) = counted.filter(|_| !waits_over_gap) {
                outcome.messages += messages;
                let units = messages.saturating_mul(flow.sizes[0].units);
                outcome.units = outcome.units.saturating_add(units);
                continue;
            }
            let mut ahead = source.clone();
            while ahead.then.is_some() || ahead.next.tick <= end {
                let size = flow.sizes[ahead.size as usize];
                outcome.messages += 1;
                outcome.units = outcome.units.saturating_add(size.units);
                ahead.draw_target(self.nics);
                ahead.advance(flow);
            }
        }
        outcomes
    }

    /// Messages, including messages of jobs, created by tick `end` and not handed to the fabric.
    #[must_use]
    pub fn waiting(&self, end: Tick) -> u64 {
        let created: u64 = self.outcomes(end).iter().map(|o| o.messages).sum();
        let held: usize = self.queues.iter().map(|queue| queue.held.len()).sum();
        created - self.handed + held as u64
    }

    /// The message of a flow created first of those that wait at tick `now`; of several in one tick that
    /// of the first flow and NIC.
    #[must_use]
    pub fn furthest_behind(&self, now: Tick) -> Option<Behind> {
        let drawn = self.queues.iter().flat_map(|queue| &queue.drawn);
        let sources = self.sources.iter().chain(drawn.map(|drawn| &drawn.source));
        let waiting = sources.filter(|source| source.next.tick <= now);
        let first = waiting.min_by_key(|source| (source.next.tick, source.flow, source.nic))?;
        (first.next.tick < Tick::MAX).then_some(Behind {
            flow: first.flow,
            nic: first.nic,
            since: first.next.tick,
        })
    }

    /// Messages handed to the fabric so far.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.handed
    }

    /// Payload of the messages handed to the fabric so far, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.handed_bytes
    }
}
