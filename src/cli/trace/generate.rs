//! `flitwise trace generate`.

use super::output::{Output, Written, or_gone};
use crate::cli::error::CliError;
use clap::{Args, Subcommand, ValueEnum};
use flitwise::generate::{Form, GenerateError, Grid, Kernel, Spec};
use flitwise::units::{Bytes, Picoseconds, Ratio};
use flitwise_formats::vef::Version;
use std::path::PathBuf;

/// Kernels of `flitwise trace generate`.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Every rank sends to the next rank and waits for the previous one.
    #[command(after_help = "Example:\n  flitwise trace generate ring --ranks 64 -o ring.vef.gz")]
    Ring(Common),
    /// Every rank exchanges with its four neighbours.
    #[command(
        after_help = "Example:\n  flitwise trace generate halo2d --ranks 64 --grid 16x4 --open -o halo.vef.gz"
    )]
    Halo2d(HaloArgs),
    /// Every rank exchanges with its six neighbours.
    #[command(
        after_help = "Example:\n  flitwise trace generate halo3d --ranks 64 --size 64KiB -o halo.vef.gz"
    )]
    Halo3d(HaloArgs),
    /// Every rank sends to every other rank.
    #[command(
        after_help = "Example:\n  flitwise trace generate alltoall --ranks 64 --size 4KiB --as collective -o a2a.vef.gz"
    )]
    Alltoall(AlltoallArgs),
    /// Transposes within the rows, then within the columns of a grid.
    #[command(
        after_help = "Example:\n  flitwise trace generate fft --ranks 64 --grid 8x8 --compute 50us -o fft.vef.gz"
    )]
    Fft(FftArgs),
    /// Rank 0 sends tasks to free workers.
    #[command(
        after_help = "Example:\n  flitwise trace generate master-worker --ranks 16 --imbalance 0.5 -o farm.vef.gz"
    )]
    MasterWorker(Common),
    /// Panels travel along the rows of a grid, row blocks along its columns; both shrink.
    #[command(
        after_help = "Example:\n  flitwise trace generate hpl --ranks 64 --grid 8x8 --size 256KiB -o hpl.vef.gz"
    )]
    Hpl(HplArgs),
    /// Every rank sends small messages to random ranks.
    #[command(
        after_help = "Example:\n  flitwise trace generate random-access --ranks 64 --size 64B --messages 8 -o gups.vef.gz"
    )]
    RandomAccess(RandomAccessArgs),
    /// Every rank exchanges with both neighbours in rings of random order.
    #[command(
        after_help = "Example:\n  flitwise trace generate random-ring --ranks 13 --size 128KiB --window 8 --sync -o bw.vef.gz"
    )]
    RandomRing(RandomRingArgs),
    /// The ranks of each group reduce.
    #[command(
        after_help = "Example:\n  flitwise trace generate allreduce --ranks 64 --size 8B --groups 4 -o allreduce.vef.gz"
    )]
    Allreduce(AllreduceArgs),
    /// Every other rank sends to rank 0, which answers each message.
    #[command(
        after_help = "Example:\n  flitwise trace generate incast --ranks 16 --size 4KiB --window 8 -o incast.vef.gz"
    )]
    Incast(WindowArgs),
    /// Every other rank puts data to rank 0, which does nothing.
    #[command(
        after_help = "Example:\n  flitwise trace generate put-incast --ranks 16 --size 4KiB -o put.vef.gz\n\nIn the experiment, send_completion = \"rendezvous\" and eager_threshold = \"0B\" let a rank\nput again once its data has arrived; else all is handed to the NIC at once."
    )]
    PutIncast(Common),
    /// Every other rank gets data from rank 0.
    #[command(
        after_help = "Example:\n  flitwise trace generate get-bcast --ranks 16 --size 4KiB --window 8 -o get.vef.gz"
    )]
    GetBcast(WindowArgs),
    /// Pairs of ranks send a message to and fro.
    #[command(
        after_help = "Example:\n  flitwise trace generate ping-pong --ranks 2 --size 8B -o latency.vef.gz"
    )]
    PingPong(Common),
    /// Pairs of ranks: one sends many messages, the other answers the last.
    #[command(
        after_help = "Example:\n  flitwise trace generate bandwidth --ranks 2 --size 64KiB --window 64 -o bw.vef.gz"
    )]
    Bandwidth(BandwidthArgs),
}

