//! A resolved experiment: everything a run needs, nothing left to defaults.

pub use super::placement::{Part, Placement};
use super::{ConfigError, json};
use crate::fabric::ids::NicId;
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::oblivious::Request;
use crate::replay::Repeat;
use crate::replay::background::{Injection, NicQueueing, Pattern, message_units};
use crate::replay::collectives::Choices;
use crate::replay::placement::{self, FreeNics};
use crate::replay::trace::ComputeTime;
use crate::results::TableFormat;
use crate::units::Ratio;
use flitwise_formats::quote::quoted;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// One experiment as interpreted. A baseline is another one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: u64,
    /// The fabric, already validated; for a static analysis only as far as routes go.
    pub fabric: FabricSpec,
    /// In what order jobs and synthetic flows that share a queue of a NIC are served.
    pub nic_queueing: NicQueueing,
    /// Name of the routing algorithm, for the record: it follows from the topology.
    pub routing: &'static str,
    /// How the DTable table was made, if that is the scheduler.
    pub dtable: Option<DTableTable>,
    /// Applications, in the order of the file; the loader sees to it that at least one
    /// is enabled, or that there is none and something is measured.
    pub jobs: Vec<Job>,
    /// Synthetic flows.
    pub background: Vec<Background>,
    /// Gaps between the messages of jobs are skipped, but for so many picoseconds before each message.
    pub background_gap_skip_ps: Option<u64>,
    /// How the synthetic flows are measured where there is no job.
    pub measure: Option<Measure>,
    /// What the parts of the fabric draw; `None`: energy is not counted.
    pub power: Option<Power>,
    /// The static analysis that takes the place of a simulation; then there is neither a job nor a flow.
    pub congestion: Option<Box<Request>>,
}

/// What the parts of a fabric draw, in watts (`docs/energy.md`). It serialises, with the states of
/// links, as `experiment.power` in `docs/result.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Power {
    /// When links go down.
    pub policy: PowerPolicy,
    /// One direction of a link that is up.
    pub up_watts: f64,
    /// One direction of a link that is down.
    pub down_watts: f64,
    /// One direction of a link that goes up or down.
    pub transition_watts: f64,
    /// A switch without its links.
    pub switch_watts: f64,
    /// A NIC without its link.
    pub nic_watts: f64,
    /// Keys of `[power]` in the file that only another policy uses; a command that runs it tells of them.
    #[serde(skip)]
    pub unused_keys: Vec<&'static str>,
}

/// When links go down (`docs/link-power.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PowerPolicy {
    /// Never.
    AlwaysOn,
    /// When idle; they then carry nothing.
    OnOff,
    /// When idle; they then carry packets on a few lanes.
    HighLow,
}

impl PowerPolicy {
    /// Its name in experiments and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AlwaysOn => "always-on",
            Self::OnOff => "on-off",
            Self::HighLow => "high-low",
        }
    }
}

/// How the MPI calls of a job send. It serialises as `experiment.jobs[].calls` in `docs/result.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Calls {
    /// Largest message that is sent before its receive is known.
    pub eager_threshold_bytes: u64,
    /// Time that a rank is busy before each message that it sends.
    pub send_overhead_ps: u64,
    /// Time that a rank is busy after each message that a call received.
    pub receive_overhead_ps: u64,
}

/// How a job computes, besides its scale. It serialises into the entry of the job in `docs/result.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compute {
    /// The clock of a DUMPI trace; `None` for the first that is in it.
    #[serde(rename = "compute_time")]
    pub time: Option<ComputeTime>,
    /// Longest time before a poll of a DUMPI trace that is no computation, in picoseconds.
    pub poll_gap_ps: u64,
    /// Longest computation of a trace in picoseconds.
    #[serde(rename = "compute_cap_ps")]
    pub cap_ps: Option<u64>,
    /// Factors of the ranks; after the last one the first again. None: 1.
    #[serde(rename = "compute_factors")]
    pub factors: Vec<Ratio>,
    /// The part of itself by which a computation is longer or shorter at most.
    #[serde(rename = "compute_noise")]
    pub noise: Ratio,
}

