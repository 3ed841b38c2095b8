//! Resolves `[[vfabric]]` and `[[job]]`.

pub(super) mod calls;
pub(super) mod keys;
pub(super) mod launcher;
pub(super) mod network;
pub(super) mod placement;
mod trace;
pub(super) mod vfabric;

use crate::config::document::{ConfigError, check_name, refused};
use crate::config::job::calls::{Calls, Compute, FormatKey, SendCompletion};
use crate::config::job::keys::{RawJob, RawRepeat};
use crate::config::job::launcher::Sharing;
use crate::config::job::placement::Placement;
use crate::config::job::trace::{find_trace, stem};
use crate::config::job::vfabric::{RawVfabric, check_vfabrics, find_vfabric, sorted_hosts};
use crate::config::node::Node;
use crate::config::qos::service_level;
use crate::fabric::ids::NicId;
use crate::fabric::spec::{FabricSpec, Qos};
use crate::replay::Repeat;
use crate::replay::collectives::Choices;
use crate::replay::collectives::decide::{Allreduce, Bcast};
use crate::replay::placement::{Distribution, PlacementError};
use crate::units::Ratio;
use flitwise_base::quote::quoted;
use flitwise_base::units::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One application. It serialises as an entry of `experiment.jobs` in `docs/reference/result.md`, but for the
/// service level, which has a name there.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Job {
    /// Its entry in the file: `job.N`.
    #[serde(skip)]
    pub entry: usize,
    /// Whether a `[schedule]` starts it.
    #[serde(skip)]
    pub scheduled: bool,
    /// Unique name, by default the name of the trace.
    pub name: String,
    /// False: the job keeps its NICs but is not replayed (baselines do this, so
    /// that the placement of the others does not change).
    pub enabled: bool,
    /// The trace as written in the file; results record this text.
    pub trace: String,
    /// The path at which the trace was found.
    // Not recorded: the same trace may lie elsewhere.
    #[serde(skip)]
    pub trace_path: PathBuf,
    /// Service level.
    #[schemars(with = "String")]
    pub sl: u8,
    /// vFabric that the job named.
    pub vfabric: Option<String>,
    /// NICs that the job may use, ascending; `None` means all.
    pub hosts: Option<Vec<NicId>>,
    /// How ranks are placed on NICs.
    #[serde(serialize_with = "placement::placement_json")]
    #[schemars(with = "placement::PlacementForm<'_>")]
    pub placement: Placement,
    /// Whether the job may be placed on NICs that earlier jobs have.
    pub share_nics: bool,
    /// Ranks per NIC.
    #[serde(rename = "tasks_per_node")]
    #[schemars(extend("unit" = "ranks/NIC"))]
    pub ranks_per_nic: u32,
    /// Distribution of the ranks over these NICs; `None`: the usual one of the placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Earliest start of the job in picoseconds.
    pub start_ps: u64,
    /// Names of jobs above it that end before it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// How often the trace is run.
    #[serde(serialize_with = "calls::repeat_json")]
    #[schemars(with = "calls::RepeatForm")]
    pub repeat: Repeat,
    /// When a send is done.
    #[serde(flatten, serialize_with = "calls::send_completion_json")]
    #[schemars(with = "calls::SendForm")]
    pub send_completion: SendCompletion,
    /// How MPI calls send.
    pub calls: Calls,
    /// Multiplies computations outside of the regions that have a factor of their own.
    #[schemars(extend("unit" = "fraction"))]
    pub compute_scale: Ratio,
    /// The other changes of computations.
    #[serde(flatten)]
    pub compute: Compute,
    /// Calls of a DUMPI or OTF2 trace or a recording that can't be replayed are left out.
    pub skip_unsupported: bool,
    /// A DUMPI or OTF2 trace may be without communication.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_no_communication: bool,
    /// The kernels of a stream of a GPU in a Chakra trace come one after the other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub order_streams: bool,
    /// Most channels of a collective of a Chakra trace or of logs of NCCL Inspector.
    #[serde(skip_serializing_if = "calls::is_one")]
    pub channels: u32,
    /// Flops per second of a rank in a TI trace.
    #[serde(rename = "host_speed_flops_per_s")]
    #[schemars(extend("unit" = "flops/s"))]
    pub host_speed: Ratio,
    /// Latency of a message between ranks of one NIC, in picoseconds.
    pub intra_node_latency_ps: u64,
    /// Bandwidth of such messages in bytes per second.
    #[serde(rename = "intra_node_bandwidth_bytes_per_s")]
    #[schemars(extend("unit" = "B/s"))]
    pub intra_node_bandwidth: Ratio,
    /// Cost of a reduction in picoseconds per byte.
    #[schemars(extend("unit" = "ps/B"))]
    pub reduction_cost_ps_per_byte: Ratio,
    /// Algorithms of collectives chosen by hand.
    #[serde(serialize_with = "calls::collectives_json")]
    #[schemars(with = "calls::CollectivesForm")]
    pub collectives: Choices,
    /// The keys given for the job that not every format of traces uses.
    #[serde(skip)]
    pub format_keys: Vec<FormatKey>,
}

