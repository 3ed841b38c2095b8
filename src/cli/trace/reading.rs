//! Options by which `convert` and `slice` read traces with less information than VEF.

use crate::cli::clock::Clock;
use crate::cli::console::tell;
use clap::Args;
use flitwise::replay::trace::{Reading, Setting, TraceFile, TraceFormat, Wording};
use flitwise::units::{Picoseconds, Ratio};
use flitwise_formats::source::shown;
use std::path::Path;

/// Options for traces that become VEF, or another format.
#[derive(Debug, Args)]
pub(super) struct ReadingArgs {
    /// Flops per second of a rank, for a TI trace that is read or written [default: 20000], or a Chakra trace without durations.
    #[arg(long, value_name = "FLOPS", value_parser = flops)]
    host_speed: Option<Ratio>,
    /// Clock of a DUMPI trace or a recording that measures computations [default: auto].
    #[arg(long, value_name = "CLOCK")]
    compute_time: Option<Clock>,
    /// Leaves out calls of a DUMPI or OTF2 trace or a recording that can't be replayed.
    #[arg(long)]
    skip_unsupported: bool,
    /// Accepts a DUMPI or OTF2 trace or a recording without any message or collective between its ranks.
    #[arg(long)]
    allow_no_communication: bool,
    /// Longest time before a poll of a DUMPI or OTF2 trace or a recording that counts as part of the polling loop, not as computation
    /// [default: 4us].
    #[arg(long, value_name = "TIME")]
    poll_gap: Option<Picoseconds>,
    /// Lets the kernels of each stream of a GPU in a Chakra trace come one after the other.
    #[arg(long)]
    order_streams: bool,
}

/// A speed as an experiment has it: `1e9`.
fn flops(text: &str) -> Result<Ratio, String> {
    let number = text.parse::<f64>().ok();
    let positive = number.filter(|speed| speed.is_finite() && *speed > 0.0);
    let positive = positive.ok_or("it is no number of flops per second above 0, such as 1e9")?;
    let speed = Ratio::from_f64(positive).filter(|speed| *speed != Ratio::ZERO);
    speed.ok_or_else(|| {
        "a number of flops per second is a fraction of two whole numbers below 2^64, so from 1e-19 to 1.8e19, such as 1e9"
            .to_owned()
    })
}

impl ReadingArgs {
    /// The options as the library takes them.
    pub(super) fn reading(&self) -> Reading {
        let default = Reading::default();
        Reading {
            host_speed: self.host_speed.unwrap_or(default.host_speed),
            compute_time: self.compute_time.and_then(Clock::time),
            skip_unsupported: self.skip_unsupported,
            allow_no_communication: self.allow_no_communication,
            poll_gap_ps: self.poll_gap.map_or(default.poll_gap_ps, |gap| gap.0),
            order_streams: self.order_streams,
            wording: Wording::Options,
            ..default
        }
    }

    /// Reports the options that are for traces of other formats than `format`, the format of the trace at `path`. A
    /// speed also concerns every trace that becomes TI.
    pub(super) fn warn_of_unused(&self, path: &Path, format: &TraceFormat, becomes_ti: bool) {
        let options: [(bool, &str, Setting); 6] = [
            (
                self.host_speed.is_some() && !becomes_ti,
                "--host-speed",
                Setting::HostSpeed,
            ),
            (self.order_streams, "--order-streams", Setting::OrderStreams),
            (
                self.compute_time.is_some(),
                "--compute-time",
                Setting::ComputeTime,
            ),
            (
                self.skip_unsupported,
                "--skip-unsupported",
                Setting::Recorder,
            ),
            (
                self.allow_no_communication,
                "--allow-no-communication",
                Setting::Recorder,
            ),
            (self.poll_gap.is_some(), "--poll-gap", Setting::Recorder),
        ];
        for (given, option, setting) in options {
            if given && !format.uses.contains(&setting) {
                tell(format_args!(
                    "warning: {option} does nothing for `{}`, a trace of {}",
                    shown(path).display(),
                    format.name
                ));
            }
        }
    }

    /// Reports the assumed speed of the ranks of the trace at `path`, if it counts flops and no option sets the speed.
    pub(super) fn warn_of_speed(&self, path: &Path, file: &dyn TraceFile) {
        if file.has_flops() && self.host_speed.is_none() {
            let speed = Reading::default().host_speed;
            tell(format_args!(
                "warning: {} counts flops, and a rank is taken to do {speed} of them a second, as SimGrid's recorder counts by \
                 default: set --host-speed to the smpi/host-speed of the recording, or to what a rank does, such as 1e9",
                shown(path).display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flops;

    #[test]
    fn speeds_have_bounds() {
        assert!(flops("1e9").is_ok() && flops("0.5").is_ok() && flops("1e-19").is_ok());
        for no_speed in ["0", "-1", "nan", "inf", "fast"] {
            let why = flops(no_speed).unwrap_err();
            assert!(why.contains("above 0"), "{no_speed}: {why}");
        }
        for beyond in ["1e-30", "1e30"] {
            let why = flops(beyond).unwrap_err();
            assert!(why.contains("from 1e-19 to 1.8e19"), "{beyond}: {why}");
        }
    }
}
