//! The cabling of a topology: switches, NICs and the links between them.

use super::Ports;
use super::ports::MAX_RADIX;
use crate::error::SpecError;
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};

/// Most NICs or switch ports in one fabric: a hundred times the largest machines,
/// and no more than a few gigabytes in the engine.
const MAX_PORTS: u64 = 1 << 22;
/// The problem in errors about fabrics whose numbers of switches or NICs do not even fit.
pub(super) const TOO_LARGE: &str =
    "all switches together have at most 2^22 ports: take a smaller fabric";

/// The peer of a switch port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Nothing.
    None,
    /// The only port of a NIC.
    Nic(NicId),
    /// Port `port` of switch `switch`.
    Switch {
        /// Switch id.
        switch: SwitchId,
        /// Port of that switch.
        port: PortId,
    },
}

/// The switches, the NICs and the links of a [topology](super::Topology), without the rules of its family. NICs are `0..nics`,
/// switches `0..switches`; aggregation nodes, if there are any, have endpoints behind the NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cabling {
    radix: u32,
    nics: u32,
    /// `peers[switch * radix + port]`.
    peers: Vec<Peer>,
    /// Port of each NIC, and of each endpoint of an aggregation node.
    attachment: Vec<SwitchPort>,
}

/// A family with its parameters, and its cabling.
pub type LaidOut<F> = Result<(F, Cabling), SpecError>;

impl Cabling {
    /// Number of NICs.
    #[must_use]
    pub fn nics(&self) -> u32 {
        self.nics
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> u32 {
        (self.peers.len() / self.radix as usize) as u32
    }

    /// Ports per switch: a multiple of 4, at least 8.
    #[must_use]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// All NICs, ascending.
    #[must_use]
    pub fn nic_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = NicId> + ExactSizeIterator + Clone + use<> {
        NicId::all(self.nics())
    }

    /// All switches, ascending.
    #[must_use]
    pub fn switch_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = SwitchId> + ExactSizeIterator + Clone + use<> {
        SwitchId::all(self.switches())
    }

    /// All ports of any switch, ascending.
    #[must_use]
    pub fn port_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = PortId> + ExactSizeIterator + Clone + use<> {
        PortId::all(self.radix)
    }

    /// Whether there is such a port, connected or not.
    #[must_use]
    pub fn has_port(&self, switch: SwitchId, port: PortId) -> bool {
        switch.get() < self.switches() && port.get() < self.radix
    }

    /// Number of a port when the ports of all switches are counted, switch by switch.
    #[must_use]
    pub fn port_index(&self, switch: SwitchId, port: PortId) -> usize {
        switch.index() * self.radix as usize + port.index()
    }

    /// The peer of `port` of `switch`.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn peer(&self, switch: SwitchId, port: PortId) -> Peer {
        self.peers[self.port_index(switch, port)]
    }

    /// The port of each NIC, and of each endpoint of an aggregation node.
    pub(super) fn attachments(&self) -> &[SwitchPort] {
        &self.attachment
    }

