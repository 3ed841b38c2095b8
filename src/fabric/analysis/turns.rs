//! The turns that packets take at switches: from which port and VL to which.

use super::routes::RouteAnalysis;
use super::table_turns::TableTurns;
use crate::ids::{NicId, PortId, SwitchId};
use crate::spec::validate::MAX_CLASS_TURNS;
use crate::spec::{FabricSpec, Hop, QueueingScheme};
use crate::topology::{Peer, Topology};

/// Number of bits of a turn.
const TURN_BITS: u32 = MAX_CLASS_TURNS;

/// The meaning of the bits of a turn where packets change their VL class: the class before the
/// switch, the class after it, and the queue within the classes, which the destination decides. Only pairs of classes that
/// [`FabricSpec::class_turns`] names have bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnBits {
    /// The pairs, in order; the rest is unused.
    pairs: [(u8, u8); TURN_BITS as usize],
    /// Number of each pair.
    numbers: [[u8; MAX_CLASSES]; MAX_CLASSES],
    queues: u32,
    planes: u32,
}

/// More VL classes than any fabric has: three legs of two.
const MAX_CLASSES: usize = 8;

impl TurnBits {
    /// The bits of a valid specification.
    pub fn new(spec: &FabricSpec) -> Self {
        let classes = spec.classes();
        let levels = 0..spec.qos.service_levels.len();
        let queues = match spec.queueing_by_more() {
            // Each queue has the same turns: a path-constant scheme copies them.
            Some(_) => None,
            None => levels.map(|sl| spec.qos.queues(sl, classes) as u32).max(),
        };
        let mut pairs = [(u8::MAX, u8::MAX); TURN_BITS as usize];
        let mut numbers = [[0; MAX_CLASSES]; MAX_CLASSES];
        for (number, (pair, at)) in spec.class_turns().zip(&mut pairs).enumerate() {
            *at = pair;
            numbers[usize::from(pair.0) % MAX_CLASSES][usize::from(pair.1) % MAX_CLASSES] =
                number as u8;
        }
        Self {
            pairs,
            numbers,
            queues: queues.unwrap_or(1),
            planes: spec.topology.planes(),
        }
    }

    /// The turn of a packet for NIC `dst` from class `before` to class `after`.
    pub fn turn(self, before: u8, after: u8, dst: NicId) -> u32 {
        let row = &self.numbers[usize::from(before) % MAX_CLASSES];
        let pair = u32::from(row[usize::from(after) % MAX_CLASSES]);
        let bit = pair * self.queues + dst.get() / self.planes % self.queues;
        1 << (bit % TURN_BITS)
    }

    /// Number of queues within the classes.
    pub fn queues(self) -> u32 {
        self.queues
    }

    /// The bits of `turns`.
    pub fn all(self, turns: u32) -> impl Iterator<Item = Turn> {
        let bits = (0..TURN_BITS).filter(move |bit| turns >> bit & 1 == 1);
        bits.map(move |bit| self.of(bit))
    }

    /// The meaning of a bit.
    pub fn of(self, bit: u32) -> Turn {
        let (pair, queue) = (bit / self.queues, bit % self.queues);
        let (before, after) = self.pairs[pair as usize % TURN_BITS as usize];
        Turn {
            before,
            after,
            queue,
        }
    }
}

/// The meaning of one bit of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// VL class before the switch.
    pub before: u8,
    /// VL class after it.
    pub after: u8,
    /// Queue within the classes.
    pub queue: u32,
}

/// VLs of a packet on its way through a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VlPair {
    /// VL before the switch.
    pub before: usize,
    /// VL after it.
    pub after: usize,
}

/// Which packets go from which port to which, for all destinations. A turn is a set of
/// 32 bits. With more than one VL class they stand for the class before the switch, the class after it and
/// the queue within the classes.
/// Elsewhere bit v stands for VL v, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    pub(super) radix: usize,
    /// Turns of packets from other switches, and from each NIC if pairs have routes of their own, by `(switch * radix + in-port)
    /// * radix + out-port`.
    pub(super) through: Vec<u32>,
    /// Turns of packets from all NICs of the switch, by `switch * radix + out-port`.
    pub(super) injected: Vec<u32>,
    /// The turns by VL, if SL-to-VL tables or a queueing scheme decide the VLs. The bits above say nothing then.
    pub(super) by_tables: Option<TableTurns>,
}

