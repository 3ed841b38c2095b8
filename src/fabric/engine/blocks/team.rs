//! The lead's view of the other blocks: how far they follow, and how far the lead may go.

use super::crew::Crew;
use super::cut::Cut;
use crate::engine::kernel::SwitchModel;
use crate::spec::Tick;

/// The blocks beside the lead, and what the lead must know of them.
pub(in crate::engine) struct Team<'s, 'a, M: SwitchModel> {
    pub(in crate::engine) crew: Crew<'s, 'a, M>,
    /// The fewest ticks between a cause in another block and its effect in the lead.
    pub(super) to_lead: Tick,
    /// And in another one of these.
    pub(super) beside: Tick,
    pub(in crate::engine) cut: &'s Cut,
}

impl<M: SwitchModel> Team<'_, '_, M> {
    /// Begins a step in which the others follow the lead, which has reached tick `earliest`.
    pub(in crate::engine) fn follow(&mut self, earliest: Tick) {
        let next = self.crew.next();
        if self.crew.has_mail() || next < earliest {
            let until = next.saturating_add(self.beside);
            self.crew.begin(until.min(earliest));
        } else {
            self.crew.skip_to(earliest);
        }
    }

    /// The tick to which the lead may go during a step in which the others act from tick `may_act` on. Its next event is in
    /// tick `next`. With half the lookahead for each step, the lead and the others work side by side.
    pub(in crate::engine) fn window(&self, may_act: Tick, earliest: Tick, next: Tick) -> Tick {
        let half = self.to_lead.div_ceil(2);
        may_act
            .saturating_add(self.to_lead)
            .min(next.saturating_add(half))
            .max(earliest)
    }

    /// Brings all others to the tick that the lead has reached.
    pub(in crate::engine) fn synchronise(&mut self, lead: &mut M, earliest: Tick) {
        loop {
            self.crew.end(lead);
            self.crew.read(lead, earliest);
            if self.crew.is_synchronised(earliest) {
                return;
            }
            self.follow(earliest);
        }
    }
}
