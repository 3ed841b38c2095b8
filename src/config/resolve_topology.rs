//! `[fabric]`: the graph, as written and resolved, and its routing.

use super::error::ConfigError;
use super::import::Imported;
use super::raw::{RawRingTie, RawTrunkSelection, RawUpPorts};
use super::raw_fabric::RawFabric;
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::spec::{RingTie, Routing, TrunkSelection, UpPorts};
use crate::fabric::topology::{Arrangement, DragonflySize, Topology};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;
use std::path::Path;

const KEY: &str = "fabric.topology";

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTopology {
    pub kind: TopologyKind,
    pub nics: Option<RawNics>,
    pub dimensions: Option<Vec<u32>>,
    pub concentration: Option<u32>,
    pub trunk: Option<u32>,
    pub k: Option<u32>,
    pub n: Option<u32>,
    pub hosts: Option<u32>,
    pub down: Option<Vec<u32>>,
    pub up: Option<Vec<u32>>,
    pub parallel: Option<Vec<u32>>,
    pub p: Option<u32>,
    pub a: Option<u32>,
    pub h: Option<u32>,
    pub groups: Option<u32>,
    pub arrangement: Option<RawArrangement>,
    pub switches: Option<u32>,
    pub links: Option<Vec<[u32; 4]>>,
    pub file: Option<String>,
}

impl RawTopology {
    /// A topology of which nothing but the kind is said.
    pub(super) fn of(kind: TopologyKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TopologyKind {
    #[default]
    Single,
    Torus,
    Mesh,
    KAryNTree,
    Xgft,
    Dragonfly,
    Graph,
    Ibnetdiscover,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawArrangement {
    PalmTree,
    Consecutive,
    Relative,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawRouting {
    Dor,
    Destro,
    DModK,
    Minimal,
    MinHop,
}

/// How many NICs there are, or the [switch, port] of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RawNics {
    Count(u32),
    At(Vec<[u32; 2]>),
}

impl<'de> Deserialize<'de> for RawNics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawNics;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of NICs, or [switch, port] of each: [[0, 0], [0, 1]]")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<RawNics, E> {
                let unfit = |_| E::invalid_value(Unexpected::Signed(value), &self);
                u32::try_from(value).map(RawNics::Count).map_err(unfit)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawNics, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(RawNics::At)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl TopologyKind {
    fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Torus => "torus",
            Self::Mesh => "mesh",
            Self::KAryNTree => "k-ary-n-tree",
            Self::Xgft => "xgft",
            Self::Dragonfly => "dragonfly",
            Self::Graph => "graph",
            Self::Ibnetdiscover => "ibnetdiscover",
        }
    }

    /// The keys it takes.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Single => &["nics"],
            Self::Torus | Self::Mesh => &["dimensions", "concentration", "trunk", "hosts"],
            Self::KAryNTree => &["k", "n", "hosts"],
            Self::Xgft => &["down", "up", "parallel", "hosts"],
            Self::Dragonfly => &["p", "a", "h", "groups", "arrangement", "hosts"],
            Self::Graph => &["switches", "links", "nics"],
            Self::Ibnetdiscover => &["file"],
        }
    }
}

fn need<T>(value: Option<T>, kind: &str, name: &str, example: &str) -> Result<T, ConfigError> {
    value.ok_or_else(|| ConfigError::new(KEY, format!("kind \"{kind}\" needs `{name}`{example}")))
}

/// Builds the graph, with what else its file says if it is described by one in `dir`.
pub(super) fn topology(
    t: &RawTopology,
    dir: &Path,
) -> Result<(Topology, Option<Imported>), ConfigError> {
    only_keys_of(t)?;
    if t.kind != TopologyKind::Ibnetdiscover {
        return Ok((built(t)?, None));
    }
    let file = need(t.file.as_ref(), t.kind.name(), "file", "")?;
    let imported = Imported::read(&dir.join(file))?;
    Ok((imported.topology.clone(), Some(imported)))
}

