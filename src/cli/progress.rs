//! The progress bar, on standard error and only on a terminal.

use flitwise::run::{Progress, Snapshot};
use flitwise::units::{human_count, human_time};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Instant;

/// True if standard error is a terminal.
pub(super) fn terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// A bar over the records of the traces, or a spinner while their number is unknown.
pub(super) struct Bar {
    bar: ProgressBar,
    started: Instant,
}

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        bar.set_style(style("{spinner} {msg}"));
        Self {
            bar,
            started: Instant::now(),
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

impl Progress for Bar {
    fn update(&self, s: &Snapshot) {
        if self.bar.length().is_none() {
            self.bar.set_length(s.records_total);
            self.bar
                .set_style(style("{bar:30} {percent:>3} %  {msg}  ETA {eta}"));
        }
        self.bar.set_position(s.records);
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!(
            "{} simulated, {} messages, {:.1} M flit-hops/s",
            human_time(s.tick_length.ps(s.tick)),
            human_count(s.messages),
            s.flit_hops as f64 / seconds / 1e6,
        ));
    }
}
