//! `--engine slurm`: the tasks of a study as job arrays of a Slurm cluster (`docs/reference/cluster.md`).
//!
//! `rounds` keeps the submitted arrays on disk, `pack` divides tasks among the elements of an array, `client` calls
//! Slurm's commands. Only its record decides whether a task is done.

mod client;
mod pack;
mod rounds;

use super::super::console::tell;
use super::super::error::CliError;
use super::super::signal;
use anyhow::anyhow;
use clap::Args;
use client::{Client, Submission};
use flitwise::run::{RunError, Session, TaskId};
use flitwise::study::{Engine, Prepared, StudyProgress, StudySnapshot, StudyTask, distinct_tasks};
use hashbrown::{HashMap, HashSet};
use pack::elements;
use rounds::Rounds;
use std::path::Path;
use std::time::Duration;

/// How often a task is submitted if its array elements end without a record.
const TRIES: u32 = 3;
/// Elements of an array, unless an option sets another number.
const USUAL_ELEMENTS: usize = 256;
/// Time between two queries of the queue: at first, and at most.
const POLL: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];
/// The number of queries in which an element must be missing from the queue before its tasks count as lost: a record
/// that was written on another node may appear later here.
const LOOKS: u32 = 3;

/// The resources that the elements request from a cluster.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Slurm")]
pub(in crate::cli) struct SlurmArgs {
    /// Partition [default: the cluster's].
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Time limit of an element, as for sbatch: 30, 2:00:00 [default: the partition's].
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Memory of an element, as for sbatch: 4G [default: the cluster's].
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Processors of an element, which simulates as many tasks at a time [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cpus: Option<u16>,
    /// Tasks of an element, one after the other [default: enough for at most 256 elements, or for the cluster's
    /// MaxArraySize].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tasks_per_element: Option<u32>,
    /// Elements that run at a time [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_elements: Option<u32>,
    /// Another option for sbatch, such as --sbatch=--account=physics; may be given several times.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Seconds between checks of the queue [default: 1, growing to 15].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    poll: Option<Duration>,
}

impl SlurmArgs {
    /// The first given option that is only for a cluster.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--partition", self.partition.is_some()),
            ("--time", self.time.is_some()),
            ("--memory", self.memory.is_some()),
            ("--cpus", self.cpus.is_some()),
            ("--tasks-per-element", self.tasks_per_element.is_some()),
            ("--max-elements", self.max_elements.is_some()),
            ("--sbatch", !self.sbatch.is_empty()),
            ("--poll", self.poll.is_some()),
        ];
        given
            .iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| *name)
    }

    pub(super) fn cpus(&self) -> u16 {
        self.cpus.unwrap_or(1)
    }

    /// Options for sbatch.
    fn options(&self) -> Vec<String> {
        let option = |name: &str, value: &Option<String>| {
            let value = value.as_ref()?;
            Some(format!("--{name}={value}"))
        };
        let mut options = vec![format!("--cpus-per-task={}", self.cpus())];
        options.extend(option("partition", &self.partition));
        options.extend(option("time", &self.time));
        options.extend(option("mem", &self.memory));
        options.extend(self.sbatch.iter().cloned());
        options
    }
}

/// A cluster, and the directory of a study on it.
pub(super) struct Slurm<'a> {
    args: &'a SlurmArgs,
    rounds: Rounds,
    client: Client,
    /// The command of an element, up to the tasks.
    command: Vec<String>,
}

impl<'a> Slurm<'a> {
    /// The cluster for the study called `name` in the directory `dir`; `command` does its tasks.
    pub(super) fn new(
        args: &'a SlurmArgs,
        dir: &Path,
        name: &str,
        command: Vec<String>,
    ) -> Result<Self, CliError> {
        Ok(Self {
            args,
            rounds: Rounds::open(dir, name)?,
            client: Client,
            command,
        })
    }

    /// Submits `tasks` as an array.
    fn submit(&mut self, tasks: &[StudyTask], session: &Session) -> anyhow::Result<()> {
        let most = self.client.max_array_size()?;
        let asked = self.args.tasks_per_element.map(|n| n as usize);
        let usual = tasks.len().div_ceil(USUAL_ELEMENTS);
        let size = asked.unwrap_or(usual.max(self.args.cpus().into()));
        let (size, count) = elements(tasks.len(), size, most);
        for task in tasks {
            session.forget_failure(task.id);
        }
        let round = self.rounds.add(tasks, size)?;
        let submission = Submission {
            name: &round.name,
            log: &round.log,
            script: &round.script(&self.command)?,
            elements: count,
            at_a_time: self.args.max_elements,
            options: &self.args.options(),
        };
        let job = self.client.submit(&submission)?;
        tell(format_args!(
            "submitted job {job}: {} tasks in {count} elements of up to {size}",
            tasks.len()
        ));
        Ok(())
    }
}

/// Removes the elements of the study in `dir` from the queue, and ends those that run.
pub(super) fn cancel(dir: &Path) -> Result<String, CliError> {
    let failed = |e: anyhow::Error| CliError::Failed(format!("{e:#}"));
    let rounds = Rounds::existing(dir)?;
    rounds.cancel().map_err(failed)?;
    let mut live = Client.live(&rounds.prefix()).map_err(failed)?;
    live.sort_unstable();
    let jobs: HashSet<&str> = live.iter().map(|element| element.job.as_str()).collect();
    let mut jobs: Vec<&str> = jobs.into_iter().collect();
    jobs.sort_unstable();
    if jobs.is_empty() {
        return Ok("no element of this study is queued or running\n".to_owned());
    }
    Client.cancel(&jobs).map_err(failed)?;
    Ok(format!(
        "cancelled {} elements of job {}\n",
        live.len(),
        jobs.join(", ")
    ))
}

