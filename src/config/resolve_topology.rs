//! Resolves `[fabric.topology]` to a graph.

use super::error::ConfigError;
use super::import::Imported;
use super::raw_topology::{
    RawArrangement, RawCube, RawDiscovery, RawDragonfly, RawFatTree, RawGraph, RawKns, RawMegafly,
    RawNics, RawSingle, RawSlimFly, RawTopology, RawTree, RawXgft,
};
use crate::fabric::ids::{PortId, SwitchId, SwitchPort};
use crate::fabric::topology::{
    Arrangement, DragonflySize, FatTreeSize, KnsSize, MegaflySize, Topology,
};
use std::path::Path;

const KEY: &str = "fabric.topology";
const NICS_KEY: &str = "fabric.topology.nics";

fn need<T>(value: Option<T>, kind: &str, name: &str, example: &str) -> Result<T, ConfigError> {
    value.ok_or_else(|| ConfigError::new(KEY, format!("kind \"{kind}\" needs `{name}`{example}")))
}

impl RawTopology {
    /// Builds the graph. If a file in `dir` describes it, also returns what else the file says.
    pub(super) fn resolve(&self, dir: &Path) -> Result<(Topology, Option<Imported>), ConfigError> {
        let built = match self {
            Self::Single(raw) => raw.resolve(),
            Self::Torus(raw) => raw.resolve("torus", true),
            Self::Mesh(raw) => raw.resolve("mesh", false),
            Self::KAryNTree(raw) => raw.resolve(),
            Self::Xgft(raw) => raw.resolve(),
            Self::Dragonfly(raw) => raw.resolve(),
            Self::Hyperx(raw) => raw.resolve_hyperx(),
            Self::SlimFly(raw) => raw.resolve(),
            Self::Megafly(raw) => raw.resolve(),
            Self::FatTree(raw) => raw.resolve(),
            Self::Kns(raw) => raw.resolve(),
            Self::Graph(raw) => raw.resolve(),
            Self::Ibnetdiscover(raw) => {
                let imported = raw.resolve(dir)?;
                return Ok((imported.topology.clone(), Some(imported)));
            }
        };
        Ok((built?, None))
    }
}

impl RawSingle {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        match need(self.nics.as_ref(), "single", "nics", "")? {
            RawNics::Count(count) => Ok(Topology::single(*count)?),
            RawNics::At(_) => {
                let problem = "kind \"single\" takes the number of NICs";
                Err(ConfigError::new(NICS_KEY, problem))
            }
        }
    }
}

impl RawCube {
    /// A torus if links `wrap` around, else a mesh.
    fn resolve(&self, kind: &str, wrap: bool) -> Result<Topology, ConfigError> {
        let dimensions = need(
            self.dimensions.as_ref(),
            kind,
            "dimensions",
            ", e.g. [4, 4]",
        )?;
        let (concentration, trunk) = (self.concentration.unwrap_or(1), self.trunk.unwrap_or(1));
        Ok(Topology::cube(
            dimensions,
            wrap,
            concentration,
            trunk,
            self.hosts,
        )?)
    }

    fn resolve_hyperx(&self) -> Result<Topology, ConfigError> {
        let dimensions = self.dimensions.as_ref();
        let dimensions = need(dimensions, "hyperx", "dimensions", ", e.g. [4, 4]")?;
        let (concentration, trunk) = (self.concentration.unwrap_or(1), self.trunk.unwrap_or(1));
        Ok(Topology::hyperx(
            dimensions,
            concentration,
            trunk,
            self.hosts,
        )?)
    }
}

impl RawTree {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name| need(value, "k-ary-n-tree", name, "");
        let (k, n) = (need(self.k, "k")?, need(self.n, "n")?);
        Ok(Topology::k_ary_n_tree(k, n, self.hosts)?)
    }
}

