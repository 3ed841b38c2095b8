//! All ranks of a trace as a schedule.

use std::sync::Arc;

use flitwise_base::place::{Problem, Problems};
use flitwise_base::stop::Stop;
use flitwise_base::units::counted;

use super::channels::{Options, Sizes, sizes};
use super::groups::{Group, Groups};
use super::rank::RankNodes;
use super::set::Set;
use crate::error::Error;
use crate::goal::{Builder, Info, Schedule, check_built, warn_of_sizes};
use crate::matching::Matching;
use crate::source::Input;

/// Contents of a trace that its schedule does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes.
    pub nodes: u64,
    /// Dependencies between them.
    pub dependencies: u64,
    /// Nodes that move data and have no duration.
    pub untimed: u64,
    /// Kernels that no node waits for, though others follow in their stream.
    pub lost: u64,
    /// Streams of the rank that has most.
    pub streams: u32,
    /// Operations that its files lack.
    pub missing: u64,
}

impl Counts {
    /// Operations that the files lack, and the cure; `None` if there are none.
    #[must_use]
    pub fn missing_text(&self) -> Option<String> {
        (self.missing > 0).then(|| {
            format!(
                "{} that the logs lack, though they have others before and behind: log every operation \
                 (NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS, no filter of sizes)",
                counted(self.missing, "call")
            )
        })
    }
}

/// A trace.
///
/// Its operations are in a file without a name in the directory for temporary files; in memory are the nodes of one rank while
/// it is read, about 100 bytes each, and the process groups.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The operations: one for each node.
    pub schedule: Schedule,
    /// The groups of its collectives, by number.
    pub groups: Arc<[Group]>,
    /// Its contents.
    pub counts: Counts,
    /// The contents of the schedule.
    pub info: Info,
    /// Its errors.
    pub errors: Problems,
    /// Kernels that no node waits for, and messages whose sends and receives have different sizes.
    pub warnings: Problems,
}

/// Nodes between two checks whether the user stops the reading.
const ASK_EVERY: u64 = 1 << 14;

impl Trace {
    /// Reads the files of a trace, twice if its collectives may have several channels: the ranks agree about their number.
    ///
    /// # Errors
    /// If a file can't be read or is no Chakra trace, or the user stops the reading. What is wrong with nodes is in
    /// [`errors`](Self::errors).
    pub fn read(set: &Set, options: &Options, stop: Stop<'_>) -> Result<Self, Error> {
        let whole = Options {
            channels: 1,
            ..options.clone()
        };
        let read = Self::read_sized(set, &whole, &Sizes::new(), stop)?;
        if options.channels <= 1 || !read.errors.is_empty() {
            return Ok(read);
        }
        Self::read_sized(set, options, &sizes(&read)?, stop)
    }

    fn read_sized(
        set: &Set,
        options: &Options,
        sizes: &Sizes,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let (ranks, files) = (set.ranks(), set.files());
        let mut builder = Builder::of_files(set.path(), files.clone())?;
        let mut groups = Groups::new(ranks, set.groups()?);
        let mut counts = Counts {
            missing: set.missing(),
            ..Counts::default()
        };
        let (mut errors, mut warnings) = (Problems::default(), Problems::default());
        if let Some(missing) = counts.missing_text() {
            warnings.add(|| Problem::whole(&Arc::from(set.path()), &missing));
        }
        for (rank, file) in (0..).zip(files) {
            let mut reader = set.reader(rank)?;
            let mut nodes = RankNodes::new(rank, ranks, file);
            while let Some((at, node)) = reader.next_node()? {
                if counts.nodes.is_multiple_of(ASK_EVERY) {
                    stop.check()?;
                }
                if let Err(problem) = nodes.add(at, &node, &mut counts) {
                    errors.add(|| problem);
                }
            }
            let found = (&mut errors, &mut warnings);
            nodes.finish(
                &mut builder,
                &mut groups,
                (options, sizes),
                &mut counts,
                found,
            )?;
        }
        let schedule = builder.finish()?;
        let mut info = Info::new(&schedule);
        let mut matching = Matching::new(ranks);
        for rank in 0..ranks {
            let cycle = check_built(&schedule, rank, &mut info, &mut matching)?;
            cycle.into_iter().for_each(|cycle| errors.add(|| cycle));
        }
        warn_of_sizes(&schedule, &matching, &mut warnings);
        Ok(Self {
            schedule,
            groups: groups.finish(),
            counts,
            info,
            errors,
            warnings,
        })
    }

    /// Reads the trace of the files that were found at `input` as [`read`](Self::read), or says why they are none.
    ///
    /// # Errors
    /// If a file can't be read, or the user stops the reading.
    pub fn check(
        set: Result<Set, Error>,
        input: &Input,
        options: &Options,
        stop: Stop<'_>,
    ) -> Result<Result<(Set, Self), Problem>, Error> {
        let read = set.and_then(|set| {
            let trace = Self::read(&set, options, stop)?;
            Ok((set, trace))
        });
        match read {
            Ok(read) => Ok(Ok(read)),
            Err(e) => e.into_problem_of(input.path()).map(Err),
        }
    }
}
