//! Flows and their sources: a source is a NIC within a flow, and knows its next message.

use super::injection::{InjectionProcess, SubTick};
use super::{
    BACKGROUND_TOKEN, BackgroundError, BackgroundFlow, BackgroundOutcome, MAX_SIZES, MessageSize,
    Sender, Target,
};
use flitwise_base::random::{Purpose, Stream};
use flitwise_fabric::ids::{NicId, NicPair};
use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::Message;

#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub sl: u8,
    pub sizes: Vec<MessageSize>,
    /// Sum of the weights.
    pub weights: u64,
    pub process: InjectionProcess,
    pub stop: Tick,
    /// Messages that the sources have passed, and messages delivered.
    pub so_far: BackgroundOutcome,
}

/// A NIC within a flow.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub flow: u32,
    pub nic: NicId,
    pub target: Target,
    /// Index of the size of the next message.
    pub size: u32,
    /// Creation of the next message; [`SubTick::NEVER`] after the last.
    pub next: SubTick,
    pub stream: Stream,
    /// The state in which the source continues behind messages that have waited over a gap.
    pub then: Option<Box<Then>>,
}

/// The state of a source behind messages that wait.
#[derive(Debug, Clone)]
pub(super) struct Then {
    /// Messages that wait, at least 1.
    pub waiting: u64,
    pub size: u32,
    pub next: SubTick,
    pub stream: Stream,
}

impl Flow {
    /// A flow at its start.
    pub(super) fn new(flow: &BackgroundFlow) -> Result<Self, BackgroundError> {
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
            so_far: BackgroundOutcome {
                sl: flow.sl,
                ..BackgroundOutcome::default()
            },
        })
    }

    /// Adds the sources of flow number `index`, each with a random stream of its own.
    pub(super) fn add_sources(
        &self,
        flow: &BackgroundFlow,
        index: u32,
        nics: u32,
        seed: u64,
        sources: &mut Vec<Source>,
    ) -> Result<(), BackgroundError> {
        for &Sender { nic, target } in &flow.senders {
            let to = match target {
                Target::Nic(to) => to,
                Target::Uniform { planes } => NicId::new((nic.get() + planes) % nics),
            };
            if nic.get() >= nics || to.get() >= nics || to == nic {
                return Err(BackgroundError::Sender {
                    pair: NicPair { src: nic, dst: to },
                    last: nics - 1,
                });
            }
            // A flow that never sends leaves no trace, not even an empty queue.
            if matches!(self.process, InjectionProcess::Silent) {
                continue;
            }
            let component = [u64::from(index), u64::from(nic.get())];
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
                then: None,
            });
        }
        Ok(())
    }

    /// Counts a message of size number `size` that its source has passed.
    #[inline]
    pub(super) fn count(&mut self, size: u32) {
        let units = self.sizes[size as usize].units;
        self.so_far.messages += 1;
        self.so_far.units = self.so_far.units.saturating_add(units);
    }

    /// Draws the index of a size.
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

    /// `time`, or never if the flow has stopped by then.
    #[inline]
    pub(super) fn until_stop(&self, time: SubTick) -> SubTick {
        if time.tick < self.stop {
            time
        } else {
            SubTick::NEVER
        }
    }
}

impl Source {
    /// The next message, whose destination is `dst`.
    #[inline]
    pub(super) fn message(&self, flow: &Flow, dst: NicId) -> Message {
        let bytes = flow.sizes[self.size as usize].bytes;
        let token =
            BACKGROUND_TOKEN - u64::from(self.flow) * MAX_SIZES as u64 - u64::from(self.size);
        Message::new(self.nic, dst, flow.sl, bytes, self.next.tick).with_token(token)
    }

    /// Advances to the next message to `dst`, if there is one, with its destination drawn.
    #[inline]
    pub(super) fn seek(&mut self, dst: NicId, nics: u32, flow: &Flow) {
        loop {
            // That there is one more is known, also where a gap has put it after the stop.
            self.step(flow);
            if self.next.tick == Tick::MAX || self.draw_target(nics) == dst {
                return;
            }
        }
    }

    /// Draws the destination of the next message.
    #[inline]
    pub(super) fn draw_target(&mut self, nics: u32) -> NicId {
        match self.target {
            Target::Nic(nic) => nic,
            Target::Uniform { planes } => {
                let (own, plane) = (self.nic.get() / planes, self.nic.get() % planes);
                let other = self.stream.below(u64::from(nics / planes) - 1) as u32;
                NicId::new((other + u32::from(other >= own)) * planes + plane)
            }
        }
    }

    /// Advances to the message after the next.
    #[inline]
    pub(super) fn advance(&mut self, flow: &Flow) {
        if self.then.is_some() {
            return self.advance_waiting(flow);
        }
        self.step(flow);
        self.next = flow.until_stop(self.next);
    }

    /// The same without regard to the end of the flow.
    #[inline]
    pub(super) fn step(&mut self, flow: &Flow) {
        let size = self.size as usize;
        self.size = flow.draw_size(&mut self.stream);
        self.next = flow.process.after(self.next, size, &mut self.stream);
    }
}
