//! `placement` of a job: the parts of a fabric over which ranks are dealt out, as written in files and in results.

use crate::config::document::ConfigError;
use crate::config::document::{Forms, form_schemas, kinds_of, read_forms};
use crate::config::job::keys::RawJob;
use crate::config::job::launcher::{self, Sharing};
use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::topology::Topology;
use crate::replay::NodeSpec;
use schemars::{JsonSchema, json_schema};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use std::path::Path;

/// How the ranks of a job are placed on NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Ascending NICs, one filled after the other.
    Linear,
    /// A NIC of each switch or group in turn.
    RoundRobin(Part),
    /// Parts in random order; each is filled before the next.
    Random {
        /// The parts that are drawn.
        part: Part,
        /// Drawn from this seed and the index of the job; `None`: from the seed of the experiment.
        seed: Option<u64>,
    },
    /// NIC of each rank.
    List(Vec<NicId>),
    /// NICs of a host file, at least one for each rank: the first ones are taken.
    Hosts(Vec<NicId>),
    /// Ranks in the order in which they are put on ascending NICs.
    RankOrder(Vec<u32>),
}

/// A part of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A NIC, or all NICs of a node.
    Nic,
    /// All NICs of a switch.
    Switch,
    /// All NICs of a group: of a group of a dragonfly, of a subtree below the roots of a tree, of a plane or row
    /// in the last dimension of a torus or mesh.
    Group,
}

impl Part {
    /// The number of the part in which each NIC of `topology` is: the part of the first NIC of its node.
    pub(crate) fn of_nics(self, topology: &Topology, node: &NodeSpec) -> Vec<u32> {
        let part = |nic: NicId| {
            let first = NicId::new(node.of(nic) * node.nics);
            let switch = topology.attachment(first).switch;
            match self {
                Self::Nic => first.get(),
                Self::Switch => switch.get(),
                // A placement by groups is refused where there are none.
                Self::Group => topology.family().group(switch).unwrap_or(switch.get()),
            }
        };
        topology.nic_ids().map(part).collect()
    }

    /// Whether `topology` has such parts.
    pub(crate) fn exists(self, topology: &Topology) -> bool {
        let switch = topology.attachment(NicId::new(0)).switch;
        self != Self::Group || topology.family().group(switch).is_some()
    }
}

/// The placements without a list.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Name {
    /// On the lowest free NICs.
    Linear,
    /// On a NIC of each switch in turn.
    RoundRobin,
    /// On a NIC of each group in turn.
    RoundRobinGroups,
    /// On NICs in random order.
    Random,
    /// On switches in random order, each filled before the next.
    RandomSwitches,
    /// On groups in random order, each filled before the next.
    RandomGroups,
}

/// The placements with more than a name.
const TABLES: &[&str] = &[
    "list",
    "random",
    "random-switches",
    "random-groups",
    "file",
    "slurm",
];

/// The parts that a random placement of this name draws.
fn drawn(name: &str) -> Option<Part> {
    match name {
        "random" => Some(Part::Nic),
        "random-switches" => Some(Part::Switch),
        "random-groups" => Some(Part::Group),
        _ => None,
    }
}

/// Returns the placement of this name.
fn named(name: Name) -> Placement {
    let drawn = |part| Placement::Random { part, seed: None };
    match name {
        Name::Linear => Placement::Linear,
        Name::RoundRobin => Placement::RoundRobin(Part::Switch),
        Name::RoundRobinGroups => Placement::RoundRobin(Part::Group),
        Name::Random => drawn(Part::Nic),
        Name::RandomSwitches => drawn(Part::Switch),
        Name::RandomGroups => drawn(Part::Group),
    }
}

/// [`Placement`] in results: its name, or the name with its parameters, as in a file.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PlacementForm<'a> {
    Named(&'static str),
    With(PlacementParameters<'a>),
}

/// The parameters of a placement, of which each has one.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub(crate) struct PlacementParameters<'a> {
    /// The NICs of a list or rank file.
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<&'a [NicId]>,
    /// The seed of a random placement that has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    random: Option<u64>,
    /// The same, of one that draws switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_switches: Option<u64>,
    /// The same, of one that draws groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    random_groups: Option<u64>,
    /// The NICs of the slots of a host file or of Slurm's nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<&'a [NicId]>,
    /// The ranks of a rank order.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank_order: Option<&'a [u32]>,
}

pub(super) fn placement_json<S: Serializer>(
    placement: &Placement,
    s: S,
) -> Result<S::Ok, S::Error> {
    let mut with = PlacementParameters::default();
    let name = match placement {
        Placement::Linear => Some("linear"),
        Placement::RoundRobin(Part::Group) => Some("round-robin-groups"),
        Placement::RoundRobin(_) => Some("round-robin"),
        Placement::Random { part, seed } => {
            let (name, own) = match part {
                Part::Nic => ("random", &mut with.random),
                Part::Switch => ("random-switches", &mut with.random_switches),
                Part::Group => ("random-groups", &mut with.random_groups),
            };
            *own = *seed;
            seed.is_none().then_some(name)
        }
        Placement::List(nics) => {
            with.list = Some(nics);
            None
        }
        Placement::Hosts(nics) => {
            with.hosts = Some(nics);
            None
        }
        Placement::RankOrder(ranks) => {
            with.rank_order = Some(ranks);
            None
        }
    };
    let form = name.map_or(PlacementForm::With(with), PlacementForm::Named);
    form.serialize(s)
}