impl Job {
    /// The reason why the job has no place, and the cure.
    pub(super) fn unplaced(&self, error: PlacementError) -> String {
        match error {
            // A schedule has no hosts, but NICs by the recorded processors.
            PlacementError::Slots { slots, ranks } if self.scheduled => {
                let nics = slots as u32 / self.ranks_per_nic;
                let per_nic = ranks.div_ceil(nics.max(1));
                let (nics, entry) = (counted(nics.into(), "NIC"), self.entry);
                format!(
                    "{ranks} ranks at {} per NIC do not fit on the {nics} of its recorded processors; take \
                     job.{entry}.ranks_per_nic = {per_nic}, or a trace with fewer ranks",
                    self.ranks_per_nic
                )
            }
            error => error.to_string(),
        }
    }
}

/// The jobs of `raw`, with the algorithms of `collectives` where they choose none.
pub(crate) fn jobs(
    raw: &[RawJob],
    collectives: &Choices,
    around: &Around<'_>,
) -> Result<Vec<Job>, ConfigError> {
    let fabric = around.fabric;
    check_vfabrics(around.vfabrics, raw, &fabric.qos, &fabric.topology)?;
    if raw.is_empty() && *collectives != Choices::default() {
        return refused(
            "collectives",
            "there is no job with collectives; remove it or add a [[job]]",
        );
    }
    check_details(collectives, collectives, "collectives")?;
    let mut jobs: Vec<Job> = Vec::with_capacity(raw.len());
    for (i, one) in raw.iter().enumerate() {
        let name = name_of(i, one, &jobs)?;
        let key = format!("job.{i}.collectives");
        let collectives = one.collectives.or(collectives);
        check_details(&one.collectives, &collectives, &key)?;
        let mut job = around.job(i, name, one)?;
        job.collectives = collectives;
        // Of a trace that exists.
        check_name(&job.name, || format!("job.{i}.name"))?;
        check_after(i, one.after.as_deref(), &jobs)?;
        let same = jobs.iter().find(|other| other.trace == job.trace);
        if let Some(other) = same.filter(|other| other.trace_path != job.trace_path) {
            return refused(
                format!("job.{i}.trace"),
                format!(
                    "names `{}`, and the trace of that name in job {} is `{}`; write one of them with its whole path",
                    job.trace_path.display(),
                    quoted(&other.name),
                    other.trace_path.display()
                ),
            );
        }
        jobs.push(job);
    }
    Ok(jobs)
}

/// The name of job `i`, which no `earlier` one has.
fn name_of(i: usize, job: &RawJob, earlier: &[Job]) -> Result<String, ConfigError> {
    if job.trace.is_empty() {
        return refused(format!("job.{i}.trace"), "is empty; name a trace");
    }
    let name = job.name.clone().unwrap_or_else(|| stem(&job.trace));
    if name.is_empty() {
        return refused(
            format!("job.{i}.name"),
            "is empty; leave it out to take the name of the trace",
        );
    }
    if job.name.is_some() {
        check_name(&name, || format!("job.{i}.name"))?;
    }
    let is_taken = earlier.iter().any(|other| other.name == name);
    match (is_taken, &job.name) {
        (false, _) => Ok(name),
        (true, Some(_)) => refused(
            format!("job.{i}.name"),
            format!("two jobs are called {}", quoted(&name)),
        ),
        (true, None) => Ok(format!("{name}-{i}")),
    }
}