/// Arguments of every kernel.
#[derive(Debug, Args)]
pub struct Common {
    /// Number of ranks.
    #[arg(long, value_name = "N")]
    ranks: u32,
    /// Size of a message.
    #[arg(long, value_name = "BYTES", default_value = "8KiB")]
    size: Bytes,
    /// Number of iterations.
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: u64,
    /// Computation of a rank per iteration, in whole nanoseconds [default: 10us; of random-ring and the kernels below it 0ns].
    #[arg(long, value_name = "TIME")]
    compute: Option<Picoseconds>,
    /// Multiplies the computation of each rank by a random factor from 1 - X to 1 + X, the same in all iterations.
    #[arg(long, value_name = "X", default_value = "0")]
    imbalance: Ratio,
    /// Seed of all draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// File to write: .gz is gzip, .zst zstd, everything else plain; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Prints the summary of the new trace as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of the halo exchanges.
#[derive(Debug, Args)]
pub struct HaloArgs {
    #[command(flatten)]
    common: Common,
    /// Ranks per dimension, for example 4x8 [default: as close to equal as possible].
    #[arg(long, value_name = "GRID")]
    grid: Option<Grid>,
    /// The grid has borders; else it wraps around.
    #[arg(long)]
    open: bool,
}

/// Arguments of the all-to-all.
#[derive(Debug, Args)]
pub struct AlltoallArgs {
    #[command(flatten)]
    common: Common,
    /// How the ranks exchange data.
    #[arg(long = "as", value_name = "FORM", default_value = "messages")]
    form: FormArg,
}

/// Arguments of the FFT.
#[derive(Debug, Args)]
pub struct FftArgs {
    #[command(flatten)]
    common: Common,
    /// Rows and columns, for example 4x8 [default: as close to equal as possible].
    #[arg(long, value_name = "GRID")]
    grid: Option<Grid>,
    /// How the ranks exchange data.
    #[arg(long = "as", value_name = "FORM", default_value = "collective")]
    form: FormArg,
}

/// Arguments of HPL.
#[derive(Debug, Args)]
pub struct HplArgs {
    #[command(flatten)]
    common: Common,
    /// Rows and columns, for example 4x8 [default: as close to equal as possible].
    #[arg(long, value_name = "GRID")]
    grid: Option<Grid>,
}

/// Arguments of the random access.
#[derive(Debug, Args)]
pub struct RandomAccessArgs {
    #[command(flatten)]
    common: Common,
    /// Messages of a rank per iteration.
    #[arg(long, value_name = "N", default_value_t = 8)]
    messages: u32,
}

/// Arguments of the random rings.
#[derive(Debug, Args)]
pub struct RandomRingArgs {
    #[command(flatten)]
    common: Common,
    /// Number of rings among which the iterations are divided.
    #[arg(long, value_name = "N", default_value_t = 1)]
    rings: u64,
    /// Messages to each neighbour per iteration.
    #[arg(long, value_name = "N", default_value_t = 1)]
    window: u32,
    /// A barrier ends each iteration.
    #[arg(long)]
    sync: bool,
}

/// Arguments of the all-reduce.
#[derive(Debug, Args)]
pub struct AllreduceArgs {
    #[command(flatten)]
    common: Common,
    /// Number of equal groups of consecutive ranks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    groups: u32,
    /// Reduces inside nodes of this many consecutive ranks, then among the first ranks of nodes.
    #[arg(long, value_name = "N", conflicts_with = "groups")]
    node: Option<u32>,
    /// Every rank of a node reduces a part with its counterparts, in place of the first rank all.
    #[arg(long, requires = "node")]
    by_rank: bool,
}

/// Arguments of kernels in which rank 0 answers.
#[derive(Debug, Args)]
pub struct WindowArgs {
    #[command(flatten)]
    common: Common,
    /// Messages of a rank that wait for their answer.
    #[arg(long, value_name = "N", default_value_t = 1)]
    window: u32,
}

/// Arguments of the bandwidth of pairs.
#[derive(Debug, Args)]
pub struct BandwidthArgs {
    #[command(flatten)]
    common: Common,
    /// Messages that one answer follows.
    #[arg(long, value_name = "N", default_value_t = 64)]
    window: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormArg {
    /// Point-to-point messages.
    Messages,
    /// The collective operation of the format; the replay chooses its algorithm.
    Collective,
}

impl FormArg {
    fn form(self) -> Form {
        match self {
            Self::Messages => Form::Messages,
            Self::Collective => Form::Collective,
        }
    }
}

/// The grid that was given, which must have `dimensions` dimensions, or a balanced one.
fn grid(given: Option<&Grid>, ranks: u32, dimensions: u32) -> Result<Grid, CliError> {
    match given {
        None => Ok(Grid::balanced(ranks, dimensions)),
        Some(grid) if grid.dimensions() == dimensions as usize => Ok(grid.clone()),
        Some(grid) => Err(CliError::BadInput(format!(
            "--grid {grid}: expected {dimensions} dimensions, such as {}",
            Grid::balanced(ranks, dimensions)
        ))),
    }
}

pub(super) fn run(command: &GenerateCommand) -> Result<(), CliError> {
    use GenerateCommand as G;
    let halo = |args: &HaloArgs, dimensions| {
        let grid = grid(args.grid.as_ref(), args.common.ranks, dimensions)?;
        let open = args.open;
        Ok(Kernel::Halo { grid, open })
    };
    let (args, kernel) = match command {
        G::Ring(args) => (args, Kernel::Ring),
        G::Halo2d(args) => (&args.common, halo(args, 2)?),
        G::Halo3d(args) => (&args.common, halo(args, 3)?),
        G::Alltoall(args) => (&args.common, Kernel::AllToAll(args.form.form())),
        G::Fft(args) => {
            let grid = grid(args.grid.as_ref(), args.common.ranks, 2)?;
            let form = args.form.form();
            (&args.common, Kernel::Fft { grid, form })
        }
        G::MasterWorker(args) => (args, Kernel::MasterWorker),
        G::Hpl(args) => {
            let grid = grid(args.grid.as_ref(), args.common.ranks, 2)?;
            (&args.common, Kernel::Hpl { grid })
        }
        G::RandomAccess(args) => {
            let messages = args.messages;
            (&args.common, Kernel::RandomAccess { messages })
        }
        G::RandomRing(args) => (&args.common, args.kernel()),
        G::Allreduce(args) => {
            let kernel = match args.node {
                None => Kernel::Allreduce {
                    groups: args.groups,
                },
                Some(node) => Kernel::Hierarchical {
                    node,
                    by_rank: args.by_rank,
                },
            };
            (&args.common, kernel)
        }
        G::Incast(args) => {
            let window = args.window;
            (&args.common, Kernel::Incast { window })
        }
        G::PutIncast(args) => (args, Kernel::PutIncast),
        G::GetBcast(args) => {
            let window = args.window;
            (&args.common, Kernel::GetBcast { window })
        }
        G::PingPong(args) => (args, Kernel::PingPong),
        G::Bandwidth(args) => {
            let window = args.window;
            (&args.common, Kernel::Bandwidth { window })
        }
    };
    generate(args, kernel)
}

impl RandomRingArgs {
    fn kernel(&self) -> Kernel {
        Kernel::RandomRing {
            rings: self.rings,
            window: self.window,
            sync: self.sync,
        }
    }
}

/// Computation of a rank per iteration of kernels that are no benchmarks, in picoseconds.
const COMPUTE: Picoseconds = Picoseconds(10_000_000);

fn generate(args: &Common, kernel: Kernel) -> Result<(), CliError> {
    let usual = if kernel.is_benchmark() {
        Picoseconds(0)
    } else {
        COMPUTE
    };
    let ps = args.compute.unwrap_or(usual).0;
    if !ps.is_multiple_of(1000) {
        return Err(CliError::BadInput(format!(
            "--compute: {ps} ps is no whole number of nanoseconds"
        )));
    }
    let spec = Spec {
        kernel,
        ranks: args.ranks,
        size: args.size.0,
        iterations: args.iterations,
        compute_ns: ps / 1000,
        imbalance: args.imbalance,
        seed: args.seed,
    };
    let output = Output::open(&args.output, args.json)?;
    let (counts, output) = match spec.write(output) {
        Ok(done) => done,
        Err(GenerateError::Write(e)) => return or_gone(Err(e), &args.output),
        Err(e) => return Err(CliError::BadInput(e.to_string())),
    };
    let written = Written::vef(Version::Vef3, 1000, args.ranks, counts);
    output.finish(&written, args.json)
}
