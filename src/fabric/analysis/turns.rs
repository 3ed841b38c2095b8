//! The turns that packets take at switches: from which port and VL to which.

use super::routes::RouteAnalysis;
use super::table_turns::TableTurns;
use crate::fabric::spec::FabricSpec;
use crate::fabric::spec::validate::MAX_CLASS_TURNS;
use crate::fabric::topology::{Peer, Topology};

/// Number of bits of a turn.
const TURN_BITS: u32 = MAX_CLASS_TURNS;

/// What the bits of a turn stand for where packets change their VL class: the class before the
/// switch, the class after it, and the queue within the classes, which the destination decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnBits {
    classes: u32,
    queues: u32,
}

impl TurnBits {
    /// The bits of a valid specification.
    pub fn new(spec: &FabricSpec) -> Self {
        let classes = spec.classes();
        let levels = 0..spec.qos.service_levels.len();
        let queues = levels.map(|sl| spec.qos.queues(sl, classes) as u32).max();
        Self {
            classes: classes.into(),
            queues: queues.unwrap_or(1),
        }
    }

    /// The turn of a packet for NIC `dst` from class `before` to class `after`.
    pub fn turn(self, before: u8, after: u8, dst: u32) -> u32 {
        let classes = u32::from(before) * self.classes + u32::from(after);
        let bit = classes * self.queues + dst % self.queues;
        1 << (bit % TURN_BITS)
    }

    /// Class before the switch, class after it, and queue that a bit stands for.
    pub fn of(self, bit: u32) -> (u8, u8, u32) {
        let (classes, queue) = (bit / self.queues, bit % self.queues);
        let (before, after) = (classes / self.classes, classes % self.classes);
        (before as u8, after as u8, queue)
    }
}

/// Which packets go from which port to which, for all destinations. A turn is a set of
/// 32 bits. With more than one VL class they stand for the class before the switch, the class after it and
/// the queue within the classes.
/// Elsewhere bit v stands for VL v, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    pub(super) radix: usize,
    /// Turns of packets from other switches, by `(switch * radix + in-port) * radix + out-port`.
    pub(super) through: Vec<u32>,
    /// Turns of packets from NICs of the switch, by `switch * radix + out-port`.
    pub(super) injected: Vec<u32>,
    /// The turns by VL, if SL-to-VL tables decide the VLs. The bits above say nothing then.
    pub(super) by_tables: Option<TableTurns>,
}

impl Turns {
    /// Turns from link `port_in` of `switch` to `port_out`.
    #[must_use]
    pub fn through(&self, switch: u32, port_in: u32, port_out: u32) -> u32 {
        let row = switch as usize * self.radix + port_in as usize;
        self.through[row * self.radix + port_out as usize]
    }

    /// Pairs of VLs (before, after) of packets from `port_in` of `switch`, also from its NIC, to
    /// `port_out`, where SL-to-VL tables decide the VLs.
    pub(super) fn by_tables(
        &self,
        switch: u32,
        port_in: u32,
        port_out: u32,
    ) -> Option<impl Iterator<Item = (usize, usize)> + '_> {
        let turns = self.by_tables.as_ref()?;
        Some(turns.pairs(switch * self.radix as u32 + port_in, port_out))
    }

    /// Turns of packets from NICs of `switch` to `port_out`. VL classes begin with 0.
    #[must_use]
    pub fn injected(&self, switch: u32, port_out: u32) -> u32 {
        self.injected[switch as usize * self.radix + port_out as usize]
    }
}

/// The pairs of VLs (before, after the switch) that each bit of a turn stands for.
pub(super) struct VlPairs<'a> {
    topology: &'a Topology,
    of_bits: [Vec<(usize, usize)>; TURN_BITS as usize],
}

impl<'a> VlPairs<'a> {
    pub fn new(spec: &'a FabricSpec) -> Self {
        let mut pairs: [Vec<(usize, usize)>; TURN_BITS as usize] =
            std::array::from_fn(|vl| vec![(vl, vl)]);
        if spec.classes() > 1 {
            let bits = TurnBits::new(spec);
            for (bit, pairs) in (0..).zip(&mut pairs) {
                pairs.clear();
                let (before, after, queue) = bits.of(bit);
                if before >= spec.classes() {
                    continue;
                }
                for sl in 0..spec.qos.service_levels.len() {
                    let channel = |class: u8| spec.channel(sl, class, queue);
                    if let (Some(before), Some(after)) = (channel(before), channel(after)) {
                        pairs.push((before.vl.into(), after.vl.into()));
                    }
                }
                pairs.sort_unstable();
                pairs.dedup();
            }
        }
        Self {
            topology: &spec.topology,
            of_bits: pairs,
        }
    }

    /// The pairs of a turn.
    fn of(&self, turn: u32) -> impl Iterator<Item = (usize, usize)> + '_ {
        let bits = (0..TURN_BITS as usize).filter(move |bit| turn >> bit & 1 == 1);
        bits.flat_map(|bit| self.of_bits[bit].iter().copied())
    }

    /// The pairs of the packets from `port_in` of `switch` to `port_out`.
    pub fn of_ports(
        &self,
        routes: &RouteAnalysis,
        (switch, port_in): (u32, u32),
        port_out: u32,
    ) -> Vec<(usize, usize)> {
        let turns = &routes.turns;
        if let Some(pairs) = turns.by_tables(switch, port_in, port_out) {
            return pairs.collect();
        }
        let turn = match self.topology.peer(switch, port_in) {
            Peer::Nic(_) if port_in != port_out => turns.injected(switch, port_out),
            Peer::Switch { .. } => turns.through(switch, port_in, port_out),
            Peer::Nic(_) | Peer::None => 0,
        };
        self.of(turn).collect()
    }
}