/// Checks the names of the jobs that end before job `i` starts, all of which are among the `earlier` ones.
fn check_after(i: usize, after: Option<&[String]>, earlier: &[Job]) -> Result<(), ConfigError> {
    if after.is_some_and(<[String]>::is_empty) {
        let problem = "is empty; name a job that ends before, or remove it";
        return refused(format!("job.{i}.after"), problem);
    }
    for (at, name) in after.unwrap_or_default().iter().enumerate() {
        let problem = match earlier.iter().find(|other| other.name == *name) {
            None => format!("there is no job {} above this one", quoted(name)),
            Some(other) if other.repeat == Repeat::UntilOthersEnd => {
                format!("job {} repeats until the others end", quoted(name))
            }
            Some(_) => continue,
        };
        return refused(
            format!("job.{i}.after.{at}"),
            format!("{problem}; name jobs above it that end"),
        );
    }
    Ok(())
}

/// The surroundings of the jobs.
pub(crate) struct Around<'a> {
    pub vfabrics: &'a [RawVfabric],
    pub fabric: &'a FabricSpec,
    pub node: &'a Node,
    /// The directory of the experiment file.
    pub dir: &'a Path,
}

impl Around<'_> {
    /// How the ranks of a job share NICs, as far as its keys say.
    fn sharing(&self, job: &RawJob, key: &str) -> Result<Sharing, ConfigError> {
        let nics = self.node.spec.nics;
        let per_nic = match job.ranks_per_node {
            None => job.ranks_per_nic,
            Some(_) if job.ranks_per_nic.is_some() => {
                return refused(key, "stands beside ranks_per_nic; remove one");
            }
            Some(ranks) if ranks % nics != 0 => {
                let problem = format!("is {ranks}, no multiple of the {nics} NICs of a node");
                return refused(key, problem);
            }
            Some(ranks) => Some(ranks / nics),
        };
        Ok(Sharing {
            ranks_per_nic: per_nic,
            places_per_nic: self.node.spec.places_per_nic,
            nics_per_node: nics,
            distribution: job.distribution,
        })
    }

    /// Job `i`, as yet without `collectives` of all jobs.
    fn job(&self, i: usize, name: String, job: &RawJob) -> Result<Job, ConfigError> {
        let Self { node, dir, .. } = *self;
        let topology = &self.fabric.topology;
        let key = |field: &str| format!("job.{i}.{field}");
        let (sl, hosts) = self.resources(&name, job, &key)?;
        let sharing = self.sharing(job, &key("ranks_per_node"))?;
        let ranks_per_nic = sharing.places();
        if ranks_per_nic == 0 {
            return refused(key("ranks_per_nic"), "is 0; at least 1 rank runs on a NIC");
        }
        let rate = job.intra_node_bandwidth.map_or(node.bandwidth, |r| r.0);
        if rate.is_zero() {
            return refused(
                key("intra_node_bandwidth"),
                "is 0; messages inside a node would never arrive",
            );
        }
        Ok(Job {
            entry: i,
            scheduled: false,
            enabled: job.enabled.unwrap_or(true),
            trace_path: find_trace(job, dir, &key("trace"))?,
            trace: job.trace.clone(),
            sl,
            vfabric: job.vfabric.clone(),
            placement: placement::resolve(
                job,
                hosts.as_deref(),
                (topology, sharing),
                dir,
                &key("placement"),
            )?,
            hosts,
            ranks_per_nic,
            distribution: job.distribution,
            share_nics: job.share_nics.unwrap_or(false),
            start_ps: job.start.map_or(0, |t| t.0),
            after: job.after.clone().unwrap_or_default(),
            repeat: match job.repeat {
                None => Repeat::Times(1),
                Some(RawRepeat::Times(times)) => Repeat::Times(times),
                Some(RawRepeat::UntilOthersEnd) => Repeat::UntilOthersEnd,
            },
            send_completion: calls::send_completion(job),
            calls: calls::calls(job),
            compute: calls::compute(job, &key)?,
            skip_unsupported: job.skip_unsupported.unwrap_or(false),
            allow_no_communication: job.allow_no_communication.unwrap_or(false),
            order_streams: job.order_streams.unwrap_or(false),
            channels: calls::channels(job, &key)?,
            compute_scale: calls::default_scale(job),
            host_speed: calls::host_speed(job, &key)?,
            intra_node_latency_ps: job.intra_node_latency.map_or(node.latency_ps, |t| t.0),
            intra_node_bandwidth: rate,
            reduction_cost_ps_per_byte: job.reduction_cost.map_or(Ratio::ZERO, |c| c.0),
            collectives: job.collectives,
            format_keys: calls::format_keys(job),
            name,
        })
    }

    /// The service level of a job, and the NICs that its vFabric leaves it.
    fn resources(
        &self,
        name: &str,
        job: &RawJob,
        key: &impl Fn(&str) -> String,
    ) -> Result<(u8, Option<Vec<NicId>>), ConfigError> {
        let vfabric = job.vfabric.as_ref();
        let vfabric = vfabric.map(|v| find_vfabric(v, name, self.vfabrics, &key("vfabric")));
        let vfabric = vfabric.transpose()?;
        let sl = level_of(job, vfabric, &self.fabric.qos, key)?;
        let hosts = vfabric.and_then(|v| v.hosts.as_deref());
        let hosts = hosts.map(|hosts| sorted_hosts(hosts, &self.fabric.topology));
        let hosts = hosts.transpose();
        let hosts = hosts.map_err(|problem| ConfigError::new(key("vfabric"), problem))?;
        Ok((sl, hosts))
    }
}

