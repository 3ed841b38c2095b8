//! The series of power states: the links in each state, and the time that they spend in it.

use crate::config::Experiment;
use crate::fabric::series::Sample;
use crate::fabric::stats::LinkStateTicks;

/// The links of a row, by the first part of its key.
pub(crate) const LINKS: [&str; 2] = ["between switches", "of NICs"];
/// Their state, by the second part.
pub(crate) const STATES: [&str; 4] = ["up", "down", "waking", "sleeping"];

pub(super) fn links(key: u32) -> &'static str {
    LINKS[key as usize & 1]
}

pub(super) fn state(key: u32) -> &'static str {
    STATES[key as usize & 3]
}

/// The rows of a sample: links, state, and ticks in it summed over the links.
pub(super) fn rows(sample: &Sample) -> impl Iterator<Item = (u32, u32, u64)> {
    let power = sample.power.iter();
    let both = power.flat_map(|power| [(0, power.switch_links), (1, power.nic_links)]);
    both.flat_map(|(links, ticks)| {
        let LinkStateTicks {
            up,
            down,
            waking,
            sleeping,
            ..
        } = ticks;
        let states = [up, down, waking, sleeping].into_iter().zip(0..);
        states.map(move |(ticks, state)| (links, state, ticks))
    })
    .filter(|&(_, _, ticks)| ticks > 0)
}

/// The power that a link in `state` draws, in watts.
pub(super) fn watts(experiment: &Experiment, state: u32) -> f64 {
    experiment.power.as_ref().map_or(0.0, |power| match state {
        0 => power.up_watts,
        1 => power.down_watts,
        _ => power.transition_watts,
    })
}
