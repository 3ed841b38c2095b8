//! Synthetic traffic: flows of messages beside the jobs, or instead of them.
//!
//! A source (a NIC within a flow) creates a message whenever its [process] says so, and an
//! application queue may hold any number of them. They are kept in closed form: a source
//! knows its next message only, with the tick of its creation, and makes it when the fabric
//! has room ([`Background::replenish`]). So a backlog takes time to work off, but no memory.

mod agenda;
#[cfg(test)]
mod backlog_tests;
#[cfg(test)]
mod flow_tests;
mod hand_over;
mod injection;
mod pattern;
mod queues;

use self::agenda::Agenda;
pub use self::injection::{Injection, Rate};
use self::injection::{InjectionProcess, Moment};
pub use self::pattern::{Pattern, PatternError, Target};
use self::queues::Queues;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::fabric::workload::{Message, Queueing};
use crate::random::{Purpose, Stream};
use thiserror::Error;

/// Token of the messages of the first size of the first flow; each further size has one
/// less, each further flow [`MAX_SIZES`] less. No message of a job has a token beyond 32
/// bits.
pub const BACKGROUND_TOKEN: u64 = u64::MAX;
/// Most message sizes of a flow.
pub const MAX_SIZES: usize = 64;
/// Most flows: their tokens stay far from those of jobs.
pub const MAX_FLOWS: usize = 1 << 24;

/// One size of the messages of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSize {
    /// Payload in bytes.
    pub bytes: u64,
    /// Units of link time (see [`message_units`]), at least 1.
    pub units: u64,
    /// Share of the messages that have this size, among the sum of the weights; at least 1.
    pub weight: u64,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundFlow {
    /// Service level.
    pub sl: u8,
    /// Sizes of its messages: at least one, at most [`MAX_SIZES`].
    pub sizes: Vec<MessageSize>,
    /// Offered load of every NIC that sends.
    pub rate: Rate,
    /// How it is spread over time.
    pub injection: Injection,
    /// First tick.
    pub start: Tick,
    /// Tick from which on no message is created any more.
    pub stop: Tick,
    /// The NICs that send, and where to.
    pub senders: Vec<(u32, Target)>,
}

/// A flow that cannot be generated, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackgroundError {
    /// A rate of 0 in numerator or denominator, or messages without a flit.
    #[error("a background flow needs a rate above 0 and messages of at least one flit")]
    Nothing,
    /// The time between two messages does not fit.
    #[error("the time between two background messages is longer than 2^60 ticks")]
    TooSlow,
    /// More than one message would have to be created in every tick.
    #[error("a bernoulli source creates at most one message per tick; lower its rate")]
    TooFast,
    /// There is nobody to send to.
    #[error("background traffic needs at least 2 NICs, but the fabric has {0}")]
    TooFewNics(u32),
    /// A sender or receiver does not exist, or sends to itself.
    #[error("a background flow from NIC {0} to NIC {1} cannot be: there are NICs 0 to {2}")]
    Sender(u32, u32, u32),
    /// More than [`MAX_FLOWS`] flows or [`MAX_SIZES`] sizes.
    #[error("there are more than 2^24 background flows or more than 64 sizes in one")]
    TooMany,
}

/// Units of link time ([`FabricSpec::link_units`]) that a message of `bytes` takes, cut into
/// packets of `mtu_bytes` (`docs/model.md` §1).
#[must_use]
pub fn message_units(fabric: &FabricSpec, mtu_bytes: u32, bytes: u64) -> u64 {
    let mtu = u64::from(mtu_bytes.max(1));
    let whole = (bytes / mtu).saturating_mul(fabric.link_units(mtu_bytes).into());
    match (bytes % mtu) as u32 {
        0 if bytes > 0 => whole,
        rest => whole.saturating_add(fabric.link_units(rest).into()),
    }
}

/// What became of one background flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackgroundOutcome {
    /// Service level.
    pub sl: u8,
    /// Messages created.
    pub messages: u64,
    /// Their units.
    pub units: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Their units.
    pub units_delivered: u64,
}

impl BackgroundFlow {
    /// Checks sizes and rate, before there is a fabric.
    ///
    /// # Errors
    /// As [`Background::new`].
    pub fn check(&self) -> Result<(), BackgroundError> {
        Flow::new(self).map(|_| ())
    }
}

impl BackgroundOutcome {
    /// Messages created and not delivered.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.messages.saturating_sub(self.messages_delivered)
    }

    /// What was added since `earlier`.
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

