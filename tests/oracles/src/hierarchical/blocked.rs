//! The waits when nothing moves any more: every head packet in a switch
//! that has no quota in its next buffer, and the queues there that leave it none, or that yields.

use super::allocation::yields_to;
use super::packet::{Packet, PacketId};
use super::switch::{Place, Switch};
use super::switch_of;
use crate::wiring::{End, Wiring};
use flitwise_fabric::spec::{FabricSpec, Tick};

/// A queue of a buffer of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Switch.
    pub switch: usize,
    /// Buffer of that switch.
    pub place: Place,
    /// Queue of that buffer.
    pub queue: usize,
}

/// A head packet without quota in its next buffer, or that yields to another.
#[derive(Debug, Clone)]
pub struct Blocked {
    /// The queue in which it waits.
    pub at: Queue,
    /// VL it waits on.
    pub vl: usize,
    /// NIC that it goes to.
    pub dst: u32,
    /// Its length.
    pub flits: u32,
    /// Queues of the next buffer that would have to shrink, or with a head to which it yields.
    pub holders: Vec<Queue>,
}

/// All blocked heads of all switches.
pub fn blocked(
    spec: &FabricSpec,
    wiring: &Wiring,
    switches: &mut [Switch],
    packets: &[Packet],
) -> Vec<Blocked> {
    let vls = usize::from(spec.qos.vls);
    let blocks = switch_of(spec).allocator.blocks_other_queues();
    let mut found = Vec::new();
    for (switch, state) in switches.iter_mut().enumerate() {
        let outputs = (0..state.outputs.len()).map(Place::Output);
        let places: Vec<Place> = state.sources().into_iter().chain(outputs).collect();
        for place in places {
            for queue in 0..state.buffer(place).queues() {
                let Some(id) = state.buffer(place).head(queue) else {
                    continue;
                };
                let packet = &packets[id];
                let at = Queue {
                    switch,
                    place,
                    queue,
                };
                let holders = match place {
                    Place::Output(port) => beyond_the_link(state, wiring, (switch, port), packet),
                    _ => within_the_switch(state, at, id, blocks, packets),
                };
                if !holders.is_empty() {
                    found.push(Blocked {
                        at,
                        vl: queue % vls,
                        dst: packet.dst,
                        flits: packet.flits,
                        holders,
                    });
                }
            }
        }
    }
    found
}

/// Queues at the other end of the link of `port` that leave `packet` no quota. A NIC takes all.
fn beyond_the_link(
    state: &Switch,
    wiring: &Wiring,
    (switch, port): (usize, usize),
    packet: &Packet,
) -> Vec<Queue> {
    let Some(End::Port {
        switch,
        port: entry,
    }) = wiring.ports[switch][port]
    else {
        return Vec::new();
    };
    let full = state.outputs[port]
        .sender
        .far
        .holders(packet.vl, packet.credits);
    let place = Place::Input(entry);
    let holder = |queue| Queue {
        switch,
        place,
        queue,
    };
    full.into_iter().map(holder).collect()
}

/// Queues of the switch that the head `id` of `at`, a source, waits for.
fn within_the_switch(
    state: &mut Switch,
    at: Queue,
    id: PacketId,
    blocks: bool,
    packets: &[Packet],
) -> Vec<Queue> {
    // Where a buffer has picked another queue and requests nothing else, the head waits for that.
    let kept = state.read_port(at.place).kept;
    if let Some(queue) = kept.filter(|&kept| blocks && kept != at.queue) {
        return vec![Queue { queue, ..at }];
    }
    let packet = &packets[id];
    let (place, to) = state.next_place(at.place, packet);
    let full = state.ledger(place).holders(to, packet.credits);
    if full.is_empty() {
        let ahead = yields_to(state, at.place, id, Tick::MAX, packets).into_iter();
        return ahead
            .map(|(place, queue)| Queue { place, queue, ..at })
            .collect();
    }
    let holder = |queue| Queue { place, queue, ..at };
    full.into_iter().map(holder).collect()
}
