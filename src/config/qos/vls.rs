//! Resolves `[qos]` for the VL policies that need no service channels in the file: queueing schemes, and
//! SL-to-VL tables.

use crate::config::document::{ConfigError, given, refused};
use crate::config::qos::keys::{RawQos, RawQueueRule, RawVlPolicy};
use crate::fabric::spec::validate::{MANAGEMENT_SC, MAX_LEVELS};
use crate::fabric::spec::{
    Along, Detail, Mix, Qos, QueueingScheme, SchemeKind, ServiceLevel, SlToVl, VlPolicy,
};
use crate::fabric::switch::PortVls;
use crate::fabric::topology::Topology;
use crate::units::counted;

impl RawVlPolicy {
    /// The scheme that it names, by `rule` if that belongs to it.
    fn kind(self, rule: Option<RawQueueRule>) -> Option<SchemeKind> {
        Some(match (self, rule) {
            (Self::Flow2sl, None | Some(RawQueueRule::Sum)) => SchemeKind::Flow2sl(Mix::Sum),
            (Self::Flow2sl, Some(RawQueueRule::Difference)) => SchemeKind::Flow2sl(Mix::Difference),
            (Self::Iodet, None | Some(RawQueueRule::Dimension)) => {
                SchemeKind::Iodet(Along::Dimension)
            }
            (Self::Iodet, Some(RawQueueRule::Coordinate)) => SchemeKind::Iodet(Along::Coordinate),
            (Self::H2lq, None | Some(RawQueueRule::Hierarchical)) => {
                SchemeKind::H2lq(Detail::Hierarchical)
            }
            (Self::H2lq, Some(RawQueueRule::Plain)) => SchemeKind::H2lq(Detail::Plain),
            (_, Some(_)) | (Self::ServiceChannels, None) => return None,
            (Self::OneQueue, None) => SchemeKind::OneQueue,
            (Self::Dbbm, None) => SchemeKind::Dbbm,
            (Self::Voqnet, None) => SchemeKind::Voqnet,
            (Self::Bbq, None) => SchemeKind::Bbq,
            (Self::Vftree, None) => SchemeKind::Vftree,
            (Self::Voqsw, None) => SchemeKind::Voqsw,
            (Self::Obqa, None) => SchemeKind::Obqa,
            (Self::Sf2lq, None) => SchemeKind::Sf2lq,
        })
    }
}

/// Queues of a scheme, and of its escape network, where the file names no number.
fn usual_queues(kind: SchemeKind, topology: &Topology) -> (u32, u8) {
    match kind {
        SchemeKind::OneQueue => (1, 0),
        SchemeKind::Dbbm
        | SchemeKind::Bbq
        | SchemeKind::Flow2sl(_)
        | SchemeKind::Vftree
        | SchemeKind::Obqa => (4, 0),
        SchemeKind::Voqnet => (topology.nics(), 0),
        SchemeKind::Voqsw => (topology.used_ports(), 0),
        SchemeKind::Iodet(_) => (topology.dimensions() + 1, 0),
        SchemeKind::H2lq(_) => (6, 2),
        SchemeKind::Sf2lq => (4, 4),
    }
}

/// The queueing scheme of a file, if it names one. SL-to-VL `tables` leave no room for it.
pub(crate) fn scheme(
    raw: &RawQos,
    tables: Option<&SlToVl>,
    topology: &Topology,
) -> Result<Option<QueueingScheme>, ConfigError> {
    let error = |key: &str, problem: String| refused(key, problem);
    let policy = raw.vl_policy.unwrap_or(RawVlPolicy::ServiceChannels);
    if policy == RawVlPolicy::ServiceChannels {
        let given = given!(raw, queues, escape_queues, queue_rule).next();
        return given.map_or(Ok(None), |key| {
            let problem =
                "belongs to a queueing scheme; name one, as in vl_policy = \"dbbm\", or remove it";
            error(&format!("qos.{key}"), problem.to_owned())
        });
    }
    if tables.is_some() {
        let problem = "SL-to-VL tables (fabric.sl2vl) decide the VLs; remove one of the two";
        return error("qos.vl_policy", problem.to_owned());
    }
    let Some(kind) = policy.kind(raw.queue_rule) else {
        let problem = "no rule of this scheme; \"flow2sl\" has \"sum\" and \"difference\", \"iodet\" has \
                       \"dimension\" and \"coordinate\", \"h2lq\" has \"hierarchical\" and \"plain\", other \
                       schemes have none";
        return error("qos.queue_rule", problem.to_owned());
    };
    let (queues, escape_queues) = usual_queues(kind, topology);
    let Ok(queues) = raw.queues.map_or_else(|| u8::try_from(queues), Ok) else {
        let problem = format!(
            "{} needs {queues} queues on this topology; there are at most {MAX_LEVELS}: {SHARED}",
            kind.name()
        );
        return error("qos.vl_policy", problem);
    };
    let scheme = QueueingScheme {
        kind,
        queues,
        escape_queues: raw.escape_queues.unwrap_or(escape_queues),
    };
    scheme.validate_queues()?;
    Ok(Some(scheme))
}

