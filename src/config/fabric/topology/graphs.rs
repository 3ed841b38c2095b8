//! A single switch, graphs that list their links or are in a file, and graphs that `ibnetdiscover` found.

use crate::config::document::{ConfigError, Forms, forms, given, read_forms, refused};
use crate::config::import::Imported;
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::topology::{Graph, Single, Topology};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Error, SeqAccess};
use std::path::Path;

const NICS_KEY: &str = "fabric.topology.nics";

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["nics"]))]
pub(crate) struct RawSingle {
    /// Number of NICs.
    #[schemars(with = "Option<u32>")]
    pub nics: Option<RawNics>,
}

impl RawSingle {
    pub(crate) fn resolve(&self) -> Result<Topology, ConfigError> {
        match &self.nics {
            None => Err(Single::INFO
                .missing("single", &[("nics", "number of NICs", true)])
                .into()),
            Some(RawNics::Count(count)) => Ok(Topology::single(*count)?),
            Some(RawNics::At(_)) => {
                let problem = "kind \"single\" takes the number of NICs";
                refused(NICS_KEY, problem)
            }
        }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["file"] }, { "required": ["switches", "nics"] }]))]
pub(crate) struct RawGraph {
    /// The graph in DOT, GraphML, node-link JSON or as a list of edges, plain or compressed.
    pub file: Option<String>,
    /// Number of switches.
    pub switches: Option<u32>,
    /// The [switch, port, switch, port] of each link.
    pub links: Option<Vec<[u32; 4]>>,
    /// The [switch, port] of each NIC.
    #[schemars(with = "Option<Vec<[u32; 2]>>")]
    pub nics: Option<RawNics>,
}

impl RawGraph {
    /// The graph; a file is looked for in `dir`.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<(Topology, Option<Imported>), ConfigError> {
        let Some(file) = &self.file else {
            return Ok((self.listed()?, None));
        };
        if let Some(key) = given!(self, switches, links, nics).next() {
            let problem =
                "the file (fabric.topology.file) has the whole graph; remove one of the two";
            return refused(format!("fabric.topology.{key}"), problem);
        }
        let imported = Imported::read_graph(&dir.join(file))?;
        Ok((imported.topology.clone(), Some(imported)))
    }

    /// The graph that the other keys list.
    fn listed(&self) -> Result<Topology, ConfigError> {
        let (Some(switches), Some(nics)) = (self.switches, &self.nics) else {
            let keys = [
                ("switches", "number of switches", self.switches.is_none()),
                ("nics", "switch and port of each NIC", self.nics.is_none()),
            ];
            return Err(Graph::INFO.missing("graph", &keys).into());
        };
        let RawNics::At(nics) = nics else {
            return refused(
                NICS_KEY,
                "kind \"graph\" takes [switch, port] of every NIC, as in [[0, 0], [1, 0]]",
            );
        };
        let links = self.links.as_deref().unwrap_or_default();
        let end = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
        let links = links.iter().map(|&[a, p, b, q]| [end(a, p), end(b, q)]);
        let links: Vec<_> = links.collect();
        let nics: Vec<_> = nics.iter().map(|&[s, p]| end(s, p)).collect();
        Ok(Topology::graph(switches, &nics, &links)?)
    }
}

/// A fabric that `ibnetdiscover` found.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["file"]))]
pub(crate) struct RawDiscovery {
    /// The output of `ibnetdiscover`, plain or compressed.
    pub file: Option<String>,
}

impl RawDiscovery {
    /// Its file is looked for in `dir`.
    pub(crate) fn resolve(&self, dir: &Path) -> Result<Imported, ConfigError> {
        let Some(file) = &self.file else {
            let keys = [("file", "the output of ibnetdiscover", true)];
            return Err(Graph::INFO.missing("ibnetdiscover", &keys).into());
        };
        Imported::read(&dir.join(file))
    }
}

/// How many NICs there are, or the [switch, port] of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawNics {
    Count(u32),
    At(Vec<[u32; 2]>),
}

impl Forms for RawNics {
    const EXPECTED: &'static str = "a number of NICs, or [switch, port] of each: [[0, 0], [0, 1]]";

    fn integer<E: Error>(value: i64) -> Result<Self, E> {
        forms::whole::<Self, _, _>(value).map(Self::Count)
    }

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        forms::elements(list).map(Self::At)
    }
}

read_forms! { RawNics }