    /// The peers of all ports, switch by switch.
    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// The switches that the links of `switch` lead to: one per link, in the order of its ports.
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn linked_switches(&self, switch: SwitchId) -> impl Iterator<Item = SwitchId> + '_ {
        self.port_ids()
            .filter_map(move |port| match self.peer(switch, port) {
                Peer::Switch { switch, .. } => Some(switch),
                Peer::Nic(_) | Peer::None => None,
            })
    }

    /// The port that `nic` is connected to.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn attachment(&self, nic: NicId) -> SwitchPort {
        self.attachment[nic.index()]
    }

    /// One more than the number of the last port that is connected at any switch.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn used_ports(&self) -> u32 {
        let mut ports = self.port_ids().rev();
        let connected = |&port: &PortId| {
            let mut switches = self.switch_ids();
            switches.any(|switch| self.peer(switch, port) != Peer::None)
        };
        ports.find(connected).map_or(0, |port| port.get() + 1)
    }

    /// Directed switch-to-switch links.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn directed_switch_links(&self) -> u64 {
        self.peers
            .iter()
            .filter(|p| matches!(p, Peer::Switch { .. }))
            .count() as u64
    }

    /// NICs and endpoints of aggregation nodes.
    #[must_use]
    pub fn endpoints(&self) -> u32 {
        self.attachment.len() as u32
    }

    /// NICs and behind them endpoints of aggregation nodes, ascending.
    #[must_use]
    pub fn endpoint_ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = NicId> + ExactSizeIterator + Clone + use<> {
        NicId::all(self.endpoints())
    }

    /// Whether an endpoint is an aggregation node's.
    pub(crate) fn aggregates(&self, endpoint: NicId) -> bool {
        endpoint.get() >= self.nics()
    }

    /// The ports of `switch` to its neighbour in the tree. Only neighbours send to an aggregation node.
    pub(super) fn ports_to(&self, switch: SwitchId, neighbour: SwitchId) -> Ports {
        let leads = |port: &PortId| matches!(self.peer(switch, *port), Peer::Switch { switch, .. } if switch == neighbour);
        let ports = self.port_ids().filter(leads);
        ports.fold(Ports::NONE, Ports::with)
    }

    /// Allocates an unconnected graph of `switches` × rounded radix.
    pub(super) fn unconnected(switches: u64, ports: u64, nics: u64) -> Result<Self, SpecError> {
        let radix = ports.next_multiple_of(4).max(8);
        if ports > MAX_RADIX {
            return Err(invalid(format!(
                "switches of {ports} ports; at most {MAX_RADIX} are possible: \
                 build a tree, torus or mesh of smaller ones"
            )));
        }
        if switches.saturating_mul(radix) > MAX_PORTS || nics > MAX_PORTS {
            return Err(invalid(format!(
                "{switches} switches with {radix} ports are more than the {MAX_PORTS} ports supported; \
                 take a smaller fabric"
            )));
        }
        Ok(Self {
            radix: radix as u32,
            nics: 0,
            peers: vec![Peer::None; (switches * radix) as usize],
            attachment: Vec::with_capacity(nics as usize),
        })
    }

    /// Connects the next NIC (ids ascend) to `port`.
    pub(super) fn attach_next(&mut self, port: SwitchPort) {
        self.attach_endpoint(port);
        self.nics += 1;
    }

    /// Connects NICs `0..nics`, as many as a switch takes to each switch, from its port 0 on.
    pub(super) fn attach_in_order(&mut self, nics: u64, per_switch: u32) {
        for nic in 0..nics as u32 {
            self.attach_next(port_of(nic / per_switch, nic % per_switch));
        }
    }

    /// Connects two ports, one direction each.
    pub(super) fn connect(&mut self, a: SwitchPort, b: SwitchPort) {
        for (near, far) in [(a, b), (b, a)] {
            let SwitchPort { switch, port } = far;
            self.set_peer(near, Peer::Switch { switch, port });
        }
    }

    pub(super) fn set_peer(&mut self, of: SwitchPort, peer: Peer) {
        let at = self.port_index(of.switch, of.port);
        self.peers[at] = peer;
    }

    /// Connects the next endpoint of an aggregation node, behind all NICs, to `port`.
    pub(super) fn attach_endpoint(&mut self, port: SwitchPort) {
        let endpoint = NicId::new(self.attachment.len() as u32);
        self.attachment.push(port);
        self.set_peer(port, Peer::Nic(endpoint));
    }

    /// Gives every switch `radix` ports if it has fewer.
    pub(super) fn widen(&mut self, radix: u32) -> Result<(), SpecError> {
        let (old, switches) = (self.radix as usize, self.switches());
        if radix <= self.radix {
            return Ok(());
        }
        if u64::from(switches) * u64::from(radix) > MAX_PORTS {
            return Err(invalid(format!(
                "{switches} switches with {radix} ports, some of them for \"in-network\" collectives, are more than the \
                 {MAX_PORTS} ports supported; take a smaller fabric or fewer `collectives.switch_links`"
            )));
        }
        let mut peers = Vec::with_capacity(switches as usize * radix as usize);
        for of_switch in self.peers.chunks(old) {
            peers.extend_from_slice(of_switch);
            peers.resize(peers.len() + radix as usize - old, Peer::None);
        }
        (self.peers, self.radix) = (peers, radix);
        Ok(())
    }
}

/// The number of NICs to attach: `hosts` if given, else all `slots`.
pub(super) fn host_count(slots: u64, hosts: Option<u32>) -> Result<u64, SpecError> {
    match hosts {
        None => Ok(slots),
        Some(h) if h >= 1 && u64::from(h) <= slots => Ok(u64::from(h)),
        Some(h) => Err(SpecError {
            key: "fabric.topology.hosts",
            problem: format!("{h} hosts do not fit: this topology takes 1 to {slots}"),
        }),
    }
}

/// The port with these numbers: how the families, which compute with numbers, name one.
pub(super) const fn port_of(switch: u32, port: u32) -> SwitchPort {
    SwitchPort::new(SwitchId::new(switch), PortId::new(port))
}

/// The error of parameters that do not fit together.
pub(super) fn invalid(problem: String) -> SpecError {
    SpecError {
        key: "fabric.topology",
        problem,
    }
}
