//! The kinds of switch in an experiment file. Each kind has a file: its keys as written, the
//! parameters that they change, and its schedulers. This file lists the kinds and their presets.

pub(super) mod bit_errors;
pub(super) mod failure;
pub(super) mod hierarchical;
pub(super) mod keys;
pub(super) mod routing;
pub(super) mod source_routes;
pub(super) mod tables;
pub(super) mod topology;
pub(super) mod voq;

use crate::config::document::{ConfigError, given, kinds_of, refused, text};
use crate::config::fabric::hierarchical::{HierarchicalKeys, RawHierarchical};
use crate::config::fabric::keys::{FabricKeys, FabricPreset, replace};
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::topology::graphs::{RawNics, RawSingle};
use crate::config::fabric::voq::{RawVoq, VoqKeys};
use crate::config::import::Imported;
use crate::config::qos::keys::RawScheduler;
use crate::config::qos::scheduler::Scheduling;
use crate::fabric::parameters::{Parameters, SwitchParameters};
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::FabricSpec;
use crate::fabric::switch::voq::PortStandard;
use crate::fabric::topology::{Peer, RoutingName, Topology, kinds_with_trunks};
use crate::units::Ratio;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The keys that only one kind of switch has.
#[derive(Debug)]
pub(crate) enum RawKind {
    Hierarchical(RawHierarchical),
    Voq(RawVoq),
    /// The keys of `voq` switches, with other defaults.
    InputQueued(RawVoq),
}

/// `tagged` has turned the `kind` into the name of a variant.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
enum Tagged {
    /// The switch of Omni-Path, of MPorts around a central crossbar.
    Hierarchical(HierarchicalKeys),
    /// The switch of InfiniBand, with input buffers and a crossbar.
    Voq(VoqKeys),
    /// A switch with a FIFO for each of up to 31 VLs, without output buffers and speed-up. It has the keys of `"voq"`.
    InputQueued(VoqKeys),
}

/// The keys of `[fabric]`.
pub(crate) type RawFabric = FabricKeys<RawKind>;

impl<'de> Deserialize<'de> for RawFabric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Tagged::deserialize(deserializer)? {
            Tagged::Hierarchical(all) => FabricKeys::from(all).map_kind(RawKind::Hierarchical),
            Tagged::Voq(all) => FabricKeys::from(all).map_kind(RawKind::Voq),
            Tagged::InputQueued(all) => FabricKeys::from(all).map_kind(RawKind::InputQueued),
        })
    }
}

impl JsonSchema for RawFabric {
    fn schema_name() -> Cow<'static, str> {
        "Fabric".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Tagged::json_schema(generator);
        let kinds = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        kinds.into_iter().flatten().for_each(of_presets);
        schema
    }
}

/// Completes the schema of a kind of switch: without a `kind` the preset decides, which must be of that kind, and some
/// defaults are the preset's.
fn of_presets(kind: &mut Value) {
    let name = kind["properties"]["kind"]["const"].clone();
    let name = name.as_str().unwrap_or_default();
    let mut presets: Vec<&str> = kinds_of::<FabricPreset>().iter().map(|p| p.name).collect();
    presets.retain(|preset| kind_of_preset(Some(preset)) == name);
    let fits = |preset: &Value| {
        let name = preset["const"].as_str();
        name.is_some_and(|name| presets.contains(&name))
    };
    let preset = &mut kind["properties"]["preset"];
    // A key that may be left out has the names within the first of two forms.
    for place in ["/oneOf", "/anyOf/0/oneOf"] {
        if let Some(Value::Array(known)) = preset.pointer_mut(place) {
            known.retain(fits);
        }
    }
    kind["required"] = json!([]);
    if kind_of_preset(None) == name {
        kind["properties"]["kind"]["default"] = json!(name);
    } else {
        kind["anyOf"] = json!([{ "required": ["kind"] }, { "required": ["preset"] }]);
    }
    let keys = kind["properties"].as_object_mut().into_iter().flatten();
    for (_, key) in keys {
        if let Some(Value::Object(defaults)) = key.get_mut("x-defaults") {
            defaults.retain(|preset, _| presets.contains(&preset.as_str()));
            let usual = defaults.values().next().cloned();
            key["default"] = usual.unwrap_or_default();
        }
    }
}

impl Default for RawFabric {
    fn default() -> Self {
        FabricKeys::from(HierarchicalKeys::default()).map_kind(RawKind::Hierarchical)
    }
}

