//! The events of a timeline, and what writes them.

use crate::fabric::ids::NicId;
use crate::replay::program::RankId;
use crate::replay::{Doing, Sent, StreamOf};
use std::sync::Arc;

/// Writes events. Times are in picoseconds and never decrease. Unless an output shows messages and links, it ignores them.
pub(super) trait Output: Send {
    /// A rank appears: a track for each of its streams. Tracks are numbered from 0 in this order.
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()>;
    /// The activity of a track ends, or another one begins, or both.
    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()>;
    /// A message leaves.
    fn sent(&mut self, _ps: u64, _message: &Message) -> anyhow::Result<()> {
        Ok(())
    }
    /// A message arrives.
    fn delivered(&mut self, _ps: u64, _message: &Message) -> anyhow::Result<()> {
        Ok(())
    }
    /// A link appears. Links are numbered from 0 in this order.
    fn link(&mut self, _name: &str) -> anyhow::Result<()> {
        Ok(())
    }
    /// A link was used for a part of the time between two times, which differs from the part before.
    /// Called when no event before the second time is missing.
    fn used(&mut self, _span: [u64; 2], _link: usize, _part: f64) -> anyhow::Result<()> {
        Ok(())
    }
    /// Completes the file, at the end of the run.
    fn finish(self: Box<Self>, ps: u64) -> anyhow::Result<()>;
}

/// A stream of a rank.
pub(super) struct StreamTrack<'a> {
    pub of: StreamOf,
    pub job: &'a str,
    pub nic: NicId,
    /// The operators' name of the NIC.
    pub nic_name: Option<&'a str>,
}

/// A track does something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub track: usize,
    /// The activity that ended, and since when it lasted.
    pub from: Option<(u64, Doing)>,
    /// The rank whose message ended it, if it was a wait for one.
    pub peer: Option<RankId>,
    pub to: Option<Doing>,
    /// The regions of the program in which both activities are.
    pub regions: [Option<Arc<str>>; 2],
}

/// A message in flight.
#[cfg_attr(
    not(feature = "perfetto"),
    allow(dead_code, reason = "Perfetto alone shows the latency")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Its number, from 0.
    pub number: u64,
    pub sent: Sent,
    pub sent_ps: u64,
    /// Tracks of the first streams of sender and receiver.
    pub tracks: [usize; 2],
}
