//! The clock that measured the computations of a trace with two clocks.

use clap::ValueEnum;
use flitwise::config::ConfigError;
use flitwise::replay::trace::ComputeTime;

/// The beginning of the override.
const OF_ALL: &str = "job.*.compute_time=";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Clock {
    /// The wall clock.
    Wall,
    /// The processor time of the rank.
    Cpu,
    /// Of a DUMPI trace the first that was recorded; of a recording CPU time if ranks shared processors.
    Auto,
}

impl Clock {
    /// The clock as the library takes it; `None`: it chooses.
    pub fn time(self) -> Option<ComputeTime> {
        match self {
            Self::Wall => Some(ComputeTime::Wall),
            Self::Cpu => Some(ComputeTime::Cpu),
            Self::Auto => None,
        }
    }

    /// The override of an experiment that gives all of its jobs this clock.
    pub fn set(self) -> String {
        let name = match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Auto => "auto",
        };
        format!("{OF_ALL}{name}")
    }

    /// The option whose override an error shows.
    pub fn named_in(e: &ConfigError) -> Option<String> {
        let set = e.location.as_ref()?.text.strip_prefix(OF_ALL)?;
        Some(format!("--clock {set}"))
    }
}
