//! The order of jobs: `after` of a job, and `[schedule]`, which runs the applications of an experiment as a batch system ran its
//! jobs.

use crate::config::document::{ConfigError, read_at_most, refused};
use crate::config::import::wrong;
use crate::config::job::Job;
use crate::config::job::keys::RawJob;
use crate::config::job::placement::Placement;
use crate::fabric::ids::NicId;
use crate::random::{Purpose, Stream};
use crate::replay::Repeat;
use crate::units::Ratio;
use flitwise_base::quote::quoted;
use flitwise_base::units::{PS_PER_S, counted};
use flitwise_formats::limits::MAX_TASKS;
use flitwise_formats::schedule::{Ran, read as read_jobs};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeSet, HashSet};
use std::iter::repeat_n;
use std::path::Path;

const FILE: &str = "schedule.file";
/// Most bytes of the file: logs of years have some tens of megabytes.
const MAX_FILE: u64 = 1 << 30;

/// The jobs of a batch system, each of which runs one of the `[[job]]` entries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSchedule {
    /// File in the Standard Workload Format (SWF), or the output of `sacct --parsable2`.
    ///
    /// sacct needs the columns JobID, Submit, Start, End and NNodes or NCPUS, and should have JobName. Jobs that never ran
    /// and steps of jobs are left out.
    pub file: String,
    /// Factor on the times of the file: with `"1/1000"` a second becomes a millisecond.
    ///
    /// The earliest job starts at 0.
    #[schemars(extend("default" = 1))]
    pub time_scale: Option<Ratio>,
    /// Earliest start of a job: as `"recorded"`, or when it was `"submitted"`.
    ///
    /// A job also waits until the jobs before it on its NICs have ended.
    #[schemars(extend("default" = "recorded"))]
    pub start: Option<RawStart>,
    /// NICs of a job among those that are free: the `"linear"` lowest, or `"random"`.
    ///
    /// NICs count as free by the recorded times. Where too few are free, the job takes those that become free first.
    #[schemars(extend("default" = "linear"))]
    pub placement: Option<RawChoice>,
    /// Recorded processors that take a NIC.
    #[schemars(extend("x-default" = "1; where the file has numbers of nodes, a NIC per node"))]
    pub processors_per_nic: Option<u32>,
    /// Jobs left out at the beginning, in the order of their starts.
    #[schemars(extend("default" = 0))]
    pub skip: Option<usize>,
    /// Most jobs that are run.
    #[schemars(extend("x-default" = "all"))]
    pub jobs: Option<usize>,
    /// Which jobs run which entry; needed where there are several.
    ///
    /// A job takes the application of its program, else one without `program`; among these, the one with the most
    /// `processors` that the job has.
    #[serde(default)]
    pub application: Vec<RawApplication>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawApplication {
    /// Name of the `[[job]]`.
    pub job: String,
    /// Number of the executable in SWF, or JobName of sacct.
    #[schemars(extend("x-default" = "any"))]
    pub program: Option<String>,
    /// Fewest recorded processors.
    #[schemars(extend("default" = 1))]
    pub processors: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawStart {
    /// The start in the file.
    Recorded,
    /// The submission in the file.
    Submitted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawChoice {
    /// The lowest free NICs.
    Linear,
    /// Free NICs, drawn from the seed of the experiment.
    Random,
}

/// The jobs of `schedule`, in the order of their recorded starts, and a remark on jobs that it leaves out. `raw`: the keys
/// of the `entries`. `nics`: of the fabric.
pub(crate) fn jobs(
    schedule: &RawSchedule,
    raw: &[RawJob],
    entries: &[Job],
    nics: u32,
    seed: u64,
    dir: &Path,
) -> Result<(Vec<Job>, Option<String>), ConfigError> {
    check(raw, schedule, entries)?;
    let (ran, remark) = recorded(schedule, dir)?;
    let begins_s = |job: &Ran| match schedule.start.unwrap_or(RawStart::Recorded) {
        RawStart::Recorded => job.started_s,
        RawStart::Submitted => job.submitted_s,
    };
    let first_s = ran.iter().map(begins_s).min().unwrap_or(0);
    let mut pool = NicPool::new(nics, schedule.placement, seed);
    let mut jobs: Vec<Job> = Vec::with_capacity(ran.len());
    let mut names = HashSet::with_capacity(ran.len());
    for one in &ran {
        let in_file = |problem: String| {
            let (id, file) = (quoted(&one.id), dir.join(&schedule.file));
            let problem = format!("job {id} ({}:{}) {problem}", file.display(), one.line);
            ConfigError::new(FILE, problem)
        };
        let entry = application(schedule, entries, one).map_err(in_file)?;
        let name = format!("{}-{}", entry.name, one.id);
        if !names.insert(name.clone()) {
            return Err(in_file("is there twice; leave one out".to_owned()));
        }
        let taken = pool.take(needed(schedule, one), entry.hosts.as_deref(), one);
        let Taken { nics, after } = taken.map_err(in_file)?;
        let Some(start_ps) = scaled_ps(begins_s(one) - first_s, schedule.time_scale) else {
            let problem = "makes times that are too long; make it less";
            return refused("schedule.time_scale", problem);
        };
        let after = after
            .into_iter()
            .map(|job| jobs[job].name.clone())
            .collect();
        let per_nic = entry.ranks_per_nic as usize;
        // No trace has more ranks.
        let slots = nics.iter().flat_map(|&nic| repeat_n(nic, per_nic));
        let slots = slots.take(MAX_TASKS as usize);
        jobs.push(Job {
            name,
            start_ps,
            after,
            placement: Placement::Hosts(slots.collect()),
            share_nics: true,
            scheduled: true,
            ..entry.clone()
        });
    }
    Ok((jobs, remark))
}

/// The jobs of the file that are to run, and a remark on those that never ran.
fn recorded(schedule: &RawSchedule, dir: &Path) -> Result<(Vec<Ran>, Option<String>), ConfigError> {
    let path = dir.join(&schedule.file);
    let text = read_at_most(
        &path,
        MAX_FILE,
        "cut the schedule to the jobs that are to run",
    );
    let text = text.map_err(|e| ConfigError::new(FILE, e.problem))?;
    let (mut ran, never_ran) = read_jobs(&text).map_err(|e| wrong(FILE, &path, e))?;
    let skipped = schedule.skip.unwrap_or(0).min(ran.len());
    ran.drain(..skipped);
    ran.truncate(schedule.jobs.unwrap_or(usize::MAX));
    if ran.is_empty() {
        let key = if skipped > 0 {
            "schedule.skip"
        } else {
            "schedule.jobs"
        };
        return refused(key, "leaves no job to run");
    }
    let remark = (never_ran > 0).then(|| {
        let jobs = counted(never_ran as u64, "job");
        format!("schedule.file: {jobs} that never ran, or whose times are unknown, left out")
    });
    Ok((ran, remark))
}

/// Checks the keys of the schedule, and that the entries have none for what it decides.
fn check(raw: &[RawJob], schedule: &RawSchedule, entries: &[Job]) -> Result<(), ConfigError> {
    for (i, job) in raw.iter().enumerate() {
        let decided = [
            ("start", job.start.is_some()),
            ("after", job.after.is_some()),
            ("placement", job.placement.is_some()),
            ("distribution", job.distribution.is_some()),
            ("share_nics", job.share_nics.is_some()),
            ("repeat", entries[i].repeat == Repeat::UntilOthersEnd),
        ];
        if let Some((key, _)) = decided.into_iter().find(|(_, given)| *given) {
            let problem = "is decided by [schedule], which runs this job; remove it";
            return refused(format!("job.{i}.{key}"), problem);
        }
    }
    if entries.is_empty() {
        let problem = "runs [[job]] entries, and there is none; add one";
        return refused("schedule", problem);
    }
    if schedule.processors_per_nic == Some(0) {
        return refused(
            "schedule.processors_per_nic",
            "is 0; at least 1 takes a NIC",
        );
    }
    if schedule.time_scale == Some(Ratio::ZERO) {
        return refused("schedule.time_scale", "is 0; all jobs would start at once");
    }
    if schedule.application.is_empty() && entries.len() > 1 {
        let problem = "does not say which of the jobs runs which; add [[schedule.application]] with job and program";
        return refused("schedule", problem);
    }
    for (i, application) in schedule.application.iter().enumerate() {
        if entries.iter().all(|entry| entry.name != application.job) {
            let problem = format!("there is no [[job]] {}", quoted(&application.job));
            return refused(format!("schedule.application.{i}.job"), problem);
        }
    }
    Ok(())
}

/// The entry that a job runs.
fn application<'a>(
    schedule: &RawSchedule,
    entries: &'a [Job],
    job: &Ran,
) -> Result<&'a Job, String> {
    let known = schedule.application.iter().filter(|application| {
        let program = application.program.as_ref();
        program.is_none_or(|program| job.program.as_ref() == Some(program))
            && application.processors.unwrap_or(1) <= job.processors
    });
    let best = known.max_by_key(|one| (one.program.is_some(), one.processors.unwrap_or(1)));
    let found = match best {
        None if schedule.application.is_empty() => entries.first(),
        None => None,
        Some(best) => entries.iter().find(|entry| entry.name == best.job),
    };
    found.ok_or_else(|| {
        let program = match &job.program {
            Some(program) => format!("program {}", quoted(program)),
            None => "no program".to_owned(),
        };
        format!(
            "has {program} and {} processors, and no [[schedule.application]] is for it; add one",
            job.processors
        )
    })
}