/// The kind of switch of a preset; without one, the hierarchical one.
fn kind_of_preset(preset: Option<&str>) -> &'static str {
    match preset {
        Some(preset) if preset.starts_with("ib-") => "voq",
        Some("sauron") => "input-queued",
        _ => "hierarchical",
    }
}

/// The kind of switch of a `[fabric]` that names none.
pub(crate) fn default_kind(fabric: &DeTable<'_>) -> &'static str {
    kind_of_preset(text(fabric, "preset"))
}

/// The kind of switch of a `[fabric]`.
pub(crate) fn kind_of<'a>(fabric: Option<&'a DeValue<'_>>) -> &'a str {
    match fabric {
        Some(DeValue::Table(table)) => text(table, "kind").unwrap_or(default_kind(table)),
        _ => kind_of_preset(None),
    }
}

/// The QoS preset of fabrics of a kind where neither the file nor its tables imply one.
pub(crate) fn qos_preset(kind: &str) -> Option<&'static str> {
    matches!(kind, "voq" | "input-queued").then_some("ib")
}

/// Every fabric default that a preset decides.
pub(crate) struct FabricDefaults {
    pub parameters: Parameters,
    pub topology: RawTopology,
    /// Scheduler if none is given and the QoS preset has none.
    pub scheduler: RawScheduler,
}

impl FabricDefaults {
    /// One switch with `nics` NICs.
    fn single(parameters: Parameters, nics: u32, scheduler: RawScheduler) -> Self {
        Self {
            parameters,
            topology: RawTopology::Single(RawSingle {
                nics: Some(RawNics::Count(nics)),
            }),
            scheduler,
        }
    }
}

/// The defaults of a `[fabric]`: of its preset, or of the usual preset of its kind.
pub(crate) fn defaults(raw: &RawFabric) -> Result<FabricDefaults, ConfigError> {
    let preset = raw.preset.unwrap_or(match raw.kind {
        RawKind::Hierarchical(_) => FabricPreset::OpaGen1,
        RawKind::Voq(_) => FabricPreset::IbQdr648,
        RawKind::InputQueued(_) => FabricPreset::Sauron,
    });
    let (rr, rr_vl, vlarb) = (RawScheduler::Rr, RawScheduler::RrVl, RawScheduler::IbVlarb);
    let single = FabricDefaults::single;
    let defaults = match preset {
        // OpaSim's NUMBER_OF_PORTS.
        FabricPreset::OpaGen1 => single(Parameters::opa_gen1(), 48, rr),
        FabricPreset::Opa400 => single(Parameters::opa_400(), 48, rr),
        FabricPreset::OpaSim => single(Parameters::opasim(), 48, rr_vl),
        FabricPreset::IbQdr => single(Parameters::ib_qdr(), 36, vlarb),
        FabricPreset::IbFdr => single(Parameters::ib_fdr(), 36, vlarb),
        FabricPreset::IbEdr => single(Parameters::ib_edr(), 36, vlarb),
        FabricPreset::IbHdr => single(Parameters::ib_hdr(), 40, vlarb),
        FabricPreset::IbNdr => single(Parameters::ib_ndr(), 64, vlarb),
        FabricPreset::IbXdr => single(Parameters::ib_xdr(), 72, vlarb),
        FabricPreset::Sauron => single(Parameters::sauron(), 8, vlarb),
        FabricPreset::IbQdr648 => FabricDefaults {
            topology: voq::clos_of_648(),
            ..single(Parameters::ib_qdr_648(), 1, vlarb)
        },
        FabricPreset::IbDdrTestbed => FabricDefaults {
            topology: voq::testbed(),
            ..single(Parameters::ib_ddr_testbed(), 1, vlarb)
        },
    };
    let fits = match (&raw.kind, &defaults.parameters.switch) {
        (RawKind::Hierarchical(_), SwitchParameters::Hierarchical(_)) => true,
        (RawKind::Voq(_), SwitchParameters::Voq(p)) => p.port_standard == PortStandard::InfiniBand,
        (RawKind::InputQueued(_), SwitchParameters::Voq(p)) => {
            p.port_standard == PortStandard::None
        }
        _ => false,
    };
    if !fits {
        return refused(
            "fabric.kind",
            "the preset has switches of another kind; \"opa-gen1\", \"opa-400\" and \"opasim\" are \
             \"hierarchical\", those that begin with \"ib-\" are \"voq\", \"sauron\" is \"input-queued\"",
        );
    }
    Ok(defaults)
}

