//! Where the first legs of paths with two legs end.

use flitwise::fabric::ids::{NicId, NicPair};
use flitwise::fabric::spec::{FabricSpec, Paths};
use flitwise::random::{Purpose, Stream};

/// Every service level with every NIC whose switch can end the first leg of a path between a pair;
/// of paths with one leg it does not matter.
pub fn levels_and_vias(spec: &FabricSpec, pair: NicPair) -> Vec<(usize, NicId)> {
    let vias: Vec<NicId> = match spec.routing.paths {
        Paths::Minimal => vec![pair.src],
        Paths::Valiant { .. } => spec.topology.nic_ids().collect(),
    };
    let levels = 0..spec.qos.service_levels.len();
    levels
        .flat_map(|sl| vias.iter().map(move |&via| (sl, via)))
        .collect()
}

/// The NIC at whose switch the first leg of the first packet from `src` ends.
pub fn first_via(spec: &FabricSpec, src: NicId) -> NicId {
    let nics = spec.topology.nics().into();
    match spec.routing.paths {
        Paths::Minimal => src,
        Paths::Valiant { seed } => {
            let mut stream = Stream::new(seed, Purpose::Paths, [src.get().into(), 0]);
            NicId::new(stream.below(nics) as u32)
        }
    }
}