impl RawXgft {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let down = need(self.down.as_ref(), "xgft", "down", ", e.g. [18, 36]")?;
        let up = need(self.up.as_ref(), "xgft", "up", ", e.g. [1, 18]")?;
        let single = vec![1; down.len()];
        let parallel = self.parallel.as_ref().unwrap_or(&single);
        Ok(Topology::xgft(down, up, parallel, self.hosts)?)
    }
}

impl RawDragonfly {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "dragonfly", name, meaning);
        let size = DragonflySize {
            p: need(self.p, "p", ", the NICs per switch")?,
            a: need(self.a, "a", ", the switches per group")?,
            h: need(self.h, "h", ", the global ports per switch")?,
            groups: self.groups,
        };
        let arrangement = RawArrangement::resolve(self.arrangement);
        Ok(Topology::dragonfly(size, arrangement, self.hosts)?)
    }
}

impl RawArrangement {
    fn resolve(raw: Option<Self>) -> Arrangement {
        match raw {
            None | Some(Self::PalmTree) => Arrangement::PalmTree,
            Some(Self::Consecutive) => Arrangement::Consecutive,
            Some(Self::Relative) => Arrangement::Relative,
        }
    }
}

impl RawMegafly {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "megafly", name, meaning);
        let size = MegaflySize {
            p: need(self.p, "p", ", the NICs per leaf switch")?,
            s: need(self.s, "s", ", the leaf and the spine switches per group")?,
            h: need(self.h, "h", ", the global ports per spine switch")?,
            groups: self.groups,
        };
        let arrangement = RawArrangement::resolve(self.arrangement);
        Ok(Topology::megafly(size, arrangement, self.hosts)?)
    }
}

impl RawSlimFly {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let q = need(self.q, "slim-fly", "q", ", a power of a prime")?;
        Ok(Topology::slim_fly(q, self.p, self.hosts)?)
    }
}

impl RawFatTree {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let need = |value, name, meaning| need(value, "fat-tree", name, meaning);
        let size = FatTreeSize {
            nodes: self.nodes,
            levels: need(self.levels, "levels", ", the levels of switches")?,
            radix: need(self.radix, "radix", ", the ports of a switch")?,
            oversubscription: self.oversubscription.unwrap_or(1),
        };
        Ok(Topology::fat_tree(size, self.hosts)?)
    }
}

impl RawKns {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let k = need(self.k, "kns", "k", ", the routers on a line")?;
        let n = need(self.n, "kns", "n", ", the dimensions")?;
        let size = KnsSize {
            k,
            n,
            s: self.s.unwrap_or(1),
            concentration: self.concentration.unwrap_or(1),
        };
        Ok(Topology::kns(size, self.hosts)?)
    }
}

impl RawGraph {
    fn resolve(&self) -> Result<Topology, ConfigError> {
        let switches = need(self.switches, "graph", "switches", "")?;
        let nics = need(
            self.nics.as_ref(),
            "graph",
            "nics",
            ", e.g. [[0, 0], [1, 0]]",
        )?;
        let RawNics::At(nics) = nics else {
            return Err(ConfigError::new(
                NICS_KEY,
                "kind \"graph\" takes [switch, port] of every NIC, as in [[0, 0], [1, 0]]",
            ));
        };
        let links = self.links.as_deref().unwrap_or_default();
        let end = |switch, port| SwitchPort::new(SwitchId::new(switch), PortId::new(port));
        let links = links.iter().map(|&[a, p, b, q]| [end(a, p), end(b, q)]);
        let links: Vec<_> = links.collect();
        let nics: Vec<_> = nics.iter().map(|&[s, p]| end(s, p)).collect();
        Ok(Topology::graph(switches, &nics, &links)?)
    }
}

impl RawDiscovery {
    /// Its file is looked for in `dir`.
    fn resolve(&self, dir: &Path) -> Result<Imported, ConfigError> {
        let file = need(self.file.as_ref(), "ibnetdiscover", "file", "")?;
        Imported::read(&dir.join(file))
    }
}