/// Overrides the parameters of the preset by the keys that only its kind has.
pub(crate) fn resolve(
    raw: &RawKind,
    p: &mut SwitchParameters,
    topology: &Topology,
    seed: u64,
) -> Result<(), ConfigError> {
    match (raw, p) {
        (RawKind::Hierarchical(raw), SwitchParameters::Hierarchical(p)) => raw.resolve(p, seed),
        (RawKind::Voq(raw) | RawKind::InputQueued(raw), SwitchParameters::Voq(p)) => {
            raw.resolve(p, topology)?;
        }
        // `defaults` has checked that the preset has the kind of switch that the file names.
        _ => {}
    }
    Ok(())
}

/// Takes the speeds of links that the file of a fabric tells, where no key sets them. Hierarchical switches
/// have one speed.
pub(crate) fn speeds_of_file(
    raw: &RawFabric,
    p: &mut SwitchParameters,
    imported: &Imported,
) -> Result<(), ConfigError> {
    match (&raw.kind, p) {
        (RawKind::Voq(raw) | RawKind::InputQueued(raw), SwitchParameters::Voq(p)) => {
            raw.speeds_of_file(p, imported)
        }
        // Their warning is in `link_speeds`.
        _ if imported.is_dump => Ok(()),
        (RawKind::Hierarchical(keys), SwitchParameters::Hierarchical(p)) if !keys.sets_rate() => {
            let bits = p.link_rate.checked_mul(Ratio::whole(8));
            imported.speeds.check_only(bits.unwrap_or(p.link_rate))
        }
        _ => Ok(()),
    }
}

/// Takes the latencies of links that a file tells, where no key sets them.
pub(crate) fn latencies_of_file(raw: &RawFabric, p: &mut Parameters, imported: &Imported) {
    let own = imported.latencies.iter().filter(|(at, _)| {
        match imported.topology.peer(at.switch, at.port) {
            Peer::Switch { .. } => raw.link_latency.is_none(),
            Peer::Nic(_) | Peer::None => raw.host_link_latency.is_none(),
        }
    });
    p.link_latencies = own.map(|(&at, &latency)| (at, latency)).collect();
}

/// Where the speeds of the links of a fabric come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkSpeeds {
    /// In words: `preset ib-edr`, a key, or the file of the topology.
    pub from: String,
    /// A warning that the speeds in the file of the topology are not used, and the cure.
    pub unused: Option<String>,
}

/// Where the speeds of the links of `fabric` come from. `preset`: as the file names it; `dir`: where files are looked for.
pub(crate) fn link_speeds(
    raw: &RawFabric,
    preset: Option<&str>,
    fabric: &FabricSpec,
    dir: &Path,
) -> Result<LinkSpeeds, ConfigError> {
    let usual = match raw.kind {
        RawKind::Hierarchical(_) => "opa-gen1",
        RawKind::Voq(_) => "ib-qdr-648",
        RawKind::InputQueued(_) => "sauron",
    };
    let preset = format!("preset {}", preset.unwrap_or(usual));
    let (from, unused) = match (&raw.kind, defaults(raw)?.parameters.switch) {
        (RawKind::Voq(raw) | RawKind::InputQueued(raw), SwitchParameters::Voq(p)) => {
            (raw.speeds_from(&p, &preset, fabric), None)
        }
        (RawKind::Hierarchical(keys), _) if keys.sets_rate() => {
            ("fabric.link_rate".to_owned(), None)
        }
        _ => {
            let unused = unused_speeds(raw.topology.as_ref(), &preset, dir)?;
            (preset, unused)
        }
    };
    Ok(LinkSpeeds { from, unused })
}

/// The warning that hierarchical switches have the rate of `preset`, not the speeds in a dump.
fn unused_speeds(
    topology: Option<&RawTopology>,
    preset: &str,
    dir: &Path,
) -> Result<Option<String>, ConfigError> {
    let Some(RawTopology::Ibnetdiscover(keys)) = topology else {
        return Ok(None);
    };
    let warning = |fitting: &str| {
        let file = keys.file.as_deref().unwrap_or_default();
        format!(
            "the speeds of {file} are not used: hierarchical switches have one rate, here of {preset}; take \
             fabric.preset = \"{fitting}\""
        )
    };
    Ok(keys.resolve(dir)?.speeds.preset().map(warning))
}

