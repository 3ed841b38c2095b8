//! GOAL schedules: recognised, checked, and opened for replay.
//!
//! Only dependencies order the operations of a rank. So a stream stands for a CPU, which takes the operations
//! that have no unmet dependency in the order in which they got there, and [pauses](Program::pauses) while it has none.

mod program;
mod scheduled;
mod summary;

pub use program::{GoalProgram, InOrder};
pub use scheduled::Scheduled;
pub(super) use summary::contents;

use super::refusal;
use crate::program::Program;
use crate::trace::{Reading, Setting, TraceFile, TraceFormat};
use anyhow::bail;
use flitwise_base::stop::Stop;
use flitwise_formats::goal::{Schedule, check_input, probe};
use flitwise_formats::source::Input;

/// GOAL, as text or binary.
pub const GOAL: TraceFormat = TraceFormat {
    name: "GOAL",
    probe: |_, head| probe(head).is_some(),
    finds: |_| false,
    check,
    summary: |input| Ok(summary::summary(input)?),
    verdict: |input| Ok(summary::verdict(input)?),
    reads_once: false,
    uses: &[Setting::Calls],
};

fn check(input: &Input, stop: Stop<'_>) -> anyhow::Result<Box<dyn TraceFile>> {
    let (check, schedule) = check_input(input, stop)?;
    let (Some(schedule), true) = (schedule, check.is_clean()) else {
        bail!(refusal(&check.errors));
    };
    let info = check.info;
    Ok(Box::new(GoalFile {
        schedule,
        cpus: info.cpus,
        remarks: info.remarks(),
        operations: info.sends + info.recvs + info.calcs,
    }))
}

/// A schedule that checked clean.
struct GoalFile {
    schedule: Schedule,
    cpus: u32,
    operations: u64,
    remarks: Vec<String>,
}

impl TraceFile for GoalFile {
    fn format(&self) -> &'static str {
        GOAL.name
    }

    fn ranks(&self) -> u32 {
        self.schedule.ranks()
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn schedule(&self, _: &Reading) -> anyhow::Result<Option<Scheduled>> {
        Ok(Some(Scheduled::of_goal(self.schedule.clone())))
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn open<'a>(&self, _: &Reading, _: Stop<'a>) -> anyhow::Result<Box<dyn Program + 'a>> {
        let scheduled = Scheduled::of_goal(self.schedule.clone());
        Ok(Box::new(GoalProgram::new(scheduled, self.cpus)))
    }
}