fn built(t: &RawTopology) -> Result<Topology, ConfigError> {
    let kind = t.kind.name();
    let count = |nics: &RawNics| match nics {
        RawNics::Count(count) => Ok(*count),
        RawNics::At(_) => Err(ConfigError::new(
            "fabric.topology.nics",
            format!("kind \"{kind}\" takes the number of NICs"),
        )),
    };
    let topology = match t.kind {
        TopologyKind::Single => Topology::single(count(need(t.nics.as_ref(), kind, "nics", "")?)?),
        TopologyKind::KAryNTree => {
            let (k, n) = (need(t.k, kind, "k", "")?, need(t.n, kind, "n", "")?);
            Topology::k_ary_n_tree(k, n, t.hosts)
        }
        TopologyKind::Torus | TopologyKind::Mesh => {
            let dimensions = need(t.dimensions.as_ref(), kind, "dimensions", ", e.g. [4, 4]")?;
            let (concentration, trunk) = (t.concentration.unwrap_or(1), t.trunk.unwrap_or(1));
            let wrap = t.kind == TopologyKind::Torus;
            Topology::cube(dimensions, wrap, concentration, trunk, t.hosts)
        }
        TopologyKind::Xgft => {
            let down = need(t.down.as_ref(), kind, "down", ", e.g. [18, 36]")?;
            let up = need(t.up.as_ref(), kind, "up", ", e.g. [1, 18]")?;
            let single = vec![1; down.len()];
            let parallel = t.parallel.as_ref().unwrap_or(&single);
            Topology::xgft(down, up, parallel, t.hosts)
        }
        TopologyKind::Dragonfly => {
            let size = DragonflySize {
                p: need(t.p, kind, "p", ", the NICs per switch")?,
                a: need(t.a, kind, "a", ", the switches per group")?,
                h: need(t.h, kind, "h", ", the global ports per switch")?,
                groups: t.groups,
            };
            let arrangement = match t.arrangement {
                None | Some(RawArrangement::PalmTree) => Arrangement::PalmTree,
                Some(RawArrangement::Consecutive) => Arrangement::Consecutive,
                Some(RawArrangement::Relative) => Arrangement::Relative,
            };
            Topology::dragonfly(size, arrangement, t.hosts)
        }
        TopologyKind::Graph | TopologyKind::Ibnetdiscover => {
            let switches = need(t.switches, kind, "switches", "")?;
            let nics = need(t.nics.as_ref(), kind, "nics", ", e.g. [[0, 0], [1, 0]]")?;
            let RawNics::At(nics) = nics else {
                return Err(ConfigError::new(
                    "fabric.topology.nics",
                    "kind \"graph\" takes [switch, port] of every NIC, as in [[0, 0], [1, 0]]",
                ));
            };
            let links = t.links.as_deref().unwrap_or_default();
            let end = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
            let links = links.iter().map(|&[a, p, b, q]| [end(a, p), end(b, q)]);
            let links: Vec<_> = links.collect();
            let nics: Vec<_> = nics.iter().map(|&[s, p]| end(s, p)).collect();
            Topology::graph(switches, &nics, &links)
        }
    };
    Ok(topology?)
}

fn only_keys_of(t: &RawTopology) -> Result<(), ConfigError> {
    let given = [
        ("nics", t.nics.is_some()),
        ("dimensions", t.dimensions.is_some()),
        ("concentration", t.concentration.is_some()),
        ("trunk", t.trunk.is_some()),
        ("k", t.k.is_some()),
        ("n", t.n.is_some()),
        ("hosts", t.hosts.is_some()),
        ("down", t.down.is_some()),
        ("up", t.up.is_some()),
        ("parallel", t.parallel.is_some()),
        ("p", t.p.is_some()),
        ("a", t.a.is_some()),
        ("h", t.h.is_some()),
        ("groups", t.groups.is_some()),
        ("arrangement", t.arrangement.is_some()),
        ("switches", t.switches.is_some()),
        ("links", t.links.is_some()),
        ("file", t.file.is_some()),
    ];
    let keys = t.kind.keys();
    let stray = given
        .iter()
        .find(|(name, given)| *given && !keys.contains(name));
    match stray {
        None => Ok(()),
        Some((name, _)) => Err(ConfigError::new(
            format!("{KEY}.{name}"),
            format!(
                "`{name}` means nothing for kind \"{}\", which takes {}",
                t.kind.name(),
                keys.join(", ")
            ),
        )),
    }
}