/// `placement` as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawPlacement {
    /// Without a list.
    Spread(Placement),
    List(Vec<RawPlace>),
    /// A file of a launcher.
    File(String),
    /// The nodes of a Slurm job, and their tasks.
    Slurm(RawSlurm),
}

/// Nodes as Slurm names them in the environment of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSlurm {
    /// As `SLURM_JOB_NODELIST` has them: `"node[001-016,020]"`.
    pub nodes: String,
    /// As `SLURM_TASKS_PER_NODE` has them: `"2(x3),1"`; by default `ranks_per_node` for each.
    pub tasks: Option<String>,
}

/// The placement that `job` asks for. `hosts`: the NICs that its vFabric leaves it.
pub(super) fn resolve(
    job: &RawJob,
    hosts: Option<&[NicId]>,
    (topology, sharing): (&Topology, Sharing),
    dir: &Path,
    key: &str,
) -> Result<Placement, ConfigError> {
    let refused = |problem: String| ConfigError::new(key, problem);
    let placement = match &job.placement {
        None => return Ok(Placement::Linear),
        Some(RawPlacement::Spread(spread)) => {
            let part = match spread {
                Placement::RoundRobin(part) | Placement::Random { part, .. } => *part,
                _ => Part::Nic,
            };
            if !part.exists(topology) {
                return Err(refused(
                    "this topology has no groups: trees of two levels or more, tori, meshes and \
                     dragonflies have; place by switches or list the NICs"
                        .into(),
                ));
            }
            return Ok(spread.clone());
        }
        Some(RawPlacement::List(list))
            if !list.is_empty()
                && (sharing.ranks_per_nic.is_some() || sharing.distribution.is_some()) =>
        {
            let problem = "a list places every rank itself; remove ranks_per_nic and distribution";
            return Err(refused(problem.into()));
        }
        Some(RawPlacement::List(list)) => {
            let nics = list.iter().map(|nic| nic.nic(topology));
            let nics = nics.collect::<Result<Vec<_>, _>>();
            Placement::List(nics.map_err(refused)?)
        }
        Some(RawPlacement::File(file)) => {
            launcher::read(&dir.join(file), topology, sharing).map_err(refused)?
        }
        Some(RawPlacement::Slurm(nodes)) => {
            launcher::slurm(nodes, topology, sharing).map_err(refused)?
        }
    };
    if let Placement::List(list) | Placement::Hosts(list) = &placement {
        check_list(list, hosts, topology).map_err(refused)?;
    }
    Ok(placement)
}

/// Refuses a list of the NICs of ranks with what is wrong in it.
fn check_list(list: &[NicId], hosts: Option<&[NicId]>, topology: &Topology) -> Result<(), String> {
    let nics = topology.nics();
    if list.is_empty() {
        return Err("the list is empty; list one NIC per rank".into());
    }
    for nic in list {
        if nic.get() >= nics {
            let last = nics - 1;
            return Err(format!(
                "NIC {nic} does not exist: the fabric has NICs 0 to {last}"
            ));
        }
        if hosts.is_some_and(|hosts| hosts.binary_search(nic).is_err()) {
            let nic = topology.nic_text(*nic);
            return Err(format!("{nic} is not one of the vFabric's hosts"));
        }
    }
    Ok(())
}

impl Forms for RawPlacement {
    const EXPECTED: &'static str = "";

    fn expected() -> String {
        let names = kinds_of::<Name>();
        let names: Vec<String> = names
            .iter()
            .map(|kind| format!("\"{}\"", kind.name))
            .collect();
        format!(
            "{}, {{ random = SEED }}, {{ list = [0, 1, ...] }}, \
             {{ file = HOST_FILE }} or {{ slurm = {{ nodes = \"node[1-4]\" }} }}",
            names.join(", ")
        )
    }

    fn text<E: Error>(text: &str) -> Result<Self, E> {
        Name::deserialize(text.into_deserializer()).map(|name| Self::Spread(named(name)))
    }

    fn table<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut placement = None;
        while let Some(key) = map.next_key::<String>()? {
            if placement.is_some() {
                let problem =
                    "give one of random, random-switches, random-groups, list, file and slurm";
                return Err(A::Error::custom(problem));
            }
            placement = Some(match key.as_str() {
                "list" => Self::List(map.next_value()?),
                "file" => Self::File(map.next_value()?),
                "slurm" => Self::Slurm(map.next_value()?),
                name => {
                    let part = drawn(name);
                    let part = part.ok_or_else(|| A::Error::unknown_field(name, TABLES))?;
                    let seed = Some(map.next_value()?);
                    Self::Spread(Placement::Random { part, seed })
                }
            });
        }
        placement.ok_or_else(|| A::Error::missing_field("list"))
    }

    fn list<'de, A: SeqAccess<'de>>(_: A) -> Result<Self, A::Error> {
        Err(A::Error::custom(
            "a list of NICs is written { list = [0, 1, ...] }",
        ))
    }
}

read_forms! { RawPlacement }

form_schemas! {
    RawPlacement: |generator| {
        let mut keys = Map::new();
        for &name in TABLES {
            let schema = match name {
                "list" => generator.subschema_for::<Vec<RawPlace>>(),
                "file" => generator.subschema_for::<String>(),
                "slurm" => generator.subschema_for::<RawSlurm>(),
                _ => generator.subschema_for::<u64>(),
            };
            keys.insert(name.to_owned(), schema.to_value());
        }
        json_schema!({ "anyOf": [
            generator.subschema_for::<Name>(),
            {
                "type": "object",
                "properties": keys,
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false,
            },
        ] })
    };
}
