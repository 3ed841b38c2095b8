//! Rates and memory, for the benchmarks.

use std::time::Instant;

/// Prints the median rate of five runs over `bytes`.
#[allow(dead_code, reason = "each benchmark has its unit")]
pub fn median(name: &str, bytes: u64, run: impl FnMut()) {
    let (wall, cpu) = millions_per_second(bytes, run);
    println!("{name:16} {wall:6.0} MB/s by the clock, {cpu:6.0} by CPU time");
}

/// The median rate of five runs over `amount`, by the clock and by CPU time.
pub fn millions_per_second(amount: u64, mut run: impl FnMut()) -> (f64, f64) {
    let mut rates: Vec<(f64, f64)> = (0..5)
        .map(|_| {
            let (start, cpu) = (Instant::now(), cpu_seconds());
            run();
            let millions = amount as f64 / 1e6;
            let cpu = cpu_seconds() - cpu;
            (millions / start.elapsed().as_secs_f64(), millions / cpu)
        })
        .collect();
    rates.sort_by(|a, b| f64::total_cmp(&a.1, &b.1));
    rates[2]
}

/// Largest resident memory of this process so far.
pub fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kb.map_or(0, |kb| kb / 1024)
}

/// CPU time of this thread; not a number where the system doesn't tell.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.map_or(f64::NAN, |ns| ns * 1e-9)
}
