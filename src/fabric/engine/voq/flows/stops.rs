//! Stops and goes (`docs/model/infiniband.md` §15, `Isolating`): which flows the senders of links hold back,
//! and what is on its way to them.

use super::table::{Flow, FlowTable};
use crate::engine::ids::OutputId;
use crate::spec::Tick;
use std::collections::VecDeque;

/// A stop or a go for the sender of a link.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Notice {
    pub flow: Flow,
    pub stop: bool,
}

/// The links of all outputs, numbered as these.
#[derive(Debug)]
pub(in super::super) struct Stops(Vec<Stopped>);

#[derive(Debug, Default)]
struct Stopped {
    flows: FlowTable<()>,
    /// With the tick in which the sender sees each.
    under_way: VecDeque<(Tick, Notice)>,
}

impl Stops {
    /// Nothing is stopped at any of `outputs` outputs.
    pub(in super::super) fn new(outputs: usize) -> Self {
        Self((0..outputs).map(|_| Stopped::default()).collect())
    }

    /// Packets of `flow` may not go over `output`.
    #[inline]
    pub(in super::super) fn has(&self, output: OutputId, flow: Flow) -> bool {
        self.0[output.index()].flows.get(flow).is_some()
    }

    /// `output` will see `notice` in tick `at`. Returns whether nothing else is under way to it, so that
    /// an event is needed.
    pub(in super::super) fn send(&mut self, output: OutputId, at: Tick, notice: Notice) -> bool {
        let under_way = &mut self.0[output.index()].under_way;
        under_way.push_back((at, notice));
        under_way.len() == 1
    }

    /// The next notice that `output` sees by tick `now`, which holds from now on.
    pub(in super::super) fn see(&mut self, output: OutputId, now: Tick) -> Option<Notice> {
        let link = &mut self.0[output.index()];
        let &(at, notice) = link.under_way.front()?;
        if at > now {
            return None;
        }
        link.under_way.pop_front();
        if notice.stop {
            _ = link.flows.entry(notice.flow)
        } else {
            _ = link.flows.remove(notice.flow)
        }
        Some(notice)
    }

    /// The tick in which `output` sees its next notice.
    pub(in super::super) fn next_at(&self, output: OutputId) -> Option<Tick> {
        self.0[output.index()].under_way.front().map(|&(at, _)| at)
    }
}
