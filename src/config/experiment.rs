//! A resolved experiment: everything a run needs, nothing left to defaults.

pub use crate::config::background::Background;
pub use crate::config::fabric::LinkSpeeds;
pub use crate::config::job::Job;
pub use crate::config::job::calls::{Calls, Compute, FormatKey, SendCompletion};
pub use crate::config::job::placement::{Part, Placement};
pub use crate::config::measure::Measure;
pub use crate::config::power::Power;
pub use crate::config::power::keys::PowerPolicy;
pub use crate::config::series::{Series, SeriesKind};

use crate::config::about::{About, shown_name};
use crate::config::document::ConfigError;
use crate::config::inputs::InputFile;
use crate::config::origin::{Origin, Written};
use crate::fabric::ids::NicId;
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::FabricSpec;
use crate::oblivious::Request;
use crate::replay::background::{NicQueueing, message_units};
use crate::replay::placement::{self, Distribution, FreeNics};
use crate::replay::{NodeSpec, Repeat};
use crate::units::Ratio;
use flitwise_base::quote::quoted;

/// One experiment as interpreted. A baseline is another one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: u64,
    /// The fabric, already validated; for a static analysis only as far as routes go.
    pub fabric: FabricSpec,
    /// The NICs of nodes, and the links inside them.
    pub node: NodeSpec,
    /// The order in which jobs and synthetic flows that share a queue of a NIC are served.
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
    /// Gaps between the messages of jobs are skipped, except for this number of picoseconds before each message.
    pub background_gap_skip_ps: Option<u64>,
    /// A run with a saturated flow ends if its jobs are expected to take this many times as long as on the unloaded
    /// fabric.
    pub saturated_limit: u32,
    /// How the synthetic flows are measured where there is no job.
    pub measure: Option<Measure>,
    /// The power of the parts of the fabric; `None`: energy is not counted.
    pub power: Option<Power>,
    /// The static analysis that takes the place of a simulation; then there is neither a job nor a flow.
    pub congestion: Option<Box<Request>>,
    /// Settings that do not do what their names promise, each with a cure.
    pub remarks: Vec<String>,
}

/// The runs that an experiment file asks for: the experiment, and what it is compared to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// Runs that slowdown is measured against; empty if switched off.
    pub baselines: Vec<Baseline>,
    /// Whether baselines of jobs that repeat until the others end are among them.
    pub endless_baselines: bool,
    /// Whether the jobs are also replayed on better networks, which tells where the time
    /// goes. Without a job nothing is.
    pub split: bool,
    /// Whether the runs with jobs explain why they take as long as they do. Each is then simulated twice.
    pub explain: bool,
    /// The file's words about itself. They are no part of the experiment, so changing them does not repeat a run.
    pub about: About,
    /// Time series to record: no part of the experiment, whose results do not depend on them.
    pub series: Option<Series>,
    /// The experiment as users write it, with all overrides.
    pub written: Written,
    /// The files that the experiment and its baselines name, as they were read; traces are not among them.
    pub files: Vec<InputFile>,
    /// The result that wrote the experiment's file, if one did.
    pub origin: Option<Origin>,
    /// Where the speeds of the links come from.
    pub speeds: LinkSpeeds,
    /// The source of the forwarding tables that decide in place of the routing, if tables are given.
    pub tables_from: Option<String>,
}

impl Plan {
    /// The experiment and the experiments of its baselines.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        let baselines = self.baselines.iter().map(|baseline| &baseline.experiment);
        std::iter::once(&self.experiment).chain(baselines)
    }

    /// Leaves out the baselines whose jobs all repeat until the others end.
    pub fn leave_out_endless_baselines(&mut self) {
        self.endless_baselines = false;
        let jobs = &self.experiment.jobs;
        let ends = |&(main, _): &(usize, usize)| jobs[main].repeat != Repeat::UntilOthersEnd;
        self.baselines
            .retain(|baseline| baseline.jobs.iter().any(ends));
    }

    /// Gives the experiment another name, as far as the file of an experiment can hold it.
    pub fn set_name(&mut self, name: &str) {
        let name = shown_name(name);
        self.written.set_name(&name);
        self.about.name = Some(name);
    }

    /// A plan that runs `experiment` and compares it with nothing.
    #[must_use]
    pub fn of(experiment: Experiment) -> Self {
        Self {
            experiment,
            baselines: Vec::new(),
            endless_baselines: true,
            split: false,
            explain: false,
            about: About::default(),
            series: None,
            written: Written::default(),
            files: Vec::new(),
            origin: None,
            speeds: LinkSpeeds::default(),
            tables_from: None,
        }
    }
}

/// One run that slowdown is measured against.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Baseline {
    /// The experiment that is run.
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
            let error = |problem: String| {
                if job.scheduled {
                    let problem = format!("job {}: {problem}", quoted(&job.name));
                    ConfigError::new("schedule", problem)
                } else {
                    ConfigError::new(format!("job.{}.placement", job.entry), problem)
                }
            };
            let mut allowed = if job.share_nics {
                all.clone()
            } else {
                free.clone()
            };
            if let Some(hosts) = &job.hosts {
                allowed = allowed.only(hosts);
            }
            let distribution = job.distribution.unwrap_or(match job.placement {
                Placement::RoundRobin(_) => Distribution::Cyclic,
                _ => Distribution::Block,
            });
            let nics = self
                .placement(i)
                .place(ranks, job.ranks_per_nic, distribution, &mut allowed)
                .map_err(|e| error(format!("{}: {}", quoted(&job.trace), job.unplaced(e))))?;
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
                parts: part.of_nics(topology, &self.node),
            },
            Placement::Random { part, seed } => placement::Placement::Random {
                seed: seed.unwrap_or(self.seed),
                job: job as u64,
                parts: part.of_nics(topology, &self.node),
            },
            Placement::List(nics) => placement::Placement::List(nics.clone()),
            Placement::Hosts(nics) => placement::Placement::First(nics.clone()),
            Placement::RankOrder(ranks) => placement::Placement::RankOrder(ranks.clone()),
        }
    }
}