/// Checks the routing against the topology; returns its name.
pub(super) fn routing(
    raw: &RawFabric,
    kind: TopologyKind,
) -> Result<(&'static str, Routing), ConfigError> {
    use TopologyKind::{Dragonfly, Graph, Ibnetdiscover, KAryNTree, Mesh, Single, Torus, Xgft};
    let default = match kind {
        Torus | Mesh => RawRouting::Dor,
        Single | KAryNTree => RawRouting::Destro,
        Xgft => RawRouting::DModK,
        Dragonfly => RawRouting::Minimal,
        Graph | Ibnetdiscover => RawRouting::MinHop,
    };
    let routing = raw.routing.unwrap_or(default);
    let trees = matches!(routing, RawRouting::Destro | RawRouting::DModK);
    let problem = match kind {
        Torus | Mesh if trees => {
            Some("\"destro\" and \"d-mod-k\" route trees; a torus or mesh takes \"dor\"")
        }
        KAryNTree | Xgft if routing == RawRouting::Dor => Some(
            "\"dor\" routes tori and meshes; a tree takes \"destro\" (the same as \"d-mod-k\")",
        ),
        Dragonfly if routing != RawRouting::Minimal => {
            Some("a dragonfly takes \"minimal\"; remove the key")
        }
        Graph | Ibnetdiscover if routing != RawRouting::MinHop => {
            Some("a graph takes \"min-hop\", or forwarding tables (fabric.forwarding)")
        }
        Torus | Mesh | KAryNTree | Xgft if routing == RawRouting::MinHop => {
            Some("\"min-hop\" routes graphs; remove it, the topology has a routing of its own")
        }
        Torus | Mesh | KAryNTree | Xgft if routing == RawRouting::Minimal => {
            Some("\"minimal\" routes dragonflies; remove it, the topology has a routing of its own")
        }
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(ConfigError::new("fabric.routing", problem));
    }
    let name = match (kind, routing) {
        (Single, _) => "direct",
        (_, RawRouting::Dor) => "dor",
        (_, RawRouting::Destro) => "destro",
        (_, RawRouting::DModK) => "d-mod-k",
        (_, RawRouting::Minimal) => "minimal",
        (_, RawRouting::MinHop) => "min-hop",
    };
    let ring_tie = match raw.ring_tie {
        None | Some(RawRingTie::Positive) => RingTie::Positive,
        Some(RawRingTie::SourceParity) => RingTie::SourceParity,
    };
    let trunk = match raw.trunk_selection {
        None | Some(RawTrunkSelection::Destination) => TrunkSelection::Destination,
        Some(RawTrunkSelection::RoundRobin) => TrunkSelection::RoundRobin,
        Some(RawTrunkSelection::LeastQueued) => TrunkSelection::LeastQueued,
    };
    let up_ports = match raw.up_ports {
        None | Some(RawUpPorts::Destination) => UpPorts::Destination,
        Some(RawUpPorts::LeastQueued) if matches!(kind, KAryNTree | Xgft) => UpPorts::LeastQueued,
        Some(RawUpPorts::LeastQueued) => {
            let problem =
                "only trees (kinds \"k-ary-n-tree\" and \"xgft\") have up-ports; remove it";
            return Err(ConfigError::new("fabric.up_ports", problem));
        }
    };
    let routing = Routing {
        ring_tie,
        trunk,
        up_ports,
        forwarding: None,
    };
    Ok((name, routing))
}
