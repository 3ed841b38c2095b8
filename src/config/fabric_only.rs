//! Reads only `[fabric]` and `[qos]` of an experiment file, for the `fabric` commands.

use crate::config::document::{ConfigError, Document, Texts, read, refused};
use crate::config::fabric::tables::RawSl2Vl;
use crate::config::fabric::topology::RawTopology;
use crate::config::fabric::{LinkSpeeds, RawFabric};
use crate::config::keys::{DEFAULT_SEED, RawExperiment};
use crate::config::qos::implied::imply;
use crate::config::resolve::{fabric_of, with_sets};
use crate::config::{analysis, fabric, origin};
use crate::fabric::spec::FabricSpec;
use crate::oblivious::Request;
use flitwise_formats::source::shown;
use std::path::Path;
use toml::de::DeValue;

/// A fabric that can be analysed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FabricOnly {
    /// The fabric. On rings its VL classes may get in each other's way, which
    /// a run refuses (`FabricSpec::validate_but_datelines`).
    pub fabric: FabricSpec,
    /// Name of the routing algorithm.
    pub routing: &'static str,
    /// Where the speeds of the links come from.
    pub speeds: LinkSpeeds,
    /// Tables that decide in its place.
    pub tables: Tables,
    /// Seed of the experiment.
    pub seed: u64,
    /// The request for a static analysis, unless only the fabric was read.
    pub congestion: Option<Request>,
    /// Remarks on keys that a static analysis does not count.
    pub uncounted: Vec<String>,
}

/// The source of a fabric's tables: a file as written, or "the experiment".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tables {
    /// Forwarding tables; `None`: there are none.
    pub forwarding: Option<String>,
    /// SL-to-VL tables; `None`: there are none.
    pub sl2vl: Option<String>,
}

/// Reads the fabric of an experiment file and applies `--set a.b=c` texts in order;
/// without a file every key has its default. A file without a key is refused, unless `sets`
/// give the fabric. Jobs and background traffic may be missing and are not looked at beyond
/// the names of their keys.
///
/// # Errors
/// The first problem found, with its place and a cure.
pub fn load_fabric(path: Option<&Path>, sets: &[String]) -> Result<FabricOnly, ConfigError> {
    let text = path.map_or(Ok(String::new()), read)?;
    fabric_of_text(path, text, sets, Needed::Buffers)
}

/// How far a fabric has to be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needed {
    /// All but the datelines of rings.
    Buffers,
    /// Graph and routes: nothing will be in a buffer.
    Routes,
}

/// Like [`load_fabric`], but takes the content of `path`.
pub(crate) fn fabric_of_text(
    path: Option<&Path>,
    text: String,
    sets: &[String],
    needed: Needed,
) -> Result<FabricOnly, ConfigError> {
    let mut texts = Texts::default();
    let main = match path {
        Some(path) => texts.add(path.display().to_string(), text),
        None => texts.add("no experiment file", text),
    };
    let sets = texts.add_sets(sets);
    let written = Document::parse(&texts, main)?;
    let empty = path.filter(|_| written.root().is_empty());
    let (mut document, implied) = with_sets(written, &sets)?;
    if let (Some(path), None) = (empty, document.get("fabric")) {
        let problem = format!(
            "{}: the file has no key, so it describes no network; write its [fabric], or name no file for the default \
             fabric",
            shown(path).display()
        );
        return refused("", problem);
    }
    imply(&mut document, implied)?;
    let raw: RawExperiment = document.read()?;
    let resolve = || -> Result<FabricOnly, ConfigError> {
        let beside = path.and_then(Path::parent).unwrap_or(Path::new(""));
        let dir = &origin::directory(&document, beside)?;
        let (fabric, routing, _) = fabric_of(&raw, dir)?;
        if needed == Needed::Buffers {
            fabric.validate_but_datelines()?;
        }
        let tables = Tables {
            forwarding: forwarding_source(&raw.fabric, &fabric),
            sl2vl: raw.fabric.sl2vl.as_ref().map(RawSl2Vl::source),
        };
        let preset = document.get("fabric.preset").and_then(DeValue::as_str);
        let speeds = fabric::link_speeds(&raw.fabric, preset, &fabric, dir)?;
        let analysed = raw.congestion.as_ref().filter(|_| needed == Needed::Routes);
        let congestion = analysed.map(|raw| analysis::request(raw, dir));
        Ok(FabricOnly {
            uncounted: analysis::uncounted(&fabric, !raw.event.is_empty()),
            fabric,
            routing,
            speeds,
            tables,
            seed: raw.seed.unwrap_or(DEFAULT_SEED),
            congestion: congestion.transpose()?,
        })
    };
    resolve().map_err(|e| document.locate(e))
}

/// The source of the forwarding tables that are not computed.
fn forwarding_source(raw: &RawFabric, fabric: &FabricSpec) -> Option<String> {
    let tables = fabric.routing.forwarding.as_ref()?;
    match (&raw.forwarding, &raw.topology) {
        (Some(given), _) => Some(given.source()),
        (None, Some(RawTopology::Graph(graph))) if tables.engine.is_none() => graph.file.clone(),
        _ => None,
    }
}
