//! Sizes of packets in flits and credits (`docs/model/fabric.md` §1), and which VLs they may take (§7).

use flitwise_fabric::spec::{FabricSpec, Notification, VlPolicy};
use flitwise_fabric::workload::Message;
use std::collections::BTreeSet;

/// Payloads of the packets of `message` in bytes, first to last.
pub fn payloads(spec: &FabricSpec, message: &Message) -> Vec<u32> {
    let mtu = spec.qos.service_levels[usize::from(message.sl)].mtu_bytes;
    let mut rest = message.bytes;
    let mut payloads = Vec::new();
    while rest > u64::from(mtu) {
        payloads.push(mtu);
        rest -= u64::from(mtu);
    }
    payloads.push(rest as u32);
    payloads
}

/// Flits of a packet of `bytes` bytes, headers included.
pub fn flits_of(spec: &FabricSpec, bytes: u32) -> u32 {
    let mut flits = 1;
    while u64::from(flits) * u64::from(spec.units.flit_bytes) < u64::from(bytes) {
        flits += 1;
    }
    flits
}

/// Flits of a data packet with `payload` bytes.
pub fn data_flits_of(spec: &FabricSpec, payload: u32) -> u32 {
    flits_of(spec, payload + spec.units.header_bytes)
}

/// Flits of a congestion notification packet, if there are any.
pub fn flits_of_cnp(spec: &FabricSpec) -> Option<u32> {
    match spec.congestion_control.as_deref()?.notification {
        Notification::Cnp { bytes } => Some(flits_of(spec, bytes)),
        Notification::Ack | Notification::AckNow => None,
    }
}

/// Credits of a packet of `flits` flits: one for every flit that completes a credit.
pub fn credits_of(spec: &FabricSpec, flits: u32) -> u32 {
    let per_credit = spec.units.flits_per_credit;
    let completing = (0..flits).filter(|&index| completes_credit(index, flits, per_credit));
    completing.count() as u32
}

/// Whether a credit of a packet of `flits` flits has wholly left a buffer once
/// flit `index` has: it was the last of `per_credit` flits, or of the packet.
pub fn completes_credit(index: u32, flits: u32, per_credit: u32) -> bool {
    (index + 1).is_multiple_of(per_credit) || index + 1 == flits
}

/// VLs that packets of service level `sl` may use, whether a route does or not.
pub fn may_use(spec: &FabricSpec, sl: usize) -> BTreeSet<u8> {
    match &spec.qos.vl_policy {
        VlPolicy::SlToVl(tables) => {
            let own = tables.hcas.values().chain(tables.ports.values());
            let all = own.chain([&tables.default]);
            all.map(|table| table[sl]).collect()
        }
        VlPolicy::ServiceChannels | VlPolicy::Queueing(_) => {
            let scs = spec.qos.service_levels[sl].scs.iter();
            scs.filter_map(|&sc| spec.qos.sc2vl[usize::from(sc)])
                .collect()
        }
    }
}

/// Credits of the largest packet of service level `sl`, data or notification.
fn largest_of_level(spec: &FabricSpec, sl: usize) -> u32 {
    let data = data_flits_of(spec, spec.qos.service_levels[sl].mtu_bytes);
    let largest = data.max(flits_of_cnp(spec).unwrap_or(0));
    credits_of(spec, largest)
}

/// Credits of the largest packet of any service level.
pub fn largest_credits(spec: &FabricSpec) -> u32 {
    let levels = 0..spec.qos.service_levels.len();
    levels.map(|sl| largest_of_level(spec, sl)).max().unwrap()
}

/// Credits of the largest packet that may use `vl`; 0 if none may.
pub fn largest_credits_on(spec: &FabricSpec, vl: u8) -> u32 {
    let levels = 0..spec.qos.service_levels.len();
    let on_vl = levels.filter(|&sl| may_use(spec, sl).contains(&vl));
    on_vl
        .map(|sl| largest_of_level(spec, sl))
        .max()
        .unwrap_or(0)
}
