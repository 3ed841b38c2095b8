//! The waits when nothing moves any more: every head packet in a switch
//! that has no quota in its next buffer, and the queues there that leave it none, or that yields.

use super::allocation::yields_to;
use super::packet::Packet;
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
                let (next, to, full) = if let Place::Output(port) = place {
                    let Some(End::Port {
                        switch: next,
                        port: entry,
                    }) = wiring.ports[switch][port]
                    else {
                        continue;
                    };
                    let far = &state.outputs[port].sender.far;
                    let full = far.holders(packet.vl, packet.credits);
                    (next, Place::Input(entry), full)
                } else {
                    let (target, to) = state.next_place(place, packet);
                    let full = state.ledger(target).holders(to, packet.credits);
                    (switch, target, full)
                };
                let ahead = match place {
                    Place::Output(_) => Vec::new(),
                    _ => yields_to(state, place, id, Tick::MAX, packets),
                };
                // Where a buffer has picked another queue and requests nothing else, the head waits for that.
                let kept = match place {
                    Place::Output(_) => None,
                    _ => state
                        .read_port(place)
                        .kept
                        .filter(|&kept| blocks && kept != queue),
                };
                let at = |switch, place, queue| Queue {
                    switch,
                    place,
                    queue,
                };
                let holders: Vec<Queue> = match kept {
                    Some(kept) => vec![at(switch, place, kept)],
                    None if full.is_empty() => {
                        let ahead = ahead.into_iter();
                        ahead
                            .map(|(place, queue)| at(switch, place, queue))
                            .collect()
                    }
                    None => full.into_iter().map(|queue| at(next, to, queue)).collect(),
                };
                if holders.is_empty() {
                    continue;
                }
                found.push(Blocked {
                    at: at(switch, place, queue),
                    vl: queue % vls,
                    dst: packet.dst,
                    flits: packet.flits,
                    holders,
                });
            }
        }
    }
    found
}