/// The tasks that have no record yet, while elements do them.
struct Follow<'a> {
    session: &'a Session,
    runs: &'a [Prepared],
    open: Vec<StudyTask>,
    reasons: HashMap<TaskId, String>,
    /// How often each task was submitted by this process, and the number of queries since then in which no element had
    /// it.
    tries: HashMap<TaskId, (u32, u32)>,
}

impl Follow<'_> {
    /// Removes the tasks that have a record.
    fn collect(&mut self) {
        let session = self.session;
        // A file that cannot be read as a record counts as missing.
        self.open
            .retain(|task| !session.has_record(task.id) || session.recorded(task.id).is_none());
    }

    fn snapshot(&self) -> StudySnapshot {
        let open = self.open.iter().map(|task| task.id).collect();
        StudySnapshot::of(self.runs, &open, &self.reasons)
    }

    /// The open tasks that no element has and that are to be submitted. Tasks that were submitted often enough get a
    /// reason, from their note or from `log`.
    fn without_element(
        &mut self,
        in_flight: &HashSet<TaskId>,
        log: impl Fn(TaskId) -> String,
    ) -> Vec<StudyTask> {
        let mut submit = Vec::new();
        for task in std::mem::take(&mut self.open) {
            self.open.push(task);
            if in_flight.contains(&task.id) {
                continue;
            }
            let (tries, looks) = self.tries.entry(task.id).or_default();
            if *tries > 0 {
                let note = self.session.failure(task.id);
                *looks += 1;
                if note.is_none() && *looks < LOOKS {
                    continue;
                }
                if note.is_some() || *tries == TRIES {
                    let lost = || {
                        format!(
                            "{TRIES} elements of this task ended without a record: {}",
                            log(task.id)
                        )
                    };
                    self.reasons.insert(task.id, note.unwrap_or_else(lost));
                    self.open.pop();
                    continue;
                }
            }
            (*tries, *looks) = (*tries + 1, 0);
            submit.push(task);
        }
        submit
    }
}

/// Follows the elements of a cluster.
pub(super) struct Following<'a>(std::cell::RefCell<Slurm<'a>>);

impl<'a> Following<'a> {
    pub(super) fn new(slurm: Slurm<'a>) -> Self {
        Self(std::cell::RefCell::new(slurm))
    }
}

impl Engine for Following<'_> {
    fn run(
        &self,
        runs: &[Prepared],
        session: &Session,
        progress: &dyn StudyProgress,
    ) -> Result<Option<HashMap<TaskId, String>>, RunError> {
        let slurm = &mut *self.0.borrow_mut();
        let open = distinct_tasks(runs);
        let mut follow = Follow {
            session,
            runs,
            open,
            reasons: HashMap::new(),
            tries: HashMap::new(),
        };
        slurm.follow(&mut follow, progress)?;
        Ok(Some(follow.reasons))
    }
}

impl Slurm<'_> {
    fn follow(
        &mut self,
        follow: &mut Follow<'_>,
        progress: &dyn StudyProgress,
    ) -> Result<(), RunError> {
        let mut first = true;
        let mut wait = POLL[0];
        let mut silent = false;
        loop {
            follow.collect();
            progress.update(&follow.snapshot());
            if follow.open.is_empty() || signal::first().is_some() {
                return Ok(());
            }
            if self.rounds.is_cancelled() {
                tell(format_args!("the study was cancelled"));
                return Ok(());
            }
            match self.step(follow) {
                Ok(()) if silent => {
                    tell(format_args!("the cluster answers again"));
                    silent = false;
                }
                Ok(()) => {}
                Err(e) if first => return Err(RunError::Failed(e)),
                Err(e) => {
                    // The submitted elements continue; their records show the progress.
                    if !silent {
                        tell(format_args!("warning: {e:#}; trying again"));
                    }
                    silent = true;
                }
            }
            first = false;
            pause(self.args.poll.unwrap_or(wait));
            wait = wait.mul_f64(1.5).min(POLL[1]);
        }
    }

    /// Queries the queue, and submits the tasks that no element has.
    fn step(&mut self, follow: &mut Follow<'_>) -> anyhow::Result<()> {
        let live = self.client.live(&self.rounds.prefix())?;
        // Records of elements that have ended since were written before.
        follow.collect();
        let in_flight = self.rounds.tasks_of(&live);
        let rounds = &self.rounds;
        let submit = follow.without_element(&in_flight, |id| rounds.last_words(id));
        if submit.is_empty() {
            return Ok(());
        }
        let submitted = self.submit(&submit, follow.session);
        if submitted.is_err() {
            for task in &submit {
                if let Some((tries, _)) = follow.tries.get_mut(&task.id) {
                    *tries -= 1;
                }
            }
        }
        submitted
    }
}

/// From 10 ms to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().filter(|s| (0.01..=3600.0).contains(s));
    let time = time.map(Duration::from_secs_f64);
    time.ok_or_else(|| "give seconds, from 0.01 to 3600".to_owned())
}

/// Waits, unless a signal comes.
fn pause(time: Duration) {
    const STEP: Duration = Duration::from_millis(100);
    let mut left = time;
    while !left.is_zero() && signal::first().is_none() {
        let step = left.min(STEP);
        std::thread::sleep(step);
        left -= step;
    }
}

/// The error of a Slurm command that is missing or fails.
fn refused(command: &str, said: &str) -> anyhow::Error {
    match said.trim() {
        "" => anyhow!("{command} failed without a message"),
        said => anyhow!("{command}: {}", said.replace('\n', "; ")),
    }
}
