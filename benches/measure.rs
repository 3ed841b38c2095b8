//! What the benchmarks have in common: arguments, CPU time, memory, the spread of
//! repetitions.

// Every benchmark is a program of its own and uses its part of this.
#![allow(dead_code)]

use cpu_time::ProcessTime;
use std::fmt;

/// Arguments of a benchmark: `[--runs N] [--scale X] [WORD …]`.
pub struct Args {
    words: Vec<String>,
    /// Repetitions of every case.
    pub runs: usize,
    /// Factor on the length of every case.
    pub scale: f64,
}

impl Args {
    /// The arguments of this program; `runs` repetitions unless it says otherwise.
    pub fn read(runs: usize) -> Self {
        let mut args = Self {
            words: Vec::new(),
            runs,
            scale: 1.0,
        };
        let mut given = std::env::args().skip(1);
        while let Some(word) = given.next() {
            let mut value = || given.next().expect("a value behind the option");
            match word.as_str() {
                // Added by cargo.
                "--bench" => {}
                "--runs" => args.runs = value().parse().expect("a number of runs"),
                "--scale" => args.scale = value().parse().expect("a factor"),
                _ => args.words.push(word),
            }
        }
        args.runs = args.runs.max(1);
        args
    }

    /// True if `name` is to be run: it contains one of the words, or there are none.
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// `n` times the factor, at least 1.
    pub fn scaled(&self, n: u64) -> u64 {
        ((n as f64 * self.scale) as u64).max(1)
    }
}

/// CPU time of all threads of this process, in seconds.
pub fn cpu_seconds() -> f64 {
    ProcessTime::now().as_duration().as_secs_f64()
}

/// CPU time that `work` takes, in seconds, and what it gives.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = cpu_seconds();
    let result = work();
    (cpu_seconds() - start, result)
}

/// Measures peak memory anew from here on. Memory that the allocator keeps from an
/// earlier case still counts: for exact figures run a case alone.
pub fn reset_peak() {
    // Without it the peak is the peak of the whole process so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident memory since [`reset_peak`], in MB; not a number where the
/// system doesn't tell.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().split(' ').next()?.parse::<f64>().ok());
    kb.map_or(f64::NAN, |kb| kb * 1024e-6)
}

/// The values of several repetitions.
pub struct Spread(Vec<f64>);

impl Spread {
    /// Of at least one value.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Smallest value.
    pub fn min(&self) -> f64 {
        self.0[0]
    }

    /// The one in the middle.
    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

/// Minimum, median and maximum, with the precision asked for.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let max = self.0[self.0.len() - 1];
        let (min, median) = (self.min(), self.median());
        write!(f, "{min:.digits$} / {median:.digits$} / {max:.digits$}")
    }
}
