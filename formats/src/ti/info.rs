//! Counts what is in a trace.

use std::collections::BTreeMap;

use super::action::{Action, Elements};
use super::trace::Trace;
use crate::error::Error;

/// Contents of a trace. Elements of unknown size count as no bytes.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Ranks.
    pub ranks: u32,
    /// Actions of all ranks.
    pub actions: u64,
    /// Actions by their name in lower case; collectives that are only started have the name of the one that blocks.
    pub by_name: BTreeMap<&'static str, u64>,
    /// Sends without `sendRecv`.
    pub sends: u64,
    /// Their payload in bytes.
    pub send_bytes: u64,
    /// Receives without `sendRecv`.
    pub recvs: u64,
    /// Room of these receives in bytes.
    pub recv_bytes: u64,
    /// `sendRecv`s, each of which sends and receives.
    pub sendrecvs: u64,
    /// Bytes that they send.
    pub sendrecv_bytes: u64,
    /// Calls of collectives, by all members.
    pub collectives: u64,
    /// Of these, those that are only started.
    pub immediate_collectives: u64,
    /// Receives that accept any source or any tag.
    pub any: u64,
    /// Actions with elements whose size is not in the trace.
    pub unknown_sizes: u64,
    /// `test`, `testany`, `testall`, `testsome`: the program looked, and the trace does not say what it saw.
    pub polls: u64,
    /// Computation of each rank in flops.
    pub flops: Vec<f64>,
    /// Computation of all ranks within collectives, in flops.
    pub collective_flops: f64,
    /// Sum of all `sleep`s in seconds.
    pub sleep_seconds: f64,
}

impl Info {
    /// Reads a whole trace.
    ///
    /// # Errors
    /// If it can't be read or a line is broken.
    pub fn read(trace: &Trace) -> Result<Self, Error> {
        let mut info = Self::new(trace.ranks());
        for rank in 0..trace.ranks() {
            let mut actions = trace.rank(rank)?;
            while let Some((_, action)) = actions.next_action()? {
                info.add(rank, &action);
            }
        }
        Ok(info)
    }

    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks,
            flops: vec![0.0; ranks as usize],
            ..Self::default()
        }
    }

    fn message(&mut self, elements: &Elements) -> u64 {
        self.unknown_sizes += u64::from(elements.datatype.size().is_none());
        elements.bytes()
    }

    /// Whether any rank computes flops.
    #[must_use]
    pub fn has_flops(&self) -> bool {
        self.collective_flops > 0.0 || self.flops.iter().any(|flops| *flops > 0.0)
    }

    /// Adds an action of a rank that is there.
    pub(super) fn add(&mut self, rank: u32, action: &Action) {
        self.actions += 1;
        *self.by_name.entry(action.name()).or_default() += 1;
        match action {
            Action::Compute { flops } => self.flops[rank as usize] += flops,
            Action::Sleep { seconds } => self.sleep_seconds += seconds,
            Action::Send { elements, .. } => {
                self.sends += 1;
                let bytes = self.message(elements);
                self.send_bytes = self.send_bytes.saturating_add(bytes);
            }
            Action::Recv {
                from,
                tag,
                elements,
                ..
            } => {
                self.recvs += 1;
                let bytes = self.message(elements);
                self.recv_bytes = self.recv_bytes.saturating_add(bytes);
                self.any += u64::from(from.is_none() || tag.is_none());
            }
            Action::SendRecv {
                send, recv, from, ..
            } => {
                self.sendrecvs += 1;
                let bytes = self.message(send);
                self.message(recv);
                self.sendrecv_bytes = self.sendrecv_bytes.saturating_add(bytes);
                self.any += u64::from(from.is_none());
            }
            Action::Test(_) | Action::TestAny | Action::TestAll | Action::TestSome => {
                self.polls += 1
            }
            Action::Collective { call, immediate } => {
                self.collectives += 1;
                self.immediate_collectives += u64::from(*immediate);
                self.collective_flops += call.flops();
                let mut types = call.datatypes().into_iter().flatten();
                self.unknown_sizes += u64::from(types.any(|datatype| datatype.size().is_none()));
            }
            _ => {}
        }
    }
}
