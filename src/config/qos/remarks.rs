//! Schedulers that do not do what one would expect of them.

use crate::config::background::Background;
use crate::config::job::Job;
use crate::config::qos::keys::RawQos;
use crate::config::qos::keys::RawScheduler::{DTable, Rr, Sbt};
use crate::fabric::spec::{FabricSpec, Switch};

/// Returns a remark on a scheduler of service levels where there is one level, on SBT beside levels without
/// traffic, and on a round robin that is one of VLs.
pub(crate) fn remarks(
    raw: &RawQos,
    fabric: &FabricSpec,
    jobs: &[Job],
    background: &[Background],
) -> Vec<String> {
    let qos = &fabric.qos;
    if let (Some(Rr), Switch::Voq(_), [_, _, ..]) =
        (raw.scheduler, &fabric.switch, &qos.service_levels[..])
    {
        return vec![
            "qos.scheduler = \"rr\" is \"ib-vlarb\" without tables on these switches: VLs take turns, not service \
             levels; write \"ib-vlarb\", or give VLs weights with qos.vlarb"
                .to_owned(),
        ];
    }
    let Some(scheduler @ (Sbt | DTable)) = raw.scheduler else {
        return Vec::new();
    };
    let name = scheduler.name();
    if let [level] = &qos.service_levels[..] {
        let effect = match (scheduler, qos.vls) {
            (DTable, _) | (_, 1) => "changes nothing",
            _ => "serves one VL as long as it has packets, and the others starve",
        };
        return vec![format!(
            "qos.scheduler = \"{name}\" {effect}: {} is the only service level; take \"rr\", or add qos.preset = \
             \"opa-5sl\" (--set qos.preset=opa-5sl), or qos.service_levels",
            level.name
        )];
    }
    let jobs = jobs.iter().filter(|job| job.enabled).map(|job| job.sl);
    let sending = background.iter().filter(|flow| !flow.rate.is_zero());
    let used: Vec<u8> = jobs.chain(sending.map(|flow| flow.sl)).collect();
    let levels = qos.service_levels.iter().zip(0_u8..);
    let idle = levels.filter(|(_, sl)| !used.contains(sl));
    let idle: Vec<&str> = idle.map(|(level, _)| level.name.as_str()).collect();
    if scheduler == DTable || idle.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "qos.scheduler = \"sbt\" is hardly more than round robin here: no traffic uses {}, and weights are restored \
         only when all are 0 (docs/model/fabric.md, section 8); define only the levels in use (qos.service_levels)",
        idle.join(", ")
    )]
}
