//! Progress on standard error: a bar on a terminal, elsewhere a line now and then.

mod estimate;
mod eta;
mod text;
pub(super) mod working;

pub(super) use estimate::{Took, estimate, took};

use super::console::tell;
use eta::Eta;
use flitwise::run::{Progress, Run, SaturatedRun, Snapshot};
use flitwise::study::{StudyProgress, StudySnapshot};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use text::Work;
pub(super) use text::short;

/// Time between two lines where standard error is no terminal. A shorter run has none.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Whether standard error is a terminal.
pub(super) fn terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Shows the progress of a run.
pub(super) enum Shown {
    /// On a terminal.
    Bar(Bar),
    /// In a file or a pipe.
    Lines(Lines<std::io::Stderr>),
    /// Warnings alone.
    Quiet,
}

impl Shown {
    /// Chooses the form that fits standard error.
    pub fn new(quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if terminal() {
            Self::Bar(Bar::new())
        } else {
            Self::Lines(Lines::new(LINE_EVERY, std::io::stderr()))
        }
    }

    fn show(&self, run: Run, work: Work, text: impl FnOnce(Option<Duration>) -> String) {
        match self {
            Self::Bar(bar) => bar.show(run, work, text),
            Self::Lines(lines) => lines.show_at(lines.started.elapsed(), run, work, text),
            Self::Quiet => {}
        }
    }

    /// Removes the bar from a terminal.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.bar.finish_and_clear();
        }
    }
}

impl Progress for Shown {
    fn update(&self, s: &Snapshot) {
        self.show(s.run, text::work(s), |left| text::progress(s, left));
    }

    fn saturated(&self, seen: &SaturatedRun) {
        let warning = text::saturated(seen);
        match self {
            Self::Bar(bar) => bar.bar.suspend(|| tell(format_args!("{warning}"))),
            Self::Lines(_) | Self::Quiet => tell(format_args!("{warning}")),
        }
    }
}

impl StudyProgress for Shown {
    fn update(&self, s: &StudySnapshot) {
        let work = Work {
            done: s.tasks_done as f64,
            all: Some(s.tasks as f64),
            is_bound: false,
        };
        self.show(Run::Experiment, work, |left| text::study(s, left));
    }
}

/// The state of the run that reports.
struct Seen {
    run: Run,
    eta: Eta,
}

impl Seen {
    /// Notes the work of a run, or of a study. Another run starts the estimate anew.
    fn note(this: &mut Option<Self>, now: Duration, run: Run, work: Work) -> Option<Duration> {
        let seen = match this {
            Some(seen) if seen.run == run => seen,
            _ => this.insert(Self {
                run,
                eta: Eta::default(),
            }),
        };
        seen.eta.note(now, work.done);
        seen.eta.left(work.left())
    }
}

/// A bar, labelled with the run that is simulated.
pub(super) struct Bar {
    bar: ProgressBar,
    started: Instant,
    seen: Mutex<Option<Seen>>,
}

/// Parts of the bar.
const PARTS: u64 = 1000;

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        bar.set_style(style("{spinner} {msg}"));
        Self {
            bar,
            started: Instant::now(),
            seen: Mutex::new(None),
        }
    }

    fn begin(&self) {
        if self.bar.length().is_none() {
            self.bar.set_length(PARTS);
            self.bar.set_style(style("{bar:30} {percent:>3} %  {msg}"));
        }
    }

    fn show(&self, run: Run, work: Work, text: impl FnOnce(Option<Duration>) -> String) {
        self.begin();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let left = Seen::note(&mut seen, self.started.elapsed(), run, work);
        self.bar.set_position((work.part() * PARTS as f64) as u64);
        self.bar.set_message(text(left));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A line at intervals.
pub(super) struct Lines<W> {
    every: Duration,
    started: Instant,
    state: Mutex<LinesState<W>>,
}

struct LinesState<W> {
    out: W,
    /// When the next line is due.
    due: Duration,
    seen: Option<Seen>,
}

impl<W: Write + Send> Lines<W> {
    fn new(every: Duration, out: W) -> Self {
        Self {
            every,
            started: Instant::now(),
            state: Mutex::new(LinesState {
                out,
                due: every,
                seen: None,
            }),
        }
    }

    /// Takes the state at a time since the start, and writes a line if one is due.
    fn show_at(
        &self,
        now: Duration,
        run: Run,
        work: Work,
        text: impl FnOnce(Option<Duration>) -> String,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let LinesState { out, due, seen } = &mut *state;
        let left = Seen::note(seen, now, run, work);
        if now >= *due {
            *due = now + self.every;
            // If standard error is closed, nothing reads the progress.
            let _ = writeln!(out, "{}", text(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use super::text::{self, after_ms};
    use std::time::Duration;

    fn lines(times_s: &[u64]) -> String {
        let lines = Lines::new(Duration::from_secs(30), Vec::new());
        for &s in times_s {
            let (now, s) = (Duration::from_secs(s), after_ms(s));
            lines.show_at(now, s.run, text::work(&s), |left| text::progress(&s, left));
        }
        String::from_utf8(lines.state.into_inner().unwrap().out).unwrap()
    }

    #[test]
    fn a_short_run_says_nothing() {
        assert_eq!(lines(&[0, 10, 20, 29]), "");
    }

    #[test]
    fn a_line_every_30_seconds() {
        let times: Vec<u64> = (0..100).collect();
        let lines = lines(&times);
        // A snapshot at s seconds has simulated s ms of at least 1 s.
        assert_eq!(
            lines,
            "30.0 ms of at least 1.00 s simulated, 0 messages, at least 16 min left\n\
             60.0 ms of at least 1.00 s simulated, 0 messages, at least 16 min left\n\
             90.0 ms of at least 1.00 s simulated, 0 messages, at least 15 min left\n"
        );
    }
}
