//! Where the first legs of detours lead.

use flitwise::fabric::ids::{NicId, NicPair};
use flitwise::fabric::spec::{DetourRule, FabricSpec};
use flitwise::random::{Purpose, Stream};

/// The NICs over which a packet of a pair may take a detour at its first switch; its source where it takes none.
pub fn vias(spec: &FabricSpec, pair: NicPair) -> Vec<NicId> {
    let switch = spec.topology.attachment(pair.src).switch;
    let nics = spec.topology.nic_ids();
    let mut vias: Vec<NicId> = nics
        .filter(|&via| spec.allows_detour(switch, pair.dst, via))
        .collect();
    let all_take_one = matches!(
        spec.routing.paths.detours(),
        Some(detours) if detours.rule == DetourRule::Valiant
    );
    if vias.is_empty() || !all_take_one {
        vias.push(pair.src);
    }
    vias
}

/// Every service level with every NIC over which a path between a pair may lead.
pub fn levels_and_vias(spec: &FabricSpec, pair: NicPair) -> Vec<(usize, NicId)> {
    let vias = vias(spec, pair);
    let levels = 0..spec.qos.service_levels.len();
    levels
        .flat_map(|sl| vias.iter().map(move |&via| (sl, via)))
        .collect()
}

/// The NIC over which the first packet of a pair takes a detour: alone in the fabric, it finds no queue to go round.
pub fn first_via(spec: &FabricSpec, pair: NicPair) -> Option<NicId> {
    let detours = spec.routing.paths.detours()?;
    if detours.rule != DetourRule::Valiant {
        return None;
    }
    let allowed = vias(spec, pair);
    let mut stream = Stream::new(detours.seed, Purpose::Paths, [pair.src.get().into(), 0]);
    Some(allowed[stream.below(allowed.len() as u64) as usize])
}
