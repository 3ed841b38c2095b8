//! The applications: recorded traces of the project, and generated kernels with more ranks.

use anyhow::{Context, Result};
use flitwise::generate::{Grid, Kernel, Spec};
use flitwise::units::Ratio;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// An application, by its name in the tables.
#[derive(Debug)]
pub struct Application {
    pub name: &'static str,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A file below `traces/`, without its extension.
    Recorded(&'static str),
    /// A kernel with 512 ranks, as many as in Hiperion.
    Generated {
        kernel: fn() -> Kernel,
        size: u64,
        iterations: u64,
    },
}

const RANKS: u32 = 512;

/// In the order of the tables.
pub const APPLICATIONS: [Application; 6] = [
    recorded("HPL", "hpl-16"),
    recorded("GROMACS", "gromacs_water-16"),
    recorded("LAMMPS", "lammps_melt-16"),
    recorded("RandomAccess", "randomaccess-16"),
    Application {
        name: "HPL-512",
        source: Source::Generated {
            kernel: || Kernel::Hpl {
                grid: Grid::balanced(RANKS, 2),
            },
            size: 8 << 10,
            iterations: 10,
        },
    },
    Application {
        name: "RandomAccess-512",
        source: Source::Generated {
            kernel: || Kernel::RandomAccess { messages: 8 },
            size: 64,
            iterations: 50,
        },
    },
];

const fn recorded(name: &'static str, file: &'static str) -> Application {
    let source = Source::Recorded(file);
    Application { name, source }
}

/// The applications of these names; the recorded ones if there are none.
pub fn select(names: &[String]) -> Result<Vec<&'static Application>> {
    if names.is_empty() {
        let recorded = |a: &&Application| matches!(a.source, Source::Recorded(_));
        return Ok(APPLICATIONS.iter().filter(recorded).collect());
    }
    let find = |name: &String| {
        let found = APPLICATIONS.iter().find(|a| a.name == name);
        found.with_context(|| {
            let names: Vec<&str> = APPLICATIONS.iter().map(|a| a.name).collect();
            format!("no application `{name}`; there are {}", names.join(", "))
        })
    };
    names.iter().map(find).collect()
}

impl Application {
    /// The file with its trace, written into `folder` if it is generated.
    pub fn trace(&self, folder: &Path) -> Result<PathBuf> {
        match &self.source {
            Source::Recorded(name) => {
                let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
                Ok(traces.join(format!("{name}.vef.gz")))
            }
            Source::Generated {
                kernel,
                size,
                iterations,
            } => {
                let path = folder.join(format!("{}.vef", self.name));
                let spec = Spec {
                    kernel: kernel(),
                    ranks: RANKS,
                    size: *size,
                    iterations: *iterations,
                    compute_ns: 0,
                    imbalance: Ratio::whole(0),
                    seed: 1,
                };
                spec.write(BufWriter::new(File::create(&path)?))?;
                Ok(path)
            }
        }
    }
}