/// One application. It serialises as an entry of `experiment.jobs` in `docs/result.md`, but for the
/// service level, which has a name there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Job {
    /// Unique name, by default the name of the trace.
    pub name: String,
    /// False: the job keeps its NICs but is not replayed (baselines do this, so
    /// that the placement of the others does not change).
    pub enabled: bool,
    /// Trace as written in the file; this is what is recorded.
    pub trace: String,
    /// Where the trace was found.
    // Not recorded: the same trace may lie elsewhere.
    #[serde(skip)]
    pub trace_path: PathBuf,
    /// Service level.
    pub sl: u8,
    /// vFabric that the job named.
    pub vfabric: Option<String>,
    /// NICs that the job may use, ascending; `None` means all.
    pub hosts: Option<Vec<NicId>>,
    /// How ranks are placed on NICs.
    pub placement: Placement,
    /// True if the job may be placed on NICs that earlier jobs have.
    pub share_nics: bool,
    /// Ranks per NIC.
    pub tasks_per_node: u32,
    /// Start of the job in picoseconds.
    pub start_ps: u64,
    /// How often the trace is run.
    #[serde(serialize_with = "json::repeat")]
    pub repeat: Repeat,
    /// When a send is done.
    #[serde(flatten, serialize_with = "json::send_completion")]
    pub send_completion: SendCompletion,
    /// How MPI calls send.
    pub calls: Calls,
    /// Multiplies every computation.
    pub compute_scale: Ratio,
    /// What else becomes of computations.
    #[serde(flatten)]
    pub compute: Compute,
    /// Calls of a DUMPI trace that can't be replayed are left out.
    pub skip_unsupported: bool,
    /// Flops per second of a rank in a TI trace.
    #[serde(rename = "host_speed_flops_per_s")]
    pub host_speed: Ratio,
    /// Latency of a message between ranks of one NIC, in picoseconds.
    pub intra_node_latency_ps: u64,
    /// Bandwidth of such messages in bytes per second.
    #[serde(rename = "intra_node_bandwidth_bytes_per_s")]
    pub intra_node_bandwidth: Ratio,
    /// Cost of a reduction in picoseconds per byte.
    pub reduction_cost_ps_per_byte: Ratio,
    /// Algorithms of collectives chosen by hand.
    #[serde(serialize_with = "json::collectives")]
    pub collectives: Choices,
    /// The keys given for the job that not every format of traces uses.
    #[serde(skip)]
    pub format_keys: Vec<FormatKey>,
}

/// A key of a job that concerns traces of some formats only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatKey {
    /// Its name.
    pub name: &'static str,
    /// The [names](crate::replay::trace::TraceFormat::name) of the formats that it concerns.
    pub formats: &'static [&'static str],
}

/// When a send is done for the sending rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendCompletion {
    /// When handed to the NIC.
    Handed,
    /// When the last flit has left the NIC.
    Injected,
    /// When delivered, for messages above `eager_threshold`; else when handed.
    Rendezvous {
        /// Largest eager message in bytes.
        eager_threshold: u64,
    },
}

/// A synthetic flow. It serialises as an entry of `experiment.background` in `docs/result.md`, but for
/// the service level, which has a name there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Background {
    /// Service level.
    pub sl: u8,
    /// Offered load in flits per cycle (the time of a flit on the fastest link) and sending NIC,
    /// at most 1; with 0 the flow sends nothing.
    #[serde(rename = "rate_flits_per_cycle_per_nic")]
    pub rate: Ratio,
    /// How it is spread over time.
    #[serde(serialize_with = "json::injection")]
    pub injection: Injection,
    /// Sizes of the messages in bytes, each with its weight among all.
    #[serde(rename = "messages", serialize_with = "json::sizes")]
    pub sizes: Vec<(u64, u64)>,
    /// Who sends to whom.
    #[serde(serialize_with = "json::pattern")]
    pub pattern: Pattern,
    /// Start in picoseconds.
    pub start_ps: u64,
    /// End of the creation of messages in picoseconds; `None`: never.
    pub stop_ps: Option<u64>,
}

/// A measurement of synthetic traffic: warm-up until the fabric is steady, then a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Measure {
    /// Factors on the rates of all flows, a run for each; at least one.
    pub loads: Vec<Ratio>,
    /// Least ticks before the window.
    #[serde(rename = "warm_up_ticks")]
    pub warm_up: Tick,
    /// Most ticks before the window, at least `warm_up`; if equal, nothing is detected.
    #[serde(rename = "max_warm_up_ticks")]
    pub max_warm_up: Tick,
    /// Ticks of a batch, at least 1.
    #[serde(rename = "batch_ticks")]
    pub batch: Tick,
    /// Batches that must agree, at least 2; together at most `warm_up`.
    pub batches: u32,
    /// How far apart batches that agree may be, relative to their mean.
    pub tolerance: Ratio,
    /// Ticks of the window, at least 1.
    #[serde(rename = "window_ticks")]
    pub window: Tick,
}

/// What an experiment file asks for: the experiment and what it is compared to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// Runs that slowdown is measured against; empty if switched off.
    pub baselines: Vec<Baseline>,
    /// True if the jobs are also replayed on an unloaded fabric and on an ideal network, which tells
    /// where the time goes. Without a job nothing is.
    pub split: bool,
    /// True if the runs with jobs say why they take as long as they do. Each is then simulated twice.
    pub explain: bool,
    /// What the file says about itself: no part of the experiment, so other words run nothing again.
    pub about: About,
    /// Time series to record: no part of the experiment, whose results do not depend on them.
    pub series: Option<Series>,
}

impl Plan {
    /// The experiment and those of its baselines.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        let baselines = self.baselines.iter().map(|baseline| &baseline.experiment);
        std::iter::once(&self.experiment).chain(baselines)
    }

    /// A plan that runs `experiment` and compares it with nothing.
    #[must_use]
    pub fn of(experiment: Experiment) -> Self {
        Self {
            experiment,
            baselines: Vec::new(),
            split: false,
            explain: false,
            about: About::default(),
            series: None,
        }
    }
}

