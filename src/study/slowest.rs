//! The slowest run of a study, whose results are kept beside its tables.

use super::row::RunRow;
use super::until::Studied;

impl Studied {
    /// Point and seed of the complete run with the largest slowdown. Without a baseline it is the longest run, without
    /// a job the run with the largest latency. Of equal runs the first is taken; `None` if no run is complete.
    #[must_use]
    pub fn slowest(&self) -> Option<(usize, u64)> {
        let complete = || self.rows.iter().filter(|row| row.reason.is_empty());
        let columns = ["slowdown_ratio", "execution_time_ps", "latency_mean_ns"];
        let most = |column: &str| {
            let slowness = |row: &RunRow| row.value(column);
            let known = complete().filter_map(|row| Some((slowness(row)?, row)));
            known
                .reduce(|a, b| if b.0 > a.0 { b } else { a })
                .map(|(_, row)| row)
        };
        let row = columns.into_iter().find_map(most)?;
        Some((row.point, row.seed))
    }
}