impl Turns {
    /// Turns from link `port_in` of `switch` to `port_out`.
    #[must_use]
    pub fn through(&self, switch: SwitchId, port_in: PortId, port_out: PortId) -> u32 {
        let row = switch.index() * self.radix + port_in.index();
        self.through[row * self.radix + port_out.index()]
    }

    /// VLs before and after `hop`, also of packets from NICs, where SL-to-VL tables or a queueing
    /// scheme decide the VLs.
    pub(super) fn by_tables(&self, hop: Hop) -> Option<impl Iterator<Item = VlPair> + '_> {
        Some(self.by_tables.as_ref()?.pairs(hop))
    }

    /// Turns of packets from NICs of `switch` to `port_out`. VL classes begin with 0.
    #[must_use]
    pub fn injected(&self, switch: SwitchId, port_out: PortId) -> u32 {
        self.injected[switch.index() * self.radix + port_out.index()]
    }
}

/// The VLs before and after the switch that each bit of a turn stands for.
pub(super) struct VlPairs<'a> {
    topology: &'a Topology,
    of_bits: [Vec<VlPair>; TURN_BITS as usize],
}

/// The pairs of a turn of service level `sl` in each queue of a path-constant scheme.
fn copies(
    spec: &FabricSpec,
    scheme: &QueueingScheme,
    sl: usize,
    turn: Turn,
) -> impl Iterator<Item = VlPair> {
    let vl = move |class, queue| {
        Some(
            spec.channel_at(sl, scheme.position(class, queue))?
                .vl
                .into(),
        )
    };
    (0..scheme.queues).filter_map(move |queue| {
        let (before, after) = (vl(turn.before, queue)?, vl(turn.after, queue)?);
        Some(VlPair { before, after })
    })
}

impl<'a> VlPairs<'a> {
    pub fn new(spec: &'a FabricSpec) -> Self {
        let kept = |vl| VlPair {
            before: vl,
            after: vl,
        };
        let mut of_bits: [Vec<VlPair>; TURN_BITS as usize] =
            std::array::from_fn(|vl| vec![kept(vl)]);
        if spec.classes() > 1 {
            let bits = TurnBits::new(spec);
            for (bit, pairs) in (0..).zip(&mut of_bits) {
                pairs.clear();
                let turn = bits.of(bit);
                if turn.before >= spec.classes() {
                    continue;
                }
                for sl in 0..spec.qos.service_levels.len() {
                    if let Some(scheme) = spec.queueing_by_more() {
                        pairs.extend(copies(spec, scheme, sl, turn));
                        continue;
                    }
                    let queue = turn.queue as usize;
                    let vl = |class| Some(spec.channel_of_queue(sl, class, queue)?.vl.into());
                    if let (Some(before), Some(after)) = (vl(turn.before), vl(turn.after)) {
                        pairs.push(VlPair { before, after });
                    }
                }
                pairs.sort_unstable();
                pairs.dedup();
            }
        }
        Self {
            topology: &spec.topology,
            of_bits,
        }
    }

    /// The pairs of a turn.
    fn of(&self, turn: u32) -> impl Iterator<Item = VlPair> + '_ {
        let bits = (0..TURN_BITS as usize).filter(move |bit| turn >> bit & 1 == 1);
        bits.flat_map(|bit| self.of_bits[bit].iter().copied())
    }

    /// The pairs of the packets that take `hop`, also from NICs.
    pub fn of_hop(&self, routes: &RouteAnalysis, hop: Hop) -> Vec<VlPair> {
        let turns = &routes.turns;
        if let Some(pairs) = turns.by_tables(hop) {
            return pairs.collect();
        }
        let Hop {
            switch,
            in_port,
            out_port,
        } = hop;
        let turn = match self.topology.peer(switch, in_port) {
            Peer::Nic(_) if in_port != out_port => {
                turns.injected(switch, out_port) | turns.through(switch, in_port, out_port)
            }
            Peer::Switch { .. } => turns.through(switch, in_port, out_port),
            Peer::Nic(_) | Peer::None => 0,
        };
        self.of(turn).collect()
    }
}
