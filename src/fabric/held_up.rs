//! Attributes the waits of a run to the links that cause them.
//!
//! A packet waits for a link that is busy, or for one that lacks credits because the buffer at its
//! far end is full. A link passes on its waits, and those that were passed on to it, in two cases:
//!
//! - It lacked credits. The packets in the full buffer wait for other links: they get, in proportion
//!   to these waits, the part credit wait / (credit wait + time down + time in use) of its waits. Time down is the
//!   time in which packets waited for it while it was asleep, going up or down, or in an outage.
//! - It had credits, but the next link is as busy. Were it faster, its packets would wait there. Each
//!   link behind it that was in use as long gets the part of the rest that it carries on of its flits.
//!
//! It keeps the rest: it is the root of a congestion tree.

use super::ids::SwitchPort;
use super::spec::FabricSpec;
use super::stats::{FabricStats, LinkEnd, LinkStats, TurnStats};
use std::collections::BTreeMap;

/// Rounds after which the ticks that still move stay where they are: they went round a cycle of full buffers.
const ROUNDS: u32 = 1000;
/// Part of all waits that may still move at the end.
const REST: f64 = 1e-6;
/// A link is as busy as another if it was in use for this part of the other's time, or longer: packets
/// under way when counting began or ended are counted on one of them only.
const AS_BUSY: f64 = 0.99;

/// Fills in [`LinkStats::held_up_ticks`] from all other counts, as the head of this module says.
///
/// By itself a link has the waits of: the packets in its switch that were to go by it, the packets
/// before it, and, at a NIC, the packet that the NIC could not send for want of credits.
pub fn attribute_waits(spec: &FabricSpec, stats: &mut FabricStats) {
    note_own_waits(spec, stats);
    let passed = passed(spec, stats);
    let own = stats.links.iter().map(|link| link.waited_ticks as f64);
    let mut moving: Vec<f64> = own.collect();
    let (all, mut kept) = (moving.iter().sum::<f64>(), vec![0.0; moving.len()]);
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; moving.len()];
        for ((passed, &wait), kept) in passed.iter().zip(&moving).zip(&mut kept) {
            let mut rest = wait;
            for &(to, part) in passed {
                next[to] += wait * part;
                rest -= wait * part;
            }
            *kept += rest.max(0.0);
        }
        moving = next;
        if moving.iter().sum::<f64>() <= all * REST {
            break;
        }
    }
    for ((link, kept), rest) in stats.links.iter_mut().zip(kept).zip(moving) {
        link.held_up_ticks = (kept + rest).round() as u64;
    }
}

/// Fills in the ticks that packets waited for each link.
fn note_own_waits(spec: &FabricSpec, stats: &mut FabricStats) {
    let mut turns: BTreeMap<SwitchPort, u64> = BTreeMap::new();
    for turn in &stats.turns {
        *turns.entry(output(turn)).or_default() += turn.wait_ticks;
    }
    for link in &mut stats.links {
        link.waited_ticks = match link.from {
            LinkEnd::Nic(_) => link.queue_wait_ticks + link.credit_wait_ticks,
            LinkEnd::Port { switch, port } => {
                let before = turns.get(&SwitchPort::new(switch, port));
                let before = before.copied().unwrap_or(0);
                spec.switch.kind().waits_for(link.queue_wait_ticks, before)
            }
        };
    }
}

/// The reasons of the waits for a link, as parts of them; the rest is for a busy link.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reasons {
    /// It lacked credits: credit wait / (credit wait + time down + time in use).
    pub credits: f64,
    /// It was down: time down / (credit wait + time down + time in use).
    pub down: f64,
}

impl Reasons {
    /// The reasons of the waits for `link`.
    #[must_use]
    pub fn of(spec: &FabricSpec, link: &LinkStats) -> Self {
        let (stalled, down) = (link.credit_wait_ticks as f64, link.down_wait_ticks as f64);
        let all = (stalled + link.busy_ticks(spec) + down).max(1.0);
        Self {
            credits: stalled / all,
            down: down / all,
        }
    }
}

/// The port behind a turn.
fn output(turn: &TurnStats) -> SwitchPort {
    SwitchPort::new(turn.input.switch, turn.out_port)
}

/// Per link: the links to which it passes on waits, each with the part that it gets.
fn passed(spec: &FabricSpec, stats: &FabricStats) -> Vec<Vec<(usize, f64)>> {
    let links = || stats.links.iter().enumerate();
    let from_port: BTreeMap<SwitchPort, usize> = links()
        .filter_map(|(at, link)| Some((link.from.port()?, at)))
        .collect();
    let mut onward: BTreeMap<SwitchPort, Vec<(usize, &TurnStats)>> = BTreeMap::new();
    for turn in &stats.turns {
        if let Some(&to) = from_port.get(&output(turn)) {
            onward.entry(turn.input).or_default().push((to, turn));
        }
    }
    let busy = stats.links.iter().map(|link| link.busy_ticks(spec));
    let busy: Vec<f64> = busy.collect();
    let parts = |(at, link): (usize, &LinkStats)| {
        let turns = link.to.port().and_then(|port| onward.remove(&port));
        let turns = turns.unwrap_or_default();
        let sum = |count: fn(&TurnStats) -> u64| {
            let counts = turns.iter().map(|(_, turn)| count(turn));
            counts.sum::<u64>().max(1) as f64
        };
        let (flits, waits) = (sum(|turn| turn.flits), sum(|turn| turn.wait_ticks));
        let waited = turns.iter().any(|(_, turn)| turn.wait_ticks > 0);
        let Reasons { credits, down } = Reasons::of(spec, link);
        let for_credits = if waited { credits } else { 0.0 };
        let part = |&(to, turn): &(usize, &TurnStats)| {
            let is_as_busy = busy[to] >= AS_BUSY * busy[at];
            let carried_on = if is_as_busy {
                turn.flits as f64 / flits
            } else {
                0.0
            };
            let part = for_credits * turn.wait_ticks as f64 / waits;
            (to, part + (1.0 - for_credits - down) * carried_on)
        };
        turns.iter().map(part).collect()
    };
    links().map(parts).collect()
}