/// The cure where there is no VL for the queue of each NIC.
const SHARED: &str = "take vl_policy = \"dbbm\", whose NICs share queues, or fabric.input_queues = \"per-flow\" with \
                      \"one-queue\" on voq and input-queued switches";

/// Says that the queues of `scheme` in `classes` VL classes of `levels` service levels are more than `most` VLs.
fn too_many(scheme: QueueingScheme, classes: usize, levels: usize, most: usize) -> ConfigError {
    let escape = usize::from(scheme.escape_queues);
    // Queues of a service level that have room, of which H2LQ and SF2LQ share the rest with their escape networks.
    let room = most / levels;
    let fit = match escape {
        0 => room / classes.max(1),
        _ => room.saturating_sub(escape * classes.saturating_sub(1)),
    };
    let cure = match fit {
        _ if scheme.kind == SchemeKind::Voqnet => SHARED.to_owned(),
        0 if escape > 0 => "lower qos.queues and qos.escape_queues".to_owned(),
        0 => "take fewer service levels".to_owned(),
        _ => format!("set qos.queues = {fit} or less"),
    };
    let problem = format!(
        "{} VLs for {} with {} of {}{}; there are at most {most}: {cure}",
        scheme.total(classes as u8) * levels,
        counted(levels as u64, "service level"),
        counted(classes as u64, "VL class"),
        counted(scheme.queues.into(), "queue"),
        match escape {
            0 => String::new(),
            _ => format!(" ({escape} in the escape network)"),
        },
    );
    ConfigError::new("qos.queues", problem)
}

/// Service levels of a queueing scheme: each has an SC for each queue of `classes` VL classes, all of
/// them on VLs of their own, of which there are at most `most_vls`.
pub(crate) fn by_scheme(
    raw: &RawQos,
    scheme: QueueingScheme,
    classes: usize,
    most_vls: usize,
    mut service_levels: Vec<ServiceLevel>,
) -> Result<Qos, ConfigError> {
    no_channels(
        raw,
        "a queueing scheme (qos.vl_policy) gives every service level its SCs and VLs; remove one \
         of the two",
    )?;
    let scs = scheme.total(classes as u8);
    let vls = scs * service_levels.len();
    if vls > most_vls {
        return Err(too_many(scheme, classes, service_levels.len(), most_vls));
    }
    let mut sc2vl = [None; 32];
    let mut channels = (0u8..).filter(|&sc| sc != MANAGEMENT_SC);
    let mut vl = 0..;
    for level in &mut service_levels {
        level.scs = channels.by_ref().take(scs).collect();
        for &sc in &level.scs {
            sc2vl[usize::from(sc)] = vl.next();
        }
    }
    Ok(Qos {
        vls: vls as u8,
        service_levels,
        sc2vl,
        vl_policy: VlPolicy::Queueing(scheme),
    })
}

/// Refuses SCs and their VLs in a file whose VLs are decided otherwise.
fn no_channels(raw: &RawQos, problem: &str) -> Result<(), ConfigError> {
    if raw.sc2vl.is_some() {
        return refused("qos.sc2vl", problem);
    }
    let mut levels = raw.service_levels.iter().flatten();
    match levels.position(|level| !level.scs.is_empty()) {
        None => Ok(()),
        Some(i) => refused(format!("qos.service_levels.{i}.scs"), problem),
    }
}

/// Service levels with VLs from SL-to-VL tables. Each has one SC, which stands for the default table. A port has at
/// most these `limits`.
pub(crate) fn by_tables(
    raw: &RawQos,
    tables: &SlToVl,
    limits: PortVls,
    mut service_levels: Vec<ServiceLevel>,
) -> Result<Qos, ConfigError> {
    no_channels(
        raw,
        "SL-to-VL tables (fabric.sl2vl) decide the VLs in place of service channels; remove one of \
         the two",
    )?;
    let count = service_levels.len();
    if tables.default.len() < count || count >= MAX_LEVELS {
        return refused(
            "fabric.sl2vl",
            format!(
                "{} entries for {count} service levels",
                tables.default.len()
            ),
        );
    }
    let mut sc2vl = [None; 32];
    // Each level gets one SC, in name only; the SC of management stays free.
    let channels = (0u8..).filter(|&sc| sc != MANAGEMENT_SC);
    for ((sc, level), &vl) in channels.zip(&mut service_levels).zip(&tables.default) {
        level.scs = vec![sc];
        sc2vl[usize::from(sc)] = Some(vl);
    }
    let own = tables.hcas.values().chain(tables.ports.values());
    let all = own.chain([&tables.default]);
    let highest = all.flat_map(|table| table.iter().take(count)).max();
    let vls = highest.map_or(1, |&vl| vl.saturating_add(1));
    let PortVls { port, most } = limits;
    if vls > most {
        let (vl, last) = (vls - 1, most - 1);
        let problem = format!("VL {vl}; {port} has at most {most} for data, VL 0 to VL {last}");
        return refused("fabric.sl2vl", problem);
    }
    Ok(Qos {
        vls,
        service_levels,
        sc2vl,
        vl_policy: VlPolicy::ServiceChannels,
    })
}
