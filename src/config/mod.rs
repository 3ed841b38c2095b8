//! The experiment file: TOML in, a fully resolved [`Plan`] out.
//!
//! `raw` holds the keys as written, [`experiment`] what they mean. `document` knows where each
//! value was written, for error messages. `docs/experiment.md` describes every key.

mod document;
mod dump_speeds;
mod error;
pub mod experiment;
mod fabric_only;
mod host_file;
mod ignored;
mod import;
mod json;
mod kinds;
mod misfit;
mod network_file;
mod placement;
mod presets;
mod presets_congestion;
mod raw;
mod raw_congestion;
mod raw_fabric;
mod raw_place;
mod raw_power;
mod raw_topology;
mod raw_traffic;
mod resolve;
mod resolve_about;
mod resolve_calls;
mod resolve_cct;
mod resolve_congestion;
mod resolve_dtable;
mod resolve_fabric;
mod resolve_failure;
mod resolve_jobs;
mod resolve_power;
mod resolve_qos;
mod resolve_request;
mod resolve_routing;
mod resolve_series;
mod resolve_tables;
mod resolve_topology;
mod resolve_traffic;
mod resolve_vls;
mod study;
mod study_file;
mod study_range;
mod switch;
mod tagged;
mod texts;

pub use error::{ConfigError, Location};
pub use experiment::{About, Baseline, Experiment, Plan};
pub use fabric_only::{FabricOnly, Tables, load_fabric};
pub(crate) use json::experiment_hash_with;
pub use json::{experiment_hash, experiment_json, fabric_json};
pub use network_file::{LoadedNetwork, NetworkSource, load_network, network_text};
pub use resolve::{load, read as read_text, resolve_text, resolve_with};
pub use resolve_dtable::{DTableForm, DTableInput, dtable_preset, dtable_text, load_dtable};
pub use resolve_series::series_lacks;
pub use study::{Axis, Base, Override, Setting, Study, UntilCi};
