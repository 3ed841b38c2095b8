//! Virtual and switch allocation (`docs/model/fabric.md` §6): two rounds of round
//! robin that give packets their way through a crossbar.

use super::packet::{Packet, PacketId};
use super::switch::{Crossing, Place, Switch, speedup};
use super::switch_of;
use flitwise_fabric::spec::hierarchical::{AllocationRule, VirtualAllocation};
use flitwise_fabric::spec::{FabricSpec, Tick};

/// The request of a source: the passage of one packet to its next buffer.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    source: Place,
    from_queue: usize,
    target: Place,
    to_queue: usize,
    packet: PacketId,
}

/// Whether sources and targets allocate in tick `now`.
fn allocates(now: Tick, spec: &FabricSpec) -> bool {
    match switch_of(spec).allocator.rule {
        AllocationRule::Rounds => now.is_multiple_of(switch_of(spec).timing.stages.allocation),
        AllocationRule::Pipelined | AllocationRule::Serial => true,
    }
}

/// Phase 5, virtual allocation: every source picks at most one packet. `iteration`: of a round, from 0.
pub fn requests(
    switch: &mut Switch,
    iteration: u32,
    now: Tick,
    spec: &FabricSpec,
    packets: &mut [Packet],
) -> Vec<Request> {
    let mut requests = Vec::new();
    if !allocates(now, spec) {
        return requests;
    }
    let in_rounds = switch_of(spec).allocator.rule == AllocationRule::Rounds;
    let picks_blindly = if in_rounds {
        iteration == 0
    } else {
        switch_of(spec).virtual_allocation == VirtualAllocation::Blind
    };
    for source in switch.sources() {
        let has_heads = switch.buffer(source).heads().next().is_some();
        if !has_heads || switch.read_port(source).free_from > source_idle_by(now, spec) {
            continue;
        }
        let queues = switch.buffer(source).queues();
        let pointer = switch.read_port(source).pointer;
        let candidates: Vec<usize> = match switch.read_port(source).kept {
            Some(queue) if iteration == 0 => vec![queue],
            _ => (0..queues).map(|step| (pointer + step) % queues).collect(),
        };
        let heads: Vec<Request> = candidates
            .into_iter()
            .filter_map(|queue| request(switch, source, queue, packets))
            .collect();
        let granted: Vec<bool> = heads
            .iter()
            .map(|head| takes(switch, head, now, spec, packets))
            .collect();
        let eligible = granted.iter().position(|&granted| granted);
        let pick = if picks_blindly { Some(0) } else { eligible };
        let passed = match (picks_blindly, eligible) {
            (true, Some(0)) => 0,
            (true, _) if in_rounds => 1,
            (true, _) => heads.len(),
            (false, _) => eligible.unwrap_or(heads.len()),
        };
        for (head, granted) in heads.iter().zip(granted).take(passed) {
            if !granted && is_idle(switch, head.target, now, spec) {
                packets[head.packet].passed_over.get_or_insert(now);
            }
        }
        if let Some(pick) = pick {
            let port = switch.read_port(source);
            port.pointer = (heads[pick].from_queue + 1) % queues;
            port.kept = in_rounds.then_some(heads[pick].from_queue);
            requests.push(heads[pick]);
        }
    }
    requests
}

/// The request for the head of `from_queue` of `source`.
fn request(
    switch: &mut Switch,
    source: Place,
    from_queue: usize,
    packets: &[Packet],
) -> Option<Request> {
    let packet = switch.buffer(source).head(from_queue)?;
    let (target, to_queue) = switch.next_place(source, &packets[packet]);
    Some(Request {
        source,
        from_queue,
        target,
        to_queue,
        packet,
    })
}

/// The tick from which a port must be free to be idle for allocation at `now`: its transfer
/// may end while the allocation is under way.
fn idle_by(now: Tick, spec: &FabricSpec) -> Tick {
    now + switch_of(spec).timing.stages.allocation
}

/// The same for the port of a source, whose transfer may have to end first.
fn source_idle_by(now: Tick, spec: &FabricSpec) -> Tick {
    match switch_of(spec).allocator.rule {
        AllocationRule::Serial => now,
        AllocationRule::Pipelined | AllocationRule::Rounds => idle_by(now, spec),
    }
}

/// Whether no transfer to the target is in the way of an allocation at `now`.
fn is_idle(switch: &mut Switch, target: Place, now: Tick, spec: &FabricSpec) -> bool {
    switch.write_port(target).free_from <= idle_by(now, spec)
}

/// Whether the target can grant the request.
fn takes(
    switch: &mut Switch,
    request: &Request,
    now: Tick,
    spec: &FabricSpec,
    packets: &[Packet],
) -> bool {
    let credits = packets[request.packet].credits;
    is_idle(switch, request.target, now, spec)
        && switch
            .ledger(request.target)
            .has_quota(request.to_queue, credits)
        && yields_to(switch, request.source, request.packet, now, packets).is_empty()
}