/// Generator of all flows, and the rest of the application queues that they feed.
#[derive(Debug, Clone)]
pub struct Background {
    nics: u32,
    flows: Vec<Flow>,
    /// Ordered as [`Queues::new`] says.
    sources: Vec<Source>,
    queues: Queues,
    /// Lasting queues that the fabric has nothing of, at the tick of their next message; and
    /// beyond their number sources that draw destinations for many queues, at theirs.
    agenda: Agenda,
    /// Of one tick; kept for their memory.
    due: Vec<u32>,
    reached: Vec<u32>,
    handed: u64,
    handed_bytes: u64,
}

#[derive(Debug, Clone)]
struct Flow {
    sl: u8,
    sizes: Vec<MessageSize>,
    /// Sum of the weights.
    weights: u64,
    process: InjectionProcess,
    stop: Tick,
    /// Messages that have left their sources, and those that were delivered.
    handed: BackgroundOutcome,
}

/// A NIC within a flow.
#[derive(Debug, Clone)]
struct Source {
    flow: u32,
    nic: u32,
    target: Target,
    /// Size of the next message.
    size: u32,
    /// When the next message is created; [`Moment::NEVER`] after the last.
    next: Moment,
    stream: Stream,
}

impl Background {
    /// The flows on a fabric with `nics` NICs, where messages queue as `queueing` says, under
    /// the experiment's `seed`.
    ///
    /// # Errors
    /// If a flow sends nothing or has nowhere to send to.
    pub fn new(
        flows: &[BackgroundFlow],
        nics: u32,
        seed: u64,
        queueing: Queueing,
    ) -> Result<Self, BackgroundError> {
        if !flows.is_empty() && nics < 2 {
            return Err(BackgroundError::TooFewNics(nics));
        }
        if flows.len() > MAX_FLOWS {
            return Err(BackgroundError::TooMany);
        }
        let (mut processes, mut sources) = (Vec::with_capacity(flows.len()), Vec::new());
        for (index, flow) in (0..).zip(flows) {
            let process = Flow::new(flow)?;
            process.add_sources(flow, index, nics, seed, &mut sources)?;
            processes.push(process);
        }
        let queues = Queues::new(queueing, &processes, nics, &mut sources);
        let lasting = queues.lasting();
        let mut background = Self {
            nics,
            agenda: Agenda::new(lasting as usize + sources.len()),
            queues,
            due: Vec::new(),
            reached: Vec::new(),
            handed: 0,
            handed_bytes: 0,
            sources,
            flows: processes,
        };
        for queue in 0..lasting {
            background.note(queue);
        }
        if queueing == Queueing::PerPair {
            for (at, source) in (0..).zip(&background.sources) {
                if source.target == Target::Uniform && source.next.tick < Tick::MAX {
                    background.agenda.insert(lasting + at, source.next.tick);
                }
            }
        }
        Ok(background)
    }

    /// Tick of the next message for a queue that the fabric has nothing of;
    /// [`Tick::MAX`] if there will be none.
    #[inline]
    #[must_use]
    pub fn next_tick(&self) -> Tick {
        self.agenda.soonest()
    }

    /// A message with this token was delivered.
    pub fn delivered(&mut self, token: u64) {
        let index = usize::try_from(BACKGROUND_TOKEN - token).unwrap_or(usize::MAX);
        if let Some(flow) = self.flows.get_mut(index / MAX_SIZES)
            && let Some(size) = flow.sizes.get(index % MAX_SIZES)
        {
            flow.handed.messages_delivered += 1;
            flow.handed.units_delivered = flow.handed.units_delivered.saturating_add(size.units);
        }
    }

    /// What became of each flow up to and including tick `end`, which must not be before the
    /// last tick that anything was done in.
    #[must_use]
    pub fn outcomes(&self, end: Tick) -> Vec<BackgroundOutcome> {
        let mut outcomes: Vec<_> = self.flows.iter().map(|flow| flow.handed).collect();
        for source in &self.sources {
            let outcome = &mut outcomes[source.flow as usize];
            let flow = &self.flows[source.flow as usize];
            let end = end.min(flow.stop.saturating_sub(1));
            if source.next.tick > end {
                continue;
            }
            if let Some(messages) = flow.process.count(source.next, end) {
                outcome.messages += messages;
                let units = messages.saturating_mul(flow.sizes[0].units);
                outcome.units = outcome.units.saturating_add(units);
                continue;
            }
            let mut ahead = source.clone();
            while ahead.next.tick <= end {
                let size = flow.sizes[ahead.size as usize];
                outcome.messages += 1;
                outcome.units = outcome.units.saturating_add(size.units);
                ahead.draw_target(self.nics);
                ahead.advance(flow);
            }
        }
        outcomes
    }

