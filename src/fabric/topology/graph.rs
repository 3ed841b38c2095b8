//! Explicit graphs: switches and links as an experiment lists them.

use super::{
    Cabling, Destination, Family, FamilyInfo, FamilyParameters, LaidOut, Peer, Ports, RingTie,
    RoutingName, invalid,
};
use crate::error::SpecError;
use crate::ids::{PortId, SwitchId, SwitchPort};
use std::collections::VecDeque;

/// The two ends of a cable.
pub type Link = [SwitchPort; 2];

/// Most (switch, NIC) pairs of a graph: a byte each is kept.
const MAX_PAIRS: u64 = 1 << 28;

/// The routes of an explicit graph, found once: minimal hops, balanced over the ports. The routing engine `min-hop` has
/// another rule for ports that are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// Port towards each NIC, `[switch * nics + nic]`; NICs at the switch itself have one, too.
    ports: Vec<u8>,
    nics: usize,
}

impl Graph {
    /// As [`Topology::graph`](super::Topology::graph).
    pub(super) fn laid_out(switches: u32, nics: &[SwitchPort], links: &[Link]) -> LaidOut<Self> {
        if switches == 0 || nics.is_empty() {
            return Err(invalid(
                "a graph needs at least one switch and one NIC".into(),
            ));
        }
        let ends = || nics.iter().chain(links.iter().flatten()).copied();
        let unknown = ends().find(|end| end.switch.get() >= switches);
        if let Some(SwitchPort { switch, port }) = unknown {
            return Err(invalid(format!(
                "[{switch}, {port}] names switch {switch}, but there are {switches}, from 0 on"
            )));
        }
        let ports = ends()
            .map(|end| u64::from(end.port.get()) + 1)
            .max()
            .unwrap_or(0);
        let (count, pairs) = (nics.len() as u64, u64::from(switches) * nics.len() as u64);
        if pairs > MAX_PAIRS {
            return Err(invalid(format!(
                "{switches} switches and {count} NICs: a graph has at most {MAX_PAIRS} pairs of them"
            )));
        }
        let mut cabling = Cabling::unconnected(switches.into(), ports, count)?;
        let mut taken = vec![false; cabling.peers().len()];
        for SwitchPort { switch, port } in ends() {
            if std::mem::replace(&mut taken[cabling.port_index(switch, port)], true) {
                return Err(invalid(format!(
                    "port {port} of switch {switch} is listed twice; a port has one link"
                )));
            }
        }
        if let Some([a, _]) = links.iter().find(|[a, b]| a.switch == b.switch) {
            return Err(invalid(format!(
                "a link from switch {} to itself leads nowhere; remove it",
                a.switch
            )));
        }
        for &port in nics {
            cabling.attach_next(port);
        }
        for &[a, b] in links {
            cabling.connect(a, b);
        }
        let graph = Self::route(&cabling)?;
        Ok((graph, cabling))
    }

    /// The names of the family and its routings.
    pub const INFO: FamilyInfo = {
        use RoutingName::Minimal;
        FamilyInfo::new(
            &["graph"],
            "a graph",
            &["graphs"],
            &[Minimal],
            &[
                ("graph", "switches=2,links=[[0,0,1,0]],nics=[[0,1],[1,1]]"),
                ("ibnetdiscover", "file=\"ibnetdiscover.txt\""),
            ],
        )
    };

    /// Destinations one after the other: at every switch the port, among those that lead
    /// one hop nearer, which has the fewest destinations so far; ties to the lowest.
    fn route(cabling: &Cabling) -> Result<Self, SpecError> {
        let (switches, radix) = (cabling.switches() as usize, cabling.radix() as usize);
        let nics = cabling.nics() as usize;
        let mut ports = vec![0u8; switches * nics];
        let mut load = vec![0u32; switches * radix];
        let mut hops = vec![u32::MAX; switches];
        let mut home = None;
        for (nic, own) in cabling.attachments().iter().enumerate() {
            if home.replace(own.switch) != Some(own.switch) {
                hops_to(cabling, own.switch, &mut hops);
                if let Some(lost) = hops.iter().position(|&h| h == u32::MAX) {
                    return Err(invalid(format!(
                        "switch {lost} has no route to NIC {nic} at switch {}; add a link or leave it out",
                        own.switch
                    )));
                }
            }
            for switch in cabling.switch_ids() {
                let port = if switch == own.switch {
                    own.port
                } else {
                    let nearer = |port: &PortId| match cabling.peer(switch, *port) {
                        Peer::Switch { switch: next, .. } => {
                            hops[next.index()] + 1 == hops[switch.index()]
                        }
                        _ => false,
                    };
                    let all = cabling.port_ids().filter(nearer);
                    let best = all.min_by_key(|&port| load[cabling.port_index(switch, port)]);
                    let best = best.unwrap_or_default();
                    load[cabling.port_index(switch, best)] += 1;
                    best
                };
                ports[switch.index() * nics + nic] = port.get() as u8;
            }
        }
        Ok(Self { ports, nics })
    }
}

/// Routed by balanced minimal hops.
impl Family for Graph {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let port = self.ports[switch.index() * self.nics + to.nic.index()];
        Ports::one(PortId::new(port.into()))
    }

    fn name(&self) -> String {
        "graph".to_owned()
    }

    /// A text per switch, `port:peer` for every port that is connected.
    fn parameters(&self, cabling: &Cabling) -> FamilyParameters {
        let of_switch = |switch: SwitchId| {
            let ports = cabling
                .port_ids()
                .filter_map(|port| match cabling.peer(switch, port) {
                    Peer::None => None,
                    Peer::Nic(nic) if cabling.aggregates(nic) => None,
                    Peer::Nic(nic) => Some(format!("{port}:n{nic}")),
                    Peer::Switch { switch, port: far } => Some(format!("{port}:s{switch}.{far}")),
                });
            ports.collect::<Vec<_>>().join(" ")
        };
        let ports: Vec<String> = cabling.switch_ids().map(of_switch).collect();
        FamilyParameters::Graph { ports }
    }
}

/// Hops from every switch to `home`; `u32::MAX` where there is no route.
fn hops_to(cabling: &Cabling, home: SwitchId, hops: &mut [u32]) {
    hops.fill(u32::MAX);
    hops[home.index()] = 0;
    let mut queue = VecDeque::from([home]);
    while let Some(switch) = queue.pop_front() {
        for next in cabling.linked_switches(switch) {
            if hops[next.index()] == u32::MAX {
                hops[next.index()] = hops[switch.index()] + 1;
                queue.push_back(next);
            }
        }
    }
}
