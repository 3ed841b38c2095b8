//! The experiment as interpreted.

use super::schema::inlined;
use crate::config::{self, ExperimentForm, experiment_json};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// An experiment as interpreted.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct InterpretedExperiment(Value);

impl From<&config::Experiment> for InterpretedExperiment {
    fn from(experiment: &config::Experiment) -> Self {
        Self(experiment_json(experiment))
    }
}

impl JsonSchema for InterpretedExperiment {
    fn schema_name() -> Cow<'static, str> {
        "Experiment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        inlined(settings, ExperimentForm::json_schema)
    }
}
