//! A topology in results: its parameters, from which its links follow, and its size.

use super::{FamilyParameters, Topology};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::ser::Serializer;
use std::borrow::Cow;

/// A topology in results: its parameters and its sizes.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TopologyForm {
    #[serde(flatten)]
    parameters: FamilyParameters,
    /// The number of NICs.
    nics: u32,
    /// The number of switches.
    switches: u32,
    /// Ports per switch, surplus ones included.
    radix: u32,
}

impl Topology {
    /// Its parameters, from which its links follow.
    #[must_use]
    pub fn parameters(&self) -> FamilyParameters {
        self.family().parameters(self)
    }
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        TopologyForm {
            parameters: self.parameters(),
            nics: self.nics(),
            switches: self.switches(),
            radix: self.radix(),
        }
        .serialize(s)
    }
}

impl JsonSchema for Topology {
    fn schema_name() -> Cow<'static, str> {
        "Topology".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TopologyForm::json_schema(generator)
    }
}
