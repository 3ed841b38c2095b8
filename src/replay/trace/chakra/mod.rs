//! Chakra execution traces, and logs of NCCL Inspector, of which nodes of such a trace are made: recognised, checked, and
//! opened for replay as a schedule with collectives.

mod summary;

use super::goal::{GoalProgram, InOrder, Scheduled};
use super::recorded::Comparison;
use super::{HOST_SPEED, refusal};
use crate::program::{Program, RankId};
use crate::trace::{Agreement, Reading, Setting, TraceFile, TraceFormat};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_base::units::counted;
use flitwise_formats::chakra::{Options, Set, Trace};
use flitwise_formats::inspector;
use flitwise_formats::source::Input;
use flitwise_formats::{Problem, Problems};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Chakra, as protocol buffers or JSON.
pub const CHAKRA: TraceFormat = TraceFormat {
    name: CHAKRA_FORM.name,
    probe: Set::probe,
    finds: Set::is_directory,
    check: |input, stop| check(&CHAKRA_FORM, input, stop),
    summary: |input| summary::summary(&CHAKRA_FORM, input),
    verdict: |input| summary::verdict(&CHAKRA_FORM, input),
    reads_once: false,
    uses: &[
        Setting::Calls,
        Setting::Collectives,
        Setting::HostSpeed,
        Setting::OrderStreams,
        Setting::Channels,
    ],
};

/// Logs of NCCL Inspector.
pub const INSPECTOR: TraceFormat = TraceFormat {
    name: INSPECTOR_FORM.name,
    probe: |_, head| inspector::probe(head),
    finds: inspector::is_directory,
    check: |input, stop| check(&INSPECTOR_FORM, input, stop),
    summary: |input| summary::summary(&INSPECTOR_FORM, input),
    verdict: |input| summary::verdict(&INSPECTOR_FORM, input),
    reads_once: false,
    uses: &[Setting::Calls, Setting::Collectives, Setting::Channels],
};

/// A format whose traces have such nodes.
struct Form {
    name: &'static str,
    /// Finds the files at an input.
    find: fn(&Input, Stop<'_>) -> Result<Set, flitwise_formats::Error>,
}

const CHAKRA_FORM: Form = Form {
    name: "Chakra",
    find: Set::of_input,
};

const INSPECTOR_FORM: Form = Form {
    name: "NCCL Inspector",
    find: inspector::read,
};

impl Form {
    /// Reads the trace at `input`, or finds why it is none.
    fn read(&self, input: &Input, stop: Stop<'_>) -> anyhow::Result<Result<(Set, Trace), Problem>> {
        let set = (self.find)(input, stop);
        Ok(Trace::check(set, input, &Options::default(), stop)?)
    }
}

fn check(form: &Form, input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let (set, trace) = match form.read(input, stop)? {
        Ok(read) => read,
        Err(problem) => bail!(refusal(&Problems::one(problem))),
    };
    Ok(Box::new(ChakraFile::new(form, input, set, trace)?))
}

/// A trace that checked clean.
struct ChakraFile {
    format: &'static str,
    set: Set,
    trace: Trace,
    /// The path by which it is given.
    given: PathBuf,
    comparison: Comparison,
}

impl ChakraFile {
    fn new(form: &Form, input: &Input, set: Set, trace: Trace) -> anyhow::Result<Self> {
        if !trace.errors.is_empty() {
            bail!(refusal(&trace.errors));
        }
        Ok(Self {
            format: form.name,
            set,
            trace,
            given: input.path().to_owned(),
            comparison: Comparison::default(),
        })
    }

    /// The schedule as `reading` wants it.
    fn read(&self, reading: &Reading, stop: Stop<'_>) -> anyhow::Result<Scheduled> {
        let works = self.trace.info.works;
        if works > 0 && reading.host_speed == HOST_SPEED {
            bail!(
                "{}: has {} with `num_ops` and no duration: set {} to the operations that a GPU does in a second, such as 1e14",
                self.set.path().display(),
                counted(works, "computation"),
                reading.wording.host_speed()
            );
        }
        let options = Options {
            order_streams: reading.order_streams,
            channels: reading.channels,
            nodes: Arc::clone(&reading.nodes),
        };
        let speed = reading.host_speed;
        if !options.order_streams && options.channels == 1 {
            let schedule = self.trace.schedule.clone();
            return Ok(Scheduled::new(schedule, &self.trace.groups, speed));
        }
        let read = Trace::read(&self.set, &options, stop)?;
        if !read.errors.is_empty() {
            let refused = anyhow::anyhow!(refusal(&read.errors));
            let keys = reading.wording.order_streams();
            return Err(if options.order_streams {
                refused.context(format!("{keys} contradicts the dependencies of the trace"))
            } else {
                refused
            });
        }
        Ok(Scheduled::new(read.schedule, &read.groups, speed))
    }

    /// All operations, whatever their computations take.
    fn in_order(&self) -> InOrder {
        let schedule = self.trace.schedule.clone();
        InOrder::new(Scheduled::new(schedule, &self.trace.groups, HOST_SPEED))
    }
}

impl TraceFile for ChakraFile {
    fn format(&self) -> &'static str {
        self.format
    }

    fn ranks(&self) -> u32 {
        self.set.ranks()
    }

    fn operations(&self) -> u64 {
        self.trace.counts.nodes
    }

    fn schedule(&self, reading: &Reading) -> anyhow::Result<Option<Scheduled>> {
        self.read(reading, Stop::never()).map(Some)
    }

    fn remarks(&self) -> Vec<String> {
        let counts = &self.trace.counts;
        let untimed = (counts.untimed > 0).then(|| {
            format!(
                "{} that moves data without a duration: it takes no time",
                counted(counts.untimed, "node")
            )
        });
        untimed
            .into_iter()
            .chain(counts.missing_text())
            .chain(self.comparison.remark())
            .collect()
    }

    fn order_remark(&self) -> Option<String> {
        let lost = self.trace.counts.lost;
        (lost > 0).then(|| {
            format!(
                "{} without a successor, though others follow in its stream: only dependencies order a replay, unless order_streams is true \
                 (--order-streams)",
                counted(lost, "kernel")
            )
        })
    }

    fn file_of(&self, rank: RankId) -> Option<&Path> {
        Some(self.trace.schedule.path_of(rank.get()))
    }

    fn agreement(&self, stop: Stop<'_>) -> anyhow::Result<Agreement> {
        let file = |rank: RankId| -> &Path { self.trace.schedule.path_of(rank.get()) };
        self.comparison.agreement(&mut self.in_order(), file, stop)
    }

    fn doubts(&self) -> Option<String> {
        self.comparison.doubts()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let mut parts = self.set.own_files();
        parts.retain(|part| *part != self.given);
        parts
    }

    fn open<'a>(&self, reading: &Reading, stop: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let scheduled = self.read(reading, stop)?;
        Ok(Box::new(GoalProgram::new(scheduled, self.trace.info.cpus)))
    }
}
