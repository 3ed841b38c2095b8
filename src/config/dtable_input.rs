//! Reads the input of `flitwise qos dtable`: a file with a `[dtable]`, or the
//! `[qos]` of an experiment. Unlike in a run, a share may be outside its range.
//! `docs/reference/qos-dtable.md` describes every key.

use crate::config::document::{
    ConfigError, Document, Keys, Texts, check_name, error, read, refused,
};
use crate::config::fabric;
use crate::config::fabric::FabricDefaults;
use crate::config::keys::{DEFAULT_SEED, RawExperiment};
use crate::config::qos::implied::imply;
use crate::config::qos::keys::{RawQos, RawScheduler};
use crate::config::qos::{self, presets, scheduler};
use crate::config::resolve::with_sets;
use crate::fabric::qos::dtable_table::{DTableError, DTableParameters, DTableSl};
use crate::fabric::spec::ServiceLevel;
use crate::units::{Bytes, Ratio};
use flitwise_base::quote;
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

/// The inputs of the method, and the values that its tables print beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DTableInput {
    /// The kind of file that they are from.
    pub form: DTableForm,
    /// The inputs.
    pub parameters: DTableParameters,
    /// MTU of each service level in bytes, headers not included.
    pub mtu_bytes: Vec<u64>,
    /// The injection of each service level, in flits per cycle and NIC.
    pub injection: Vec<Ratio>,
}

/// The two kinds of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DTableForm {
    /// A `[dtable]` of its own.
    Specification,
    /// An experiment.
    Experiment,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(
    dead_code,
    reason = "the words about itself that any file may have say nothing here"
)]
struct RawSpecification {
    name: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
    dtable: RawTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    entries: Option<u32>,
    gmtu: Option<Bytes>,
    w: Option<u32>,
    k: Option<u32>,
    header: Option<Bytes>,
    #[serde(default)]
    service_levels: Vec<RawLevel>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevel {
    name: Option<String>,
    distance: Option<u32>,
    mtu: Option<Bytes>,
    share: Option<Ratio>,
    injection: Option<Ratio>,
}

impl Keys for RawSpecification {
    const PAGE: &'static str = "qos-dtable.md";
}

/// Reads a specification or an experiment and applies `--set a.b=c` texts in order.
///
/// # Errors
/// The first problem found, with its place and a cure. Whether a table can be built is
/// left to [`crate::fabric::qos::dtable_table::construct`].
pub fn load_dtable(path: &Path, sets: &[String]) -> Result<DTableInput, ConfigError> {
    dtable_text(&path.display().to_string(), &read(path)?, sets)
}

/// The inputs of QoS preset `name`.
///
/// # Errors
/// If there is no such preset, or it uses no DTable.
pub fn dtable_preset(name: &str, sets: &[String]) -> Result<DTableInput, ConfigError> {
    dtable_text("--preset", &format!("[qos]\npreset = {name:?}\n"), sets)
}

/// Like [`load_dtable`], from a text called `name` in messages.
///
/// # Errors
/// Like [`load_dtable`].
pub fn dtable_text(name: &str, text: &str, sets: &[String]) -> Result<DTableInput, ConfigError> {
    let mut texts = Texts::default();
    let main = texts.add(name, text);
    let sets = texts.add_sets(sets);
    let (mut document, implied) = with_sets(Document::parse(&texts, main)?, &sets)?;
    let input = if document.get("dtable").is_some() {
        specification(document.read()?)
    } else if document.get("qos").is_some() || document.get("fabric").is_some() {
        imply(&mut document, implied)?;
        experiment(&document.read()?)
    } else {
        refused(
            "dtable",
            "there is neither a [dtable] nor the [qos] of an experiment; docs/reference/qos-dtable.md \
             describes both",
        )
    };
    input.map_err(|e| document.locate(e))
}

fn experiment(raw: &RawExperiment) -> Result<DTableInput, ConfigError> {
    let defaults = fabric::defaults(&raw.fabric)?;
    let graph = raw.fabric.topology.as_ref().unwrap_or(&defaults.topology);
    let topology = graph.resolve(Path::new(""))?.0;
    let classes = topology.vl_classes();
    let seed = raw.seed.unwrap_or(DEFAULT_SEED);
    let header = fabric::parameters(&raw.fabric, &defaults, &topology, seed)?.header_bytes;
    let header = error::small(header, "fabric.header")?;
    let (parameters, levels) = dtable_of(&raw.qos, &defaults, classes, header)?;
    Ok(DTableInput {
        form: DTableForm::Experiment,
        mtu_bytes: levels.iter().map(|l| l.mtu_bytes.into()).collect(),
        injection: parameters.service_levels.iter().map(|l| l.share).collect(),
        parameters,
    })
}

/// The parameters of a DTable scheduler.
fn dtable_of(
    raw: &RawQos,
    fabric: &FabricDefaults,
    classes: u8,
    header: u32,
) -> Result<(DTableParameters, Vec<ServiceLevel>), ConfigError> {
    let defaults = presets::defaults(raw, classes)?;
    let scheduler = raw.scheduler.or(defaults.scheduler);
    if scheduler.unwrap_or(fabric.scheduler) != RawScheduler::DTable {
        return refused(
            "qos.scheduler",
            "is not \"dtable\", so there is no table to compute; add --set qos.scheduler=dtable",
        );
    }
    let raw_levels = raw
        .service_levels
        .as_ref()
        .unwrap_or(&defaults.service_levels);
    let levels = qos::service_levels(
        raw_levels,
        raw.mtu.map_or(fabric.parameters.mtu_bytes.into(), |b| b.0),
    )?;
    let parameters =
        scheduler::dtable_parameters(&raw.dtable, &defaults.dtable, raw_levels, &levels, header)?;
    Ok((parameters, levels))
}

fn specification(raw: RawSpecification) -> Result<DTableInput, ConfigError> {
    let raw = raw.dtable;
    let missing = |name: &str, example: &str| {
        let problem = format!("`{name}` is missing; add e.g. {name} = {example}");
        ConfigError::new("dtable", problem)
    };
    let entries = raw.entries.ok_or_else(|| missing("entries", "128"))?;
    let gmtu = raw.gmtu.ok_or_else(|| missing("gmtu", "\"1KiB\""))?;
    let w = raw.w.ok_or_else(|| missing("w", "8"))?;
    let k = raw.k.ok_or_else(|| missing("k", "2"))?;
    let header = raw.header.map_or(0, |b| b.0);
    let mut input = DTableInput {
        form: DTableForm::Specification,
        parameters: DTableParameters {
            entries,
            gmtu: scheduler::in_credits(gmtu.0, "dtable.gmtu")?,
            w,
            k,
            service_levels: Vec::new(),
        },
        mtu_bytes: Vec::new(),
        injection: Vec::new(),
    };
    for (i, level) in raw.service_levels.into_iter().enumerate() {
        let key = format!("dtable.service_levels.{i}");
        let missing = |name: &str, example: &str| {
            let problem = format!("`{name}` is missing; add e.g. {name} = {example}");
            ConfigError::new(key.clone(), problem)
        };
        let name = level.name.ok_or_else(|| missing("name", "\"VO\""))?;
        check_name(&name, || format!("{key}.name"))?;
        if input
            .parameters
            .service_levels
            .iter()
            .any(|l| l.name == name)
        {
            let problem = format!("two service levels are called {}", quote::quoted(&name));
            return refused(format!("{key}.name"), problem);
        }
        let distance = level.distance.ok_or_else(|| missing("distance", "8"))?;
        let mtu = level.mtu.ok_or_else(|| missing("mtu", "\"512B\""))?.0;
        let share = level.share.ok_or_else(|| missing("share", "0.3"))?;
        if mtu == 0 {
            let problem = "an MTU of 0 bytes carries nothing";
            return refused(format!("{key}.mtu"), problem);
        }
        input.mtu_bytes.push(mtu);
        input.injection.push(level.injection.unwrap_or(share));
        input.parameters.service_levels.push(DTableSl {
            name,
            distance,
            mtu: scheduler::in_credits(mtu.saturating_add(header), &format!("{key}.mtu"))?,
            share,
        });
    }
    Ok(input)
}

impl DTableInput {
    /// The key that is to blame for a table that cannot be built.
    #[must_use]
    pub fn key_of(&self, error: &DTableError) -> &'static str {
        match (self.form, error) {
            (DTableForm::Specification, DTableError::Parameter(_)) => "dtable",
            (DTableForm::Specification, _) => "dtable.service_levels",
            (DTableForm::Experiment, DTableError::Parameter(_)) => "qos.dtable",
            (DTableForm::Experiment, DTableError::Distances(_)) => "qos.dtable.distances",
            (DTableForm::Experiment, DTableError::Share(_)) => "qos.service_levels",
        }
    }

