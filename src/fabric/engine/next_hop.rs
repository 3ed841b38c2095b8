//! Routing, for both kinds of switch: which output a packet takes at a switch, and on which leg of
//! its path it is (`docs/model.md` §7). The router's table has the candidate of each destination.
//! [`choice`](super::choice) picks among several candidates. [`Detours`] keeps the NIC that ends
//! the first leg of each packet's path.

use super::choice::{Choice, Occupancy};
use super::ids::{InputId, OutputId};
use super::pool::{EntryId, PacketId};
use crate::fabric::ids::{NicId, SwitchId, SwitchPort};
use crate::fabric::routing::Router;
use crate::fabric::spec::{FabricSpec, Paths};
use crate::fabric::topology::Peer;
use crate::random::{Purpose, Stream};

/// What routing knows: a packet at a switch, and how full the outputs are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<O> {
    pub switch: SwitchId,
    /// In-port of the packet.
    pub input: InputId,
    pub packet: PacketId,
    /// NIC that the packet is for.
    pub dst: NicId,
    pub occupancy: O,
}

/// What routing decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextHop {
    /// Out-port.
    pub output: OutputId,
    /// The VL class that the packet has when a new leg of its path begins here.
    pub class: Option<u8>,
}

/// The routing of a fabric.
#[derive(Debug)]
pub(super) struct NextHops {
    radix: u32,
    router: Router,
    choice: Choice,
    detours: Option<Box<Detours>>,
    /// Nothing but the table decides.
    by_table: bool,
}

impl NextHops {
    pub(super) fn new(spec: &FabricSpec) -> Self {
        let (choice, detours) = (Choice::new(spec), Detours::new(spec).map(Box::new));
        Self {
            radix: spec.topology.radix(),
            router: Router::new(spec),
            by_table: matches!(choice, Choice::Only) && detours.is_none(),
            choice,
            detours,
        }
    }

    /// True if the next hop depends on other packets, and so on the order in which the packets of
    /// different in-ports are routed.
    #[inline]
    pub(super) fn by_others(&self) -> bool {
        self.choice.by_others()
    }

    /// Prefetches what a packet for `dst` will need at `switch`.
    #[inline]
    pub(super) fn prefetch(&self, switch: SwitchId, dst: NicId) {
        self.router.prefetch(switch, dst);
    }

    /// Where a packet goes next. Called once for each packet and switch.
    #[inline(always)]
    pub(super) fn decide(&mut self, at: Context<impl Occupancy>) -> NextHop {
        match self.by_table {
            true => NextHop {
                output: self.candidate(at.switch, at.dst),
                class: None,
            },
            false => self.choose(at),
        }
    }

    /// As [`decide`](Self::decide), where more than the table decides. Out of the way of all other
    /// fabrics.
    #[inline(never)]
    fn choose(&mut self, at: Context<impl Occupancy>) -> NextHop {
        let leg = match &mut self.detours {
            None => Leg {
                target: at.dst,
                class: None,
            },
            Some(detours) => detours.leg(&at),
        };
        let first = self.candidate(at.switch, leg.target);
        let choice = &mut self.choice;
        NextHop {
            output: choice.output(at.switch, first, leg.target, at.occupancy),
            class: leg.class,
        }
    }

    /// The table's out-port to `dst` at `switch`.
    #[inline(always)]
    fn candidate(&self, switch: SwitchId, dst: NicId) -> OutputId {
        let port = self.router.first_port(switch, dst);
        OutputId::of(SwitchPort::new(switch, port), self.radix)
    }
}

/// The leg of its path that a packet is on.
#[derive(Debug, Clone, Copy)]
struct Leg {
    /// NIC that it is routed to.
    target: NicId,
    /// Its VL class, if the leg begins at this switch.
    class: Option<u8>,
}

/// No NIC.
const NO_NIC: NicId = NicId::new(u32::MAX);

/// Paths over a switch drawn at random: the switch of a NIC, all NICs being equally likely.
#[derive(Debug)]
struct Detours {
    /// A stream per source NIC.
    streams: Vec<Stream>,
    /// NIC at each in-port; [`NO_NIC`] at ports to switches.
    nic_at: Vec<NicId>,
    /// Switch of each NIC.
    switch_of: Vec<SwitchId>,
    /// By packet: the NIC whose switch ends its first leg; [`NO_NIC`] on the second one.
    towards: Vec<NicId>,
    /// The first VL class of the second leg.
    second_leg: u8,
}

impl Detours {
    /// `None` if all paths are minimal.
    fn new(spec: &FabricSpec) -> Option<Self> {
        let Paths::Valiant { seed } = spec.routing.paths else {
            return None;
        };
        let topology = &spec.topology;
        let ports = topology
            .switch_ids()
            .flat_map(|switch| topology.port_ids().map(move |port| (switch, port)));
        let nics = topology.nic_ids();
        Some(Self {
            streams: nics
                .clone()
                .map(|nic| Stream::new(seed, Purpose::Paths, [nic.get().into(), 0]))
                .collect(),
            nic_at: ports
                .map(|(switch, port)| match topology.peer(switch, port) {
                    Peer::Nic(nic) => nic,
                    Peer::Switch { .. } | Peer::None => NO_NIC,
                })
                .collect(),
            switch_of: nics.map(|nic| topology.attachment(nic).switch).collect(),
            towards: Vec::new(),
            second_leg: spec.classes_of_leg(),
        })
    }

    /// The leg of a packet at a switch.
    fn leg<O>(&mut self, at: &Context<O>) -> Leg {
        let number = at.packet.index();
        if self.towards.len() <= number {
            self.towards.resize(number + 1, NO_NIC);
        }
        let towards = &mut self.towards[number];
        let nics = self.switch_of.len() as u64;
        if let Some(stream) = self.streams.get_mut(self.nic_at[at.input.index()].index()) {
            *towards = NicId::new(stream.below(nics) as u32);
        }
        match self.switch_of.get(towards.index()) {
            Some(&switch) if switch != at.switch => Leg {
                target: *towards,
                class: None,
            },
            ends_here => {
                *towards = NO_NIC;
                Leg {
                    target: at.dst,
                    class: ends_here.map(|_| self.second_leg),
                }
            }
        }
    }
}