/// The service level of a job: as given, or by the traffic class of its vFabric.
fn level_of(
    job: &RawJob,
    vfabric: Option<&RawVfabric>,
    qos: &Qos,
    key: &impl Fn(&str) -> String,
) -> Result<u8, ConfigError> {
    if let (None, Some(v)) = (&job.sl, vfabric) {
        let mut levels = qos.service_levels.iter();
        let sl = levels.position(|level| level.traffic_class == v.tc);
        return sl.map(|sl| sl as u8).ok_or_else(|| {
            ConfigError::new(
                key("vfabric"),
                format!(
                    "no service level belongs to TC {} of {}",
                    v.tc,
                    quoted(&v.name)
                ),
            )
        });
    }
    let sl = service_level(job.sl.as_deref(), qos, &key("sl"))?;
    let tc = qos.service_levels[usize::from(sl)].traffic_class;
    match vfabric.filter(|v| v.tc != tc) {
        None => Ok(sl),
        Some(v) => refused(
            key("sl"),
            format!(
                "this SL belongs to TC {tc}, but vFabric {} to TC {}",
                quoted(&v.name),
                v.tc
            ),
        ),
    }
}

/// Refuses segments and parts in `said` that no algorithm of `meant` uses.
fn check_details(said: &Choices, meant: &Choices, key: &str) -> Result<(), ConfigError> {
    let trees = meant.allreduce == Some(Allreduce::DoubleTree);
    let parts = meant.allreduce == Some(Allreduce::Hierarchical);
    let (byte, member) = ("segment has at least 1 byte", "part has at least 1 member");
    let details = [
        (
            "chain_segment",
            said.segment(),
            byte,
            meant.bcast == Some(Bcast::Chain),
            "bcast = \"chain\"",
        ),
        (
            "tree_segment",
            said.tree_segment(),
            byte,
            trees,
            "allreduce = \"double-tree\"",
        ),
        (
            "part",
            said.part.map(u64::from),
            member,
            parts,
            "allreduce = \"hierarchical\"",
        ),
    ];
    let in_network = meant.in_network();
    let network = network::details(said).map(|(name, value, least)| {
        (
            name,
            value,
            least,
            in_network,
            "an \"in-network\" operation",
        )
    });
    for (name, value, least, is_used, with) in details.into_iter().chain(network) {
        let problem = match value {
            Some(0) => format!("is 0; a {least}"),
            Some(_) if !is_used => format!("is used only with {with}"),
            _ => continue,
        };
        return refused(format!("{key}.{name}"), problem);
    }
    Ok(())
}
