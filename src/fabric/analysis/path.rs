//! The route of one packet at zero load, tick by tick. For `voq` fabrics
//! [`flit_schedule`](super::flit_schedule) computes the ticks of the flits.

use super::Routes;
use super::flit_schedule::FlitSchedule;
use crate::fabric::ids::{NicPair, PortId, SwitchId, SwitchPort};
use crate::fabric::spec::{FabricSpec, Hop, Switch, Tick};
use crate::fabric::topology::{Peer, Ports};
use thiserror::Error;

/// The route of a packet from NIC to NIC, with times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// SC and VL on the link from the NIC. With SL-to-VL tables the SL stands for the SC.
    pub injection: (u8, u8),
    /// What the packet does at each switch, in order.
    pub steps: Vec<Step>,
    /// Size of the packet in flits.
    pub flits: u32,
    /// Ticks from the header leaving the NIC to its arrival at the receiving NIC.
    pub header: Tick,
    /// Ticks from the header leaving the NIC to the arrival of the tail: the network latency
    /// of the packet.
    pub tail: Tick,
}

/// What a packet does at one switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Switch.
    pub switch: SwitchId,
    /// In-port of the packet.
    pub port_in: PortId,
    /// Out-port of the packet.
    pub port_out: PortId,
    /// Out-ports that routing may choose from.
    pub candidates: Ports,
    /// Number of the central buffer within the switch. `None` if both ports are on one MPort,
    /// or if the switch has no central buffers.
    pub central: Option<u32>,
    /// SC and VL from here to the next switch or the NIC. With SL-to-VL tables the SL stands for
    /// the SC.
    pub channel: (u8, u8),
    /// Ticks from the header leaving the NIC to its arrival here.
    pub arrives: Tick,
    /// Ticks from the header leaving the NIC to its leaving the output buffer.
    pub leaves: Tick,
}

/// Why a pair of NICs has no route.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoRoute {
    /// This switch has no next hop, or one over a port that is not connected.
    #[error("switch {0} has no next hop towards it")]
    NoNextHop(SwitchId),
    /// The route is a loop: it comes back to this switch.
    #[error("the route comes back to switch {0}")]
    RoutingLoop(SwitchId),
    /// The service level has no SC with a VL.
    #[error("its service level has no VL")]
    NoVl,
}

/// Follows a packet of service level `sl` with `payload` bytes between two NICs.
/// The fabric must have these NICs and this SL. Where other packets decide which candidate it
/// takes, it takes the one that it would take without them.
///
/// # Errors
/// If the routes do not lead to the receiving NIC.
pub fn path(
    spec: &FabricSpec,
    routes: &impl Routes,
    pair: NicPair,
    sl: usize,
    payload: u32,
) -> Result<Path, NoRoute> {
    let NicPair { src, dst } = pair;
    let topology = &spec.topology;
    let voq = spec.voq();
    let flits = spec.units.data_flits(payload);
    let mut schedule = voq.map(|voq| FlitSchedule::start(spec, voq, src, payload));
    let injection = spec.channel_at_nic(src, dst, sl).ok_or(NoRoute::NoVl)?;
    let SwitchPort {
        mut switch,
        port: mut port_in,
    } = topology.attachment(src);
    let (mut class, mut tick) = (0, spec.link_latency.host);
    if let Some(schedule) = &schedule {
        tick = schedule.header();
    }
    let mut steps: Vec<Step> = Vec::new();
    loop {
        if steps.iter().any(|step| step.switch == switch) {
            return Err(NoRoute::RoutingLoop(switch));
        }
        let candidates = routes.candidates(switch, dst);
        let port_out = routes.preferred(switch, dst);
        let port_out = port_out.filter(|&port| topology.has_port(switch, port));
        let port_out = port_out.ok_or(NoRoute::NoNextHop(switch))?;
        let hop = Hop {
            switch,
            in_port: port_in,
            out_port: port_out,
        };
        let behind = spec.channel_behind(hop, sl, dst, class);
        let (channel, class_behind) = behind.ok_or(NoRoute::NoVl)?;
        class = class_behind;
        let latency = match topology.peer(switch, port_out) {
            Peer::Switch { .. } => spec.link_latency.switch,
            _ => spec.link_latency.host,
        };
        let arrives = tick;
        let (leaves, central) = match &spec.switch {
            Switch::Hierarchical(at) => {
                let mport = port_in.get() / 4;
                let other_mport = mport != port_out.get() / 4;
                let central = other_mport.then_some(2 * mport + port_out.get() % 2);
                let crossings = 1 + u64::from(other_mport);
                (tick + at.timing.without_load(crossings), central)
            }
            Switch::Voq(at) => {
                let mut through = |schedule: &mut FlitSchedule| {
                    schedule.through(spec, at, SwitchPort::new(switch, port_out), latency)
                };
                (schedule.as_mut().map_or(tick, &mut through), None)
            }
        };
        tick = schedule
            .as_ref()
            .map_or(leaves + latency, FlitSchedule::header);
        steps.push(Step {
            switch,
            port_in,
            port_out,
            candidates,
            central,
            channel: (channel.sc, channel.vl),
            arrives,
            leaves,
        });
        match topology.peer(switch, port_out) {
            Peer::Nic(nic) if nic == dst => break,
            Peer::Switch { switch: next, port } => (switch, port_in) = (next, port),
            _ => return Err(NoRoute::NoNextHop(switch)),
        }
    }
    Ok(Path {
        injection: (injection.sc, injection.vl),
        steps,
        flits,
        header: tick,
        tail: schedule.map_or(tick + u64::from(flits) - 1, |schedule| schedule.tail()),
    })
}