/// The scheduler of a file that names none; `of_preset` is the one of the preset of `[qos]`.
pub(crate) fn usual_scheduler(
    raw: &RawFabric,
    of_preset: Option<RawScheduler>,
) -> Result<RawScheduler, ConfigError> {
    let usual = defaults(raw)?.scheduler;
    Ok(match raw.kind {
        RawKind::Hierarchical(_) => of_preset.unwrap_or(usual),
        // QoS presets have schedulers of hierarchical switches.
        RawKind::Voq(_) | RawKind::InputQueued(_) => usual,
    })
}

/// A key of `[fabric]` that only its kind of switch has and that nothing uses, and why.
pub(crate) fn ignored(
    raw: &RawFabric,
) -> Result<Option<(&'static str, &'static str)>, ConfigError> {
    Ok(match (&raw.kind, defaults(raw)?.parameters.switch) {
        (RawKind::Voq(raw) | RawKind::InputQueued(raw), SwitchParameters::Voq(p)) => {
            raw.ignored(&p)
        }
        _ => None,
    })
}

/// Resolves what decides which packet a link carries next. Returns the DTable, if that is what
/// decides.
pub(crate) fn schedule(
    p: &mut SwitchParameters,
    by: &Scheduling<'_>,
) -> Result<Option<DTableTable>, ConfigError> {
    match p {
        SwitchParameters::Hierarchical(p) => hierarchical::schedule(p, by),
        SwitchParameters::Voq(p) => voq::schedule(p, by).map(|()| None),
    }
}

/// All parameters, without the scheduler or the arbiters. `seed`: of the experiment.
pub(crate) fn parameters(
    raw: &RawFabric,
    d: &FabricDefaults,
    topology: &Topology,
    seed: u64,
) -> Result<Parameters, ConfigError> {
    let mut p = d.parameters.clone();
    replace(&mut p.flit_bytes, raw.flit.map(|b| b.0));
    replace(&mut p.header_bytes, raw.header.map(|b| b.0));
    replace(&mut p.credit_bytes, raw.credit.map(|b| b.0));
    replace(&mut p.link, raw.link_latency);
    replace(&mut p.host_link, raw.host_link_latency);
    replace(&mut p.stages.input, raw.input_latency);
    replace(&mut p.stages.routing, raw.routing_latency);
    replace(&mut p.stages.allocation, raw.allocation_latency);
    replace(&mut p.stages.crossbar, raw.crossbar_latency);
    replace(&mut p.stages.output, raw.output_latency);
    replace(&mut p.buffers.input, raw.input_buffer.map(|b| b.0));
    replace(&mut p.buffers.output, raw.output_buffer.map(|b| b.0));
    replace(&mut p.buffers.nic_queue, raw.nic_queue.map(|b| b.0));
    replace(&mut p.buffers.nic_sink, raw.nic_sink.map(|b| b.0));
    resolve(&raw.kind, &mut p.switch, topology, seed)?;
    Ok(p)
}

/// Refuses the first key that nothing uses.
pub(crate) fn unused(raw: &RawFabric, topology: &Topology) -> Result<(), ConfigError> {
    if raw.ring_tie.is_some() && !topology.family().has_rings() {
        return refused("fabric.ring_tie", "only a torus has rings; remove it");
    }
    if raw.trunk_selection.is_some() && !topology.shape().info().trunks {
        let problem = format!("only a {} has trunks; remove it", kinds_with_trunks());
        return refused("fabric.trunk_selection", problem);
    }
    if raw.forwarding.is_some()
        && let Some(key) = given!(raw, routing, ring_tie, trunk_selection).next()
    {
        let problem = "the forwarding tables (fabric.forwarding) name every port and win; \
                       remove one of the two";
        return refused(format!("fabric.{key}"), problem);
    }
    let is_computed = raw.routing.is_some_and(RoutingName::is_computed);
    if is_computed && let Some(key) = given!(raw, ring_tie, trunk_selection).next() {
        let problem =
            "this routing (fabric.routing) names every port and wins; remove one of the two";
        return refused(format!("fabric.{key}"), problem);
    }
    match ignored(raw)? {
        Some((key, problem)) => refused(key, problem),
        None => Ok(()),
    }
}