    /// Messages that are created by tick `end` and have not been handed over, those of jobs
    /// included.
    #[must_use]
    pub fn waiting(&self, end: Tick) -> u64 {
        let created: u64 = self.outcomes(end).iter().map(|o| o.messages).sum();
        let held: usize = self.queues.iter().map(|queue| queue.held.len()).sum();
        created - self.handed + held as u64
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

impl Flow {
    fn new(flow: &BackgroundFlow) -> Result<Self, BackgroundError> {
        if flow.sizes.len() > MAX_SIZES {
            return Err(BackgroundError::TooMany);
        }
        let sizes: Vec<(u64, u64)> = flow.sizes.iter().map(|s| (s.units, s.weight)).collect();
        let weights = sizes
            .iter()
            .try_fold(0_u64, |sum, size| sum.checked_add(size.1));
        Ok(Self {
            sl: flow.sl,
            process: InjectionProcess::new(flow.injection, &sizes, flow.rate)?,
            sizes: flow.sizes.clone(),
            weights: weights.ok_or(BackgroundError::TooMany)?,
            stop: flow.stop,
            handed: BackgroundOutcome {
                sl: flow.sl,
                ..BackgroundOutcome::default()
            },
        })
    }

    /// The NICs that send, each with a stream of its own.
    fn add_sources(
        &self,
        flow: &BackgroundFlow,
        index: u32,
        nics: u32,
        seed: u64,
        sources: &mut Vec<Source>,
    ) -> Result<(), BackgroundError> {
        for &(nic, target) in &flow.senders {
            let to = match target {
                Target::Nic(to) => to,
                Target::Uniform => (nic + 1) % nics,
            };
            if nic >= nics || to >= nics || to == nic {
                return Err(BackgroundError::Sender(nic, to, nics - 1));
            }
            let component = [u64::from(index), u64::from(nic)];
            let mut stream = Stream::new(seed, Purpose::Background, component);
            let size = self.draw_size(&mut stream);
            let next = self.process.first(flow.start, size as usize, &mut stream);
            sources.push(Source {
                flow: index,
                nic,
                target,
                size,
                next: self.until_stop(next),
                stream,
            });
        }
        Ok(())
    }

    /// A message of size number `size` has left its source.
    #[inline]
    fn count(&mut self, size: u32) {
        let units = self.sizes[size as usize].units;
        self.handed.messages += 1;
        self.handed.units = self.handed.units.saturating_add(units);
    }

    #[inline]
    fn draw_size(&self, stream: &mut Stream) -> u32 {
        if self.sizes.len() == 1 {
            return 0;
        }
        let mut drawn = stream.below(self.weights);
        let chosen = self.sizes.iter().position(|size| {
            let found = drawn < size.weight;
            drawn = drawn.saturating_sub(size.weight);
            found
        });
        chosen.unwrap_or(0) as u32
    }

    #[inline]
    fn until_stop(&self, moment: Moment) -> Moment {
        if moment.tick < self.stop {
            moment
        } else {
            Moment::NEVER
        }
    }
}

impl Source {
    /// The message that it is at, to `dst`.
    #[inline]
    fn message(&self, flow: &Flow, dst: u32) -> Message {
        Message {
            src: self.nic,
            dst,
            sl: flow.sl,
            bytes: flow.sizes[self.size as usize].bytes,
            created: self.next.tick,
            token: BACKGROUND_TOKEN
                - u64::from(self.flow) * MAX_SIZES as u64
                - u64::from(self.size),
            report_injection: false,
        }
    }

    /// Goes on to its next message to `dst`, if there is one, and draws its destination.
    #[inline]
    fn seek(&mut self, dst: u32, nics: u32, flow: &Flow) {
        loop {
            self.advance(flow);
            if self.next.tick == Tick::MAX || self.draw_target(nics) == dst {
                return;
            }
        }
    }

    /// Destination of the next message.
    #[inline]
    fn draw_target(&mut self, nics: u32) -> u32 {
        match self.target {
            Target::Nic(nic) => nic,
            Target::Uniform => {
                let other = self.stream.below(u64::from(nics) - 1) as u32;
                other + u32::from(other >= self.nic)
            }
        }
    }

    /// Goes on to the message after the next.
    #[inline]
    fn advance(&mut self, flow: &Flow) {
        let size = self.size as usize;
        self.size = flow.draw_size(&mut self.stream);
        let next = flow.process.after(self.next, size, &mut self.stream);
        self.next = flow.until_stop(next);
    }
}
