//! Routes: the answers that need the whole fabric.

use crate::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::spec::routing::{TrunkSelection, UpPorts};
use crate::spec::{FabricSpec, Paths};
use crate::topology::{Peer, Ports, Topology};
use flitwise_base::units::Ratio;

impl FabricSpec {
    /// The links of each switch to others that have not failed: their ports, in order, and the switches behind them.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn working_links(&self) -> Vec<Vec<(PortId, SwitchId)>> {
        let failed = self.routing.failed_ports();
        let topology = &self.topology;
        let of = |switch: SwitchId| {
            let far = |port: PortId| match topology.peer(switch, port) {
                Peer::Switch { switch: far, .. } => {
                    (!failed.contains(&SwitchPort::new(switch, port))).then_some((port, far))
                }
                Peer::Nic(_) | Peer::None => None,
            };
            topology.port_ids().filter_map(far).collect()
        };
        topology.switch_ids().map(of).collect()
    }

    /// The ports of each switch with a NIC or one of these links behind them, in order.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn working_ports(&self) -> Vec<Vec<PortId>> {
        let (topology, failed) = (&self.topology, self.routing.failed_ports());
        let of = |switch: SwitchId| {
            let works = |&port: &PortId| {
                topology.peer(switch, port) != Peer::None
                    && !failed.contains(&SwitchPort::new(switch, port))
            };
            topology.port_ids().filter(works).collect()
        };
        topology.switch_ids().map(of).collect()
    }

    /// The different rates of the working links in flits per tick, ascending.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn rates_between_switches(&self) -> Vec<Ratio> {
        let links = self.topology.switch_ids().zip(self.working_links());
        let rates = links.flat_map(|(switch, links)| {
            let rate = move |(port, _)| self.link_rate(switch, port);
            links.into_iter().map(rate)
        });
        let mut rates: Vec<Ratio> = rates.collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// The out-ports for packets to NIC `dst` at `switch` by the routing of the topology itself.
    fn own_candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let tie = self.routing.ring_tie;
        self.topology.candidates(tie, switch, dst)
    }

    /// The out-ports of `switch` that lead packets for NIC `dst` on: by the forwarding tables if
    /// there are any, else by the routing of the topology. On the way up a tree these are all
    /// up-ports, unless the destination chooses. None if the switch has no route to it.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn candidates(&self, switch: SwitchId, dst: NicId) -> Ports {
        let Some(tables) = &self.routing.forwarding else {
            let own = self.own_candidates(switch, dst);
            let up = match self.routing.up_ports {
                UpPorts::Destination => Ports::NONE,
                UpPorts::LeastQueued => self.topology.family().up_ports(switch),
            };
            let goes_up = own.first().is_some_and(|port| up.contains(port));
            return if goes_up { up } else { own };
        };
        let table = tables.ports.get(switch.index());
        let port = table.and_then(|table| table.get(dst.index()));
        port.map_or(Ports::NONE, |&port| Ports::one(port))
    }

    /// The candidates that a packet may be sent to, whatever the load.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn choices(&self, switch: SwitchId, dst: NicId) -> Ports {
        let candidates = self.candidates(switch, dst);
        let has_trunks = self.topology.family().trunk() > 1;
        match self.routing.trunk {
            TrunkSelection::Destination if has_trunks => candidates
                .of_destination(self.topology.on_plane(dst))
                .map_or(Ports::NONE, Ports::one),
            _ => candidates,
        }
    }

    /// The out-port towards `dst` if it alone decides: on the way up a tree the port that `dst`
    /// selects, of a trunk the first link.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn preferred(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        let choices = self.choices(switch, dst);
        match choices.count() {
            0 | 1 => choices.first(),
            _ => self.own_candidates(switch, dst).first(),
        }
    }

    /// The port of `switch` towards `dst` in a table with one port for each destination: the first
    /// link of a trunk, and on the way up a tree the port that the destination selects.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn table_port(&self, switch: SwitchId, dst: NicId) -> Option<PortId> {
        let candidates = match self.routing.forwarding {
            Some(_) => self.candidates(switch, dst),
            None => self.own_candidates(switch, dst),
        };
        candidates.first()
    }

    /// The first key by which something besides the destination decides routes; `None` if the
    /// destination alone does.
    pub(crate) fn key_beside_destination(&self) -> Option<&'static str> {
        let by_source = (!self.routing.source_routes.is_empty()).then_some("fabric.source_routes");
        by_source.or_else(|| self.key_of_choice())
    }

    /// The first key that lets packets choose among paths.
    pub(in crate::spec) fn key_of_choice(&self) -> Option<&'static str> {
        let routing = &self.routing;
        let has_trunks = self.topology.family().trunk() > 1;
        if routing.paths != Paths::Minimal {
            Some("fabric.paths")
        } else if routing.up_ports != UpPorts::Destination {
            Some("fabric.up_ports")
        } else if routing.trunk != TrunkSelection::Destination && has_trunks {
            Some("fabric.trunk_selection")
        } else {
            None
        }
    }

    /// Into how many equal shares a pair's traffic must be divided so that every candidate on every
    /// route gets whole ones.
    #[must_use]
    pub(crate) fn shares_of_pair(&self) -> u64 {
        let trunk = match self.routing.trunk {
            TrunkSelection::RoundRobin | TrunkSelection::LeastQueued => {
                self.topology.family().trunk().into()
            }
            TrunkSelection::Destination => 1,
        };
        match self.routing.up_ports {
            UpPorts::LeastQueued => routes_up(&self.topology).saturating_mul(trunk),
            UpPorts::Destination => trunk,
        }
    }
}

/// Number of routes from a switch with NICs to the top of a tree. All switches of a level have the
/// same number of up-ports.
fn routes_up(topology: &Topology) -> u64 {
    let (mut routes, mut switch) = (1u64, SwitchId::new(0));
    loop {
        let ports = topology.family().up_ports(switch);
        let above = ports.first().map(|port| topology.peer(switch, port));
        let Some(Peer::Switch { switch: next, .. }) = above else {
            return routes;
        };
        routes = routes.saturating_mul(ports.count().into());
        switch = next;
    }
}
