//! The experiment file: TOML in, a fully resolved [`Plan`] out.
//!
//! Each section of the file is a module: its keys as written, what they mean, and when nothing uses
//! them. [`experiment`] holds the result. `document` knows where each value was written, for error
//! messages. `docs/reference/experiment.md` describes every key.

mod about;
mod analysis;
mod background;
mod baseline;
mod congestion_control;
mod declared;
mod document;
mod dtable_input;
mod event;
pub mod experiment;
mod fabric;
mod fabric_only;
mod import;
mod inputs;
mod job;
mod json;
mod keys;
mod load;
mod measure;
mod network_file;
mod node;
mod origin;
mod place;
mod power;
mod qos;
mod resolve;
mod schedule;
pub(crate) mod schema;
mod series;
mod study;
mod written_key;

pub use about::About;
pub(crate) use document::Texts;
pub use document::error::{ConfigError, Location};
pub use document::read::{missing_file, read as read_text, unread};
pub use dtable_input::{DTableForm, DTableInput, dtable_preset, dtable_text, load_dtable};
pub use experiment::{Baseline, Experiment, LinkSpeeds, Plan};
pub use fabric_only::{FabricOnly, Tables, load_fabric};
pub use flitwise_base::near::nearest;
pub use inputs::{InputFile, noting};
pub(crate) use json::ExperimentForm;
pub(crate) use json::{Hasher, experiment_hash_with};
pub use json::{experiment_hash, experiment_json, fabric_json};
pub(crate) use load::{ParsedBase, resolve_parsed};
pub use load::{analysis_origin, load, resolve_text, resolve_with};
pub use network_file::{
    LoadedNetwork, NetworkSource, load_network, network_kind, network_lines, network_text,
};
pub use origin::{Origin, OriginFile, OriginTrace, Written};
pub use schema::{ExperimentKey, Word, experiment_keys, experiment_schema, study_file_schema};
pub use series::series_lacks;
pub use study::base::{Base, Override};
pub use study::{Axis, Setting, Study, UntilCi};
pub use written_key::{WrittenKey, written_key};