/// What an experiment file says about itself, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct About {
    /// The name of the experiment, on one line.
    pub name: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Words to find it by, each once.
    pub tags: Vec<String>,
}

impl About {
    /// True if the file says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What time series are recorded, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Series {
    /// Ticks from one sample to the next, at least 1.
    pub interval: Tick,
    /// Which, at least one, in the order of [`SeriesKind::ALL`].
    pub record: Vec<SeriesKind>,
    /// In which files.
    pub format: TableFormat,
    /// True if the baselines are recorded as well.
    pub baselines: bool,
    /// Most lines of a figure; 0: no figures.
    pub figure_lines: u32,
}

/// A time series; the lists of a [`Sample`](crate::fabric::series::Sample).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// Payload delivered per queue pair.
    Flows,
    /// Flits waiting and packets marked per Port VL.
    PortVls,
    /// CCTI and injection rate delay per source.
    Sources,
    /// Power states of links.
    Power,
}

impl SeriesKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Flows, Self::PortVls, Self::Sources, Self::Power];

    /// The name in experiment files and of the files written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::PortVls => "port_vls",
            Self::Sources => "sources",
            Self::Power => "power",
        }
    }
}

/// One run that slowdown is measured against.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Baseline {
    /// What is run.
    pub experiment: Experiment,
    /// `(job of the main experiment, job of the baseline)` pairs compared.
    pub jobs: Vec<(usize, usize)>,
}

impl Experiment {
    /// The experiment with all background rates multiplied by `load`; `None` if one of them
    /// is then no fraction of 64-bit numbers.
    #[must_use]
    pub(crate) fn at_load(&self, load: Ratio) -> Option<Self> {
        let mut scaled = self.clone();
        for flow in &mut scaled.background {
            flow.rate = flow.rate.checked_mul(load)?;
        }
        Some(scaled)
    }

    /// Units of link time ([`FabricSpec::link_units`]) of the longest background message; 0 if no flow
    /// sends.
    pub(crate) fn longest_background_message(&self) -> u64 {
        let fabric = &self.fabric;
        let sending = self.background.iter().filter(|flow| !flow.rate.is_zero());
        let units = sending.flat_map(|flow| {
            let mtu = fabric.qos.service_levels[usize::from(flow.sl)].mtu_bytes;
            let units = move |&(bytes, _): &(u64, u64)| message_units(fabric, mtu, bytes);
            flow.sizes.iter().map(units)
        });
        units.max().unwrap_or(0)
    }

    /// Places all jobs, also those that are not enabled, once the traces have told their
    /// numbers of ranks (`ranks[i]` belongs to `jobs[i]`). Gives the NIC of every rank.
    ///
    /// # Errors
    /// The first job that does not fit, or that lists a NIC of an earlier one.
    pub fn place(&self, ranks: &[u32]) -> Result<Vec<Vec<NicId>>, ConfigError> {
        let all = FreeNics::all(self.fabric.topology.nics());
        let mut free = all.clone();
        let mut placed: Vec<Vec<NicId>> = Vec::with_capacity(self.jobs.len());
        for (i, (job, &ranks)) in self.jobs.iter().zip(ranks).enumerate() {
            let error = |problem: String| ConfigError::new(format!("job.{i}.placement"), problem);
            let mut allowed = if job.share_nics {
                all.clone()
            } else {
                free.clone()
            };
            if let Some(hosts) = &job.hosts {
                allowed = allowed.only(hosts);
            }
            let nics = self
                .placement(i)
                .place(ranks, job.tasks_per_node, &mut allowed)
                .map_err(|e| error(format!("{}: {e}", quoted(&job.trace))))?;
            let taken = nics.iter().find(|&&nic| !free.is_free(nic));
            if let Some(&nic) = taken.filter(|_| !job.share_nics) {
                let mut earlier = self.jobs.iter().zip(&placed);
                let other = earlier.find(|(_, nics)| nics.contains(&nic));
                return Err(error(format!(
                    "{} belongs to job {}; list other NICs, or set share_nics = true for this job",
                    self.fabric.topology.nic_text(nic),
                    quoted(other.map_or("", |(job, _)| job.name.as_str()))
                )));
            }
            free.take(&nics);
            placed.push(nics);
        }
        Ok(placed)
    }

    fn placement(&self, job: usize) -> placement::Placement {
        let topology = &self.fabric.topology;
        match &self.jobs[job].placement {
            Placement::Linear => placement::Placement::Linear,
            Placement::RoundRobin(part) => placement::Placement::RoundRobin {
                parts: part.of_nics(topology),
            },
            Placement::Random { part, seed } => placement::Placement::Random {
                seed: seed.unwrap_or(self.seed),
                job: job as u64,
                parts: part.of_nics(topology),
            },
            Placement::List(nics) => placement::Placement::List(nics.clone()),
            Placement::Hosts(nics) => placement::Placement::First(nics.clone()),
        }
    }
}
