//! Arguments of the benchmarks, CPU time, memory, the spread of repetitions, and the record of the results.

use cpu_time::{ProcessTime, ThreadTime};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

/// The values of a case, a row of the record.
#[derive(Serialize)]
struct Measured {
    /// `Flitwise` or another simulator.
    program: String,
    group: &'static str,
    case: String,
    unit: String,
    minimum: f64,
    median: f64,
    maximum: f64,
}

/// A run of the program: its arguments, and what it has measured.
pub struct Bench {
    groups: Vec<String>,
    words: Vec<String>,
    /// Repetitions of every case, if they were given.
    runs: Option<usize>,
    /// Factor on the length of every case.
    scale: f64,
    record: Option<PathBuf>,
    group: &'static str,
    measured: Vec<Measured>,
}

impl Bench {
    /// The arguments of this program, whose groups have these names.
    pub fn read(groups: &[&str]) -> Self {
        let mut bench = Self {
            groups: Vec::new(),
            words: Vec::new(),
            runs: None,
            scale: 1.0,
            record: None,
            group: "",
            measured: Vec::new(),
        };
        let mut given = std::env::args().skip(1);
        while let Some(word) = given.next() {
            let mut value = || given.next().expect("a value behind the option");
            match word.as_str() {
                "--runs" => bench.runs = Some(value().parse().expect("a number of runs")),
                "--scale" => bench.scale = value().parse().expect("a factor"),
                "--record" => bench.record = Some(value().into()),
                group if groups.contains(&group) => bench.groups.push(word),
                _ => bench.words.push(word),
            }
        }
        bench
    }

    /// Begins a group; false if it is not to be run.
    pub fn begin(&mut self, group: &'static str, unasked: bool) -> bool {
        self.group = group;
        let asked = self.groups.iter().any(|name| name == group);
        asked || self.groups.is_empty() && unasked
    }

    /// Repetitions of every case, `usual` unless the user said otherwise.
    pub fn runs(&self, usual: usize) -> usize {
        self.runs.unwrap_or(usual).max(1)
    }

    /// True if the case `name` is to be run: it contains one of the words, or there are none.
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// `n` times the factor, at least 1.
    pub fn scaled(&self, n: u64) -> u64 {
        ((n as f64 * self.scale) as u64).max(1)
    }

    /// Keeps the values of a case of ours for the record.
    pub fn note(&mut self, case: &str, unit: &str, values: &Spread) {
        self.note_of("Flitwise", case, unit, values);
    }

    /// The same of a case of another program.
    pub fn note_of(&mut self, program: &str, case: &str, unit: &str, values: &Spread) {
        let [minimum, median, maximum] = values.three();
        let [program, case, unit] = [program, case, unit].map(str::to_owned);
        let group = self.group;
        self.measured.push(Measured {
            program,
            group,
            case,
            unit,
            minimum,
            median,
            maximum,
        });
    }

    /// Runs a case that handles `amount` things five times, prints the rates by both clocks, and notes those by CPU time.
    pub fn rate(&mut self, case: &str, unit: &str, amount: u64, mut run: impl FnMut()) {
        let millions = amount as f64 / 1e6;
        let rates: Vec<(f64, f64)> = (0..self.runs(5))
            .map(|_| {
                let (start, cpu) = (Instant::now(), ThreadTime::now());
                run();
                let cpu = cpu.elapsed().as_secs_f64();
                (millions / start.elapsed().as_secs_f64(), millions / cpu)
            })
            .collect();
        let by_clock = Spread::new(rates.iter().map(|rate| rate.0));
        let by_cpu = Spread::new(rates.iter().map(|rate| rate.1));
        let median = by_clock.median();
        println!("{case:36} {by_cpu:.1} {unit} by CPU time, {median:.1} by the clock");
        self.note(case, unit, &by_cpu);
    }

    /// Writes the record, if one was asked for.
    pub fn write_record(self) -> std::io::Result<()> {
        let Some(file) = self.record else {
            return Ok(());
        };
        let mut out = csv::Writer::from_path(file)?;
        for row in self.measured {
            out.serialize(row)?;
        }
        out.flush()
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

    /// Minimum, median and maximum.
    pub fn three(&self) -> [f64; 3] {
        [self.min(), self.median(), self.0[self.0.len() - 1]]
    }
}

/// Minimum, median and maximum, with the precision asked for.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        let [min, median, max] = self.three();
        write!(f, "{min:.digits$} / {median:.digits$} / {max:.digits$}")
    }
}
