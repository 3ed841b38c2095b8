//! A packet alone in a fabric: what analysis says of it, and what the engine does.

use super::ids::pair;
use super::paths::first_via;
use super::script::{Cue, Script, message};
use flitwise::fabric::analysis::path::{Path, path, path_via};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::workload::PacketReport;

/// The route of a packet that `pick` draws, how its run ended, and what was reported of it. `None` if
/// the fabric has one NIC.
pub fn lone_packet(spec: &FabricSpec, pick: [u32; 4]) -> Option<(Path, RunEnd, PacketReport)> {
    let nics = spec.topology.nics();
    if nics < 2 {
        return None;
    }
    let src = pick[0] % nics;
    let dst = (src + 1 + pick[1] % (nics - 1)) % nics;
    let sl = pick[2] as usize % spec.qos.service_levels.len();
    let payload = pick[3] % (spec.qos.service_levels[sl].mtu_bytes + 1);
    let pair = pair(src, dst);
    let route = match first_via(spec, pair) {
        Some(via) => path_via(spec, spec, pair, via, sl, payload).unwrap(),
        None => path(spec, spec, pair, sl, payload).unwrap(),
    };
    let mut script = Script::new([(Cue::At(0), message(1, src, dst, sl as u8, payload.into()))]);
    let end = Engine::new(spec).unwrap().run(&mut script);
    Some((route, end, script.packets[0]))
}