/// NICs that a job needs.
fn needed(schedule: &RawSchedule, job: &Ran) -> u32 {
    match (schedule.processors_per_nic, job.nodes) {
        (Some(per_nic), _) => job.processors.div_ceil(per_nic.max(1)),
        (None, Some(nodes)) => nodes,
        (None, None) => job.processors,
    }
}

/// `seconds` times `scale` in picoseconds.
fn scaled_ps(seconds: u64, scale: Option<Ratio>) -> Option<u64> {
    let scale = scale.unwrap_or(Ratio::ONE);
    let ps = u128::from(seconds) * u128::from(PS_PER_S);
    let ps = ps.checked_mul(u128::from(scale.num()))? / u128::from(scale.den());
    u64::try_from(ps).ok()
}

/// The NICs of the fabric, by the recorded times.
struct NicPool {
    /// By NIC: the job that took it last, and the second in which all that took it have ended.
    last: Vec<Option<(usize, u64)>>,
    choice: RawChoice,
    seed: u64,
    jobs: usize,
}

/// The NICs of a job, and the jobs that had them before it.
struct Taken {
    nics: Vec<NicId>,
    after: BTreeSet<usize>,
}

impl NicPool {
    fn new(nics: u32, choice: Option<RawChoice>, seed: u64) -> Self {
        Self {
            last: vec![None; nics as usize],
            choice: choice.unwrap_or(RawChoice::Linear),
            seed,
            jobs: 0,
        }
    }