    /// The `--set` texts that turn these settings into `wanted`.
    #[must_use]
    pub fn settings(&self, wanted: &DTableParameters) -> Vec<String> {
        let (old, new) = (&self.parameters, wanted);
        let prefix = match self.form {
            DTableForm::Specification => "dtable",
            DTableForm::Experiment => "qos.dtable",
        };
        let mut out = Vec::new();
        for (name, old, new) in [("w", old.w, new.w), ("k", old.k, new.k)] {
            if old != new {
                out.push(format!("{prefix}.{name}={new}"));
            }
        }
        let levels = || old.service_levels.iter().zip(&new.service_levels);
        match self.form {
            DTableForm::Specification => {
                for (i, (old, new)) in levels().enumerate() {
                    if old.distance != new.distance {
                        out.push(format!(
                            "{prefix}.service_levels.{i}.distance={}",
                            new.distance
                        ));
                    }
                }
            }
            DTableForm::Experiment if levels().any(|(old, new)| old.distance != new.distance) => {
                let mut table = String::new();
                for (i, sl) in new.service_levels.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    // Writing to a String does not fail.
                    let _ = write!(table, "{comma}{} = {}", quoted(&sl.name), sl.distance);
                }
                out.push(format!("{prefix}.distances={{ {table} }}"));
            }
            DTableForm::Experiment => {}
        }
        out
    }
}

/// A TOML key, bare where that is possible.
fn quoted(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) {
        return name.to_owned();
    }
    toml::Value::String(name.to_owned()).to_string()
}
