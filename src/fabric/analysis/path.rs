//! The route of one packet at zero load, tick by tick. The kind of switch computes the ticks at
//! each switch.

use super::Routes;
use crate::ids::{NicId, NicPair, PortId, SwitchId, SwitchPort};
use crate::spec::{Channel, FabricSpec, Hop, LegAt, Tick};
use crate::switch::zero_load::{Passage, ZeroLoad};
use crate::topology::{Peer, Ports};
use thiserror::Error;

/// The route of a packet from NIC to NIC, with times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// SC and VL on the link from the NIC. With SL-to-VL tables the SL stands for the SC.
    pub injection: (u8, u8),
    /// The steps of the packet, a step for each switch, in order.
    pub steps: Vec<Step>,
    /// Size of the packet in flits.
    pub flits: u32,
    /// Ticks from the header leaving the NIC to its arrival at the receiving NIC.
    pub header: Tick,
    /// Ticks from the header leaving the NIC to the arrival of the tail: the network latency
    /// of the packet.
    pub tail: Tick,
}

/// The step of a packet at one switch.
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
#[non_exhaustive]
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
/// takes, it takes the one that it would take without them. It takes no detour: see [`path_via`].
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
    let adaptive = spec.routing.paths.are_adaptive();
    follow(
        spec,
        routes,
        pair,
        (!adaptive).then_some(pair.src),
        (sl, payload),
    )
}

/// As [`path`], for a packet that takes a detour over NIC `via` from its first switch on, if it may.
///
/// # Errors
/// If the routes do not lead there and to the receiving NIC.
pub fn path_via(
    spec: &FabricSpec,
    routes: &impl Routes,
    pair: NicPair,
    via: NicId,
    sl: usize,
    payload: u32,
) -> Result<Path, NoRoute> {
    follow(spec, routes, pair, Some(via), (sl, payload))
}

/// A packet of a service level with its payload, over `via` if it may take a detour there.
fn follow(
    spec: &FabricSpec,
    routes: &impl Routes,
    pair: NicPair,
    via: Option<NicId>,
    (sl, payload): (usize, u32),
) -> Result<Path, NoRoute> {
    let NicPair { src, dst } = pair;
    let injection = spec.channel_at_nic(src, dst, sl).ok_or(NoRoute::NoVl)?;
    let mut walk = Walk::new(spec, routes, pair, (sl, injection), payload);
    let mut at = spec.topology.attachment(src);
    let mut steps: Vec<Step> = Vec::new();
    let mut leg_begins = 0;
    let mut via = via.filter(|&via| spec.allows_detour(at.switch, dst, via));
    if let (Some(via), Some(detours)) = (via, spec.routing.paths.detours()) {
        walk.target = via;
        walk.begin(detours.first_leg());
    }
    loop {
        let switch = at.switch;
        if via.is_some_and(|via| spec.ends_detour(switch, via)) {
            walk.target = dst;
            walk.begin(walk.leg.number + 1);
            (via, leg_begins) = (None, steps.len());
        }
        if steps[leg_begins..].iter().any(|step| step.switch == switch) {
            return Err(NoRoute::RoutingLoop(switch));
        }
        let step = walk.step(at)?;
        let peer = spec.topology.peer(switch, step.port_out);
        steps.push(step);
        match peer {
            Peer::Nic(nic) if nic == dst => break,
            Peer::Switch { switch, port } => at = SwitchPort::new(switch, port),
            _ => return Err(NoRoute::NoNextHop(switch)),
        }
    }
    Ok(Path {
        injection: (injection.sc, injection.vl),
        steps,
        flits: spec.units.data_flits(payload),
        header: walk.packet.header(),
        tail: walk.packet.tail(),
    })
}

/// A packet on its way, alone in the fabric.
struct Walk<'a, R> {
    spec: &'a FabricSpec,
    routes: &'a R,
    pair: NicPair,
    /// NIC that the present leg is routed to.
    target: NicId,
    sl: usize,
    /// The packet, which knows when it arrives at the present switch.
    packet: Box<dyn ZeroLoad + 'a>,
    /// The channel on which it came, and its VL class.
    channel: Channel,
    /// The present leg.
    leg: LegAt,
    class: u8,
}

impl<'a, R: Routes> Walk<'a, R> {
    /// Leg `leg` begins.
    fn begin(&mut self, leg: u8) {
        self.class = self.spec.first_class(leg);
        self.leg = LegAt {
            number: leg,
            begins: true,
        };
    }

    fn new(
        spec: &'a FabricSpec,
        routes: &'a R,
        pair: NicPair,
        (sl, channel): (usize, Channel),
        payload: u32,
    ) -> Self {
        Self {
            spec,
            routes,
            pair,
            target: pair.dst,
            sl,
            packet: spec.at_zero_load(pair.src, payload),
            channel,
            leg: LegAt::default(),
            class: 0,
        }
    }

    /// The packet passes the switch that it has reached at port `at`.
    fn step(&mut self, at: SwitchPort) -> Result<Step, NoRoute> {
        let (spec, dst, target) = (self.spec, self.pair.dst, self.target);
        let SwitchPort {
            switch,
            port: port_in,
        } = at;
        let given = spec.routing.source_routes.get(self.pair);
        let given = given.and_then(|route| route.iter().find(|at| at.switch == switch));
        let given = given.map(|at| at.port);
        let port_out = given.or_else(|| self.routes.preferred(switch, target));
        let port_out = port_out.filter(|&port| spec.topology.has_port(switch, port));
        let port_out = port_out.ok_or(NoRoute::NoNextHop(switch))?;
        let hop = Hop {
            switch,
            in_port: port_in,
            out_port: port_out,
        };
        let before = (self.channel, self.class);
        let behind = spec.channel_behind(hop, self.sl, dst, self.leg, before);
        let (channel, class) = behind.ok_or(NoRoute::NoVl)?;
        (self.channel, self.class) = (channel, class);
        self.leg.begins = false;
        let latency = spec.link_latency.at(&spec.topology, switch, port_out);
        let arrives = self.packet.header();
        let Passage { leaves, central } = self.packet.pass(spec, hop, latency);
        Ok(Step {
            switch,
            port_in,
            port_out,
            candidates: match given {
                Some(port) => Ports::one(port),
                None => self.routes.candidates(switch, target),
            },
            central,
            channel: (channel.sc, channel.vl),
            arrives,
            leaves,
        })
    }
}