    /// Takes `count` NICs, of `hosts` where there are some, for the next `job`.
    fn take(&mut self, count: u32, hosts: Option<&[NicId]>, job: &Ran) -> Result<Taken, String> {
        let count = count as usize;
        let mut nics: Vec<NicId> = match hosts {
            Some(hosts) => hosts.to_vec(),
            None => (0..self.last.len() as u32).map(NicId::new).collect(),
        };
        if count > nics.len() {
            let may = if hosts.is_some() {
                "its vFabric"
            } else {
                "the fabric"
            };
            return Err(format!(
                "needs {count} NICs, and {may} has {}; raise schedule.processors_per_nic, or leave the job out",
                nics.len()
            ));
        }
        let free_at = |nic: &NicId| match self.last[nic.index()] {
            Some((_, end_s)) if end_s > job.started_s => end_s,
            _ => 0,
        };
        if self.choice == RawChoice::Random {
            let component = [self.jobs as u64, 1];
            Stream::new(self.seed, Purpose::Placement, component).shuffle(&mut nics);
        }
        nics.sort_by_key(free_at);
        nics.truncate(count);
        nics.sort_unstable();
        let before = nics.iter().filter_map(|nic| self.last[nic.index()]);
        let after = before.map(|(job, _)| job).collect();
        for nic in &nics {
            let last = &mut self.last[nic.index()];
            // A job that takes a busy NIC may end before the one that has it.
            let end_s = last.map_or(0, |(_, end_s)| end_s).max(job.ended_s);
            *last = Some((self.jobs, end_s));
        }
        self.jobs += 1;
        Ok(Taken { nics, after })
    }
}