/// The queues with a longer head that was passed over before `now`, and before the head `id` of `source`, and waits for
/// the same queue.
pub fn yields_to(
    switch: &mut Switch,
    source: Place,
    id: PacketId,
    now: Tick,
    packets: &[Packet],
) -> Vec<(Place, usize)> {
    let packet = &packets[id];
    let to = switch.next_place(source, packet);
    let before = packet.passed_over.unwrap_or(now).min(now);
    let mut found = Vec::new();
    for rival in switch.sources() {
        for queue in 0..switch.buffer(rival).queues() {
            let Some(head) = switch.buffer(rival).head(queue) else {
                continue;
            };
            let other = &packets[head];
            if switch.next_place(rival, other) == to
                && other.credits > packet.credits
                && other.passed_over.is_some_and(|tick| tick < before)
            {
                found.push((rival, queue));
            }
        }
    }
    found
}

/// Phase 6, switch allocation: every target grants at most one request of those that it
/// can take. Returns the number of grants.
pub fn grant(
    switch: &mut Switch,
    requests: &[Request],
    now: Tick,
    spec: &FabricSpec,
    packets: &mut [Packet],
) -> usize {
    let mut targets: Vec<Place> = Vec::new();
    let taken = |request: &&Request| takes(switch, request, now, spec, packets);
    let requests: Vec<Request> = requests.iter().filter(taken).copied().collect();
    for request in &requests {
        if !targets.contains(&request.target) {
            targets.push(request.target);
        }
    }
    for &target in &targets {
        let positions = match target {
            Place::Central(_) => 4,
            Place::Output(_) => 4 + switch.centrals.len(),
            Place::Input(_) => unreachable!("an input buffer is written by its link"),
        };
        let pointer = switch.write_port(target).pointer;
        let (request, position) = (0..positions)
            .map(|step| (pointer + step) % positions)
            .find_map(|position| {
                let mut rivals = requests.iter().filter(|r| r.target == target);
                let request = rivals.find(|r| position_of(r.source) == position)?;
                Some((*request, position))
            })
            .expect("someone asked for this target");
        switch.write_port(target).pointer = (position + 1) % positions;
        carry_out(switch, request, now, spec, packets);
    }
    targets.len()
}

/// End of phase 6: the heads of input buffers that were not granted wait.
pub fn count_waits(switch: &mut Switch) {
    for input in &switch.inputs {
        for (_, id) in input.buffer.heads() {
            switch.turns.waits(id);
        }
    }
}

/// Position of a source among the sources of a target: the four input buffers of the
/// MPort, then the central buffers of the switch.
fn position_of(source: Place) -> usize {
    match source {
        Place::Input(port) => port % 4,
        Place::Central(number) => 4 + number,
        Place::Output(_) => unreachable!("an output buffer feeds a link"),
    }
}

/// Takes the credits and both ports, and starts the crossing.
fn carry_out(
    switch: &mut Switch,
    request: Request,
    now: Tick,
    spec: &FabricSpec,
    packets: &mut [Packet],
) {
    let Request {
        source,
        from_queue,
        target,
        to_queue,
        packet: id,
    } = request;
    let packet = &mut packets[id];
    switch.ledger(target).take(to_queue, packet.credits);
    packet.passed_over = None;
    assert_eq!(switch.buffer(source).remove_head(from_queue), id);
    if let Place::Output(_) = target {
        let was_routed = switch.ungranted.remove(&id);
        assert!(was_routed.is_some(), "granted once, after it was routed");
    }
    if let (Place::Output(_), Some(marking)) = (target, &mut switch.marking) {
        marking.granted(id, packet);
    }

    if let Place::Input(port) = source {
        let turn = (port, packet.output);
        switch.turns.granted(id, packet.flits, turn);
    }
    let start = now + switch_of(spec).timing.stages.allocation;
    let store = match source {
        Place::Input(_) => switch_of(spec).timing.stages.input_store,
        Place::Central(_) | Place::Output(_) => 0,
    };
    let available: Vec<Tick> = packet.flit_ticks.iter().map(|tick| tick + store).collect();
    let foreseen = foresee(start, speedup(spec, source), &available);
    let free_from = foreseen.last().expect("a packet has flits") + 1;
    switch.read_port(source).free_from = free_from;
    switch.read_port(source).kept = None;
    switch.write_port(target).free_from = free_from;
    packet.flit_ticks = foreseen
        .iter()
        .map(|tick| tick + switch_of(spec).timing.stages.crossbar)
        .collect();
    let held_back = match (source, &mut switch.marking) {
        (Place::Input(_), Some(marking)) => marking.held_back(packet),
        _ => 0,
    };
    switch.crossings.push(Crossing {
        source,
        target,
        from_queue,
        to_queue,
        packet: id,
        flits: packet.flits,
        vl: packet.vl,
        start,
        next: 0,
        foreseen,
        held_back,
    });
}

/// Plays a crossing ahead of time: in which tick will each flit cross, if it
/// starts at `start`, moves up to `speedup` flits per tick in order, and flit i
/// may not cross before `available[i]`? Nothing that happens later can change
/// it, because the flits of a granted packet never wait for credits.
fn foresee(start: Tick, speedup: u32, available: &[Tick]) -> Vec<Tick> {
    let mut crossed = Vec::new();
    let mut now = start;
    while crossed.len() < available.len() {
        for _ in 0..speedup {
            match available.get(crossed.len()) {
                Some(&from) if from <= now => crossed.push(now),
                _ => break,
            }
        }
        now += 1;
    }
    crossed
}
