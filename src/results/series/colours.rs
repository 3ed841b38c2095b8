//! The colours of flows: a flow has the same colour in all figures of a result.

use crate::config::experiment::SeriesKind;
use crate::figure::tables::Key;
use std::collections::BTreeMap;

/// The number of styles that a figure can tell apart: as many as it has lines at most.
pub(super) const PALETTE: usize = 16;

/// The colours given so far, as places in the palette, by sender, receiver and service level.
#[derive(Default)]
pub(crate) struct Colours {
    given: BTreeMap<Key, usize>,
}

impl Colours {
    /// The colours of the lines of a series, in their order. A line of a flow has the colour of the flow.
    pub(super) fn of(&mut self, kind: SeriesKind, lines: &[Key]) -> Vec<usize> {
        match kind {
            SeriesKind::Flows => self.of_flows(lines),
            SeriesKind::Sources => {
                let flows = lines.iter().map(|&[from, sl, to]| [from, to, sl]);
                self.of_flows(&flows.collect::<Vec<_>>())
            }
            SeriesKind::PortVls | SeriesKind::Power => (0..lines.len()).collect(),
        }
    }

    /// A flow keeps the colour that it has in another figure, unless two of this figure would look the same.
    fn of_flows(&mut self, flows: &[Key]) -> Vec<usize> {
        let mut used = [false; PALETTE];
        let kept: Vec<Option<usize>> = flows
            .iter()
            .map(|flow| {
                let colour = self.given.get(flow).copied()?;
                (!std::mem::replace(used.get_mut(colour)?, true)).then_some(colour)
            })
            .collect();
        let new = |(flow, kept): (&Key, Option<usize>)| {
            if let Some(colour) = kept {
                return colour;
            }
            // A colour that no figure has yet is best.
            let free = |colour: &usize| !used[*colour];
            let fresh = |colour: &usize| self.given.values().all(|given| given != colour);
            let places = || 0..PALETTE;
            let best = places().find(|colour| free(colour) && fresh(colour));
            let colour = best.or_else(|| places().find(free)).unwrap_or(0);
            used[colour] = true;
            self.given.entry(*flow).or_insert(colour);
            colour
        };
        flows.iter().zip(kept).map(new).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Colours, PALETTE};
    use crate::config::experiment::SeriesKind;

    #[test]
    fn a_flow_keeps_its_colour() {
        let mut colours = Colours::default();
        let flow = |from| [from, 9, 0];
        let (flows, sources) = (SeriesKind::Flows, SeriesKind::Sources);
        assert_eq!(colours.of(flows, &[flow(1), flow(2)]), [0, 1]);
        assert_eq!(colours.of(flows, &[flow(3), flow(2), flow(1)]), [2, 1, 0]);
        assert_eq!(colours.of(sources, &[[2, 0, 9], [4, 0, 9]]), [1, 3]);
    }

    #[test]
    fn no_two_lines_of_a_figure_have_one_colour() {
        let mut colours = Colours::default();
        for first in [0, 8, 3, 20] {
            let flows: Vec<_> = (first..first + PALETTE as u32).map(|n| [n, 0, 0]).collect();
            let mut of = colours.of(SeriesKind::Flows, &flows);
            of.sort_unstable();
            assert_eq!(of, (0..PALETTE).collect::<Vec<_>>());
        }
    }
}
