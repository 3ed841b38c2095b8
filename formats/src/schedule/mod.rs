//! Records of a batch system: which job ran when, on how many processors.
//!
//! Two forms are read: the Standard Workload Format of the Parallel Workloads Archive (`swf`), and the accounting of
//! Slurm as `sacct --parsable2` prints it (`sacct`).

mod sacct;
mod swf;

use crate::{PlaceError, at_line};

/// A job that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its number or id.
    pub id: String,
    /// The number of its executable, or its name; `None` if unknown.
    pub program: Option<String>,
    /// Seconds from a moment that all jobs of the file share to its submission.
    pub submitted_s: u64,
    /// The same to its start.
    pub started_s: u64,
    /// The same to its end, not before the start.
    pub ended_s: u64,
    /// Processors that it had, at least 1.
    pub processors: u32,
    /// Nodes that it had, at least 1; `None` if unknown.
    pub nodes: Option<u32>,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// The jobs of a file in the order of their starts, then of the file, and the number of those that never ran.
///
/// # Errors
/// The first line that cannot be right.
///
/// # Examples
/// ```
/// use flitwise_formats::schedule;
///
/// let text = "; Computer: small\n1 0 5 60 8 -1 -1 8 -1 -1 1 -1 -1 3 -1 -1 -1 -1\n";
/// let (jobs, never_ran) = schedule::read(text)?;
/// assert_eq!((jobs.len(), never_ran), (1, 0));
/// assert_eq!((jobs[0].started_s, jobs[0].ended_s, jobs[0].processors), (5, 65, 8));
/// # Ok::<(), flitwise_formats::PlaceError>(())
/// ```
pub fn read(text: &str) -> Result<(Vec<Ran>, usize), PlaceError> {
    let mut lines = (1..).zip(text.lines().map(str::trim));
    let first = lines.find(|(_, line)| !line.is_empty() && !line.starts_with([';', '#']));
    let rows = match first {
        None => {
            return at_line(
                1,
                "there is no job; give an SWF file or the output of `sacct --parsable2`",
            );
        }
        Some((head, line)) if line.contains('|') => sacct::rows(text, head)?,
        Some(_) => swf::rows(text)?,
    };
    let all = rows.len();
    let mut jobs: Vec<Ran> = rows.into_iter().flatten().collect();
    if jobs.is_empty() {
        return at_line(1, "no job in it ever ran");
    }
    jobs.sort_by_key(|job| job.started_s);
    let never_ran = all - jobs.len();
    Ok((jobs, never_ran))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    const SACCT: &str = "JobID|JobName|Submit|Start|End|NNodes|NCPUS|State\n\
        7|lammps|2026-02-28T23:59:00|2026-03-01T00:00:10|2026-03-01T01:00:10|2|256|COMPLETED\n\
        7.batch|batch|2026-03-01T00:00:10|2026-03-01T00:00:10|2026-03-01T01:00:10|1|128|COMPLETED\n\
        9|hpl|2026-02-28T23:58:00|Unknown|Unknown|4|512|PENDING\n\
        8_3|hpl|2026-02-28T23:58:00|2026-02-28T23:59:59|2026-03-01T00:00:09|1|4|TIMEOUT\n";

    #[test]
    fn slurm_accounting_is_read() {
        let (jobs, never_ran) = read(SACCT).unwrap();
        assert_eq!(never_ran, 1);
        let brief: Vec<_> = jobs
            .iter()
            .map(|job| (job.id.as_str(), job.ended_s - job.started_s, job.nodes))
            .collect();
        assert_eq!(brief, [("8_3", 10, Some(1)), ("7", 3600, Some(2))]);
        // February 2026 has 28 days.
        assert_eq!(jobs[1].started_s - jobs[0].started_s, 11);
        assert_eq!(jobs[1].started_s - jobs[1].submitted_s, 70);
        assert_eq!(jobs[1].program.as_deref(), Some("lammps"));
    }

    #[test]
    fn swf_is_read_in_the_order_of_starts() {
        let text = "; MaxProcs: 64\n\
            1 0 100 50 4 -1 -1 4 -1 -1 1 1 1 2 -1 -1 -1 -1\n\
            \n\
            2 10 0 20 -1 -1 -1 8 -1 -1 1 1 1 -1 -1 -1 -1 -1\n\
            3 20 -1 -1 8 -1 -1 8 -1 -1 5 1 1 2 -1 -1 -1 -1\n";
        let (jobs, never_ran) = read(text).unwrap();
        assert_eq!(never_ran, 1);
        let brief: Vec<_> = jobs
            .iter()
            .map(|job| (job.id.as_str(), job.started_s, job.ended_s, job.processors))
            .collect();
        // Job 2 has no number of allocated processors, but of requested ones.
        assert_eq!(brief, [("2", 10, 30, 8), ("1", 100, 150, 4)]);
        assert_eq!(jobs[1].program.as_deref(), Some("2"));
        assert_eq!((jobs[0].program.as_ref(), jobs[0].line), (None, 4));
    }

    #[test]
    fn wrong_lines_are_refused_by_number() {
        for (text, line, problem) in [
            ("", 1, "there is no job"),
            ("; only a comment\n", 1, "there is no job"),
            ("1 0 0 10 4\n", 1, "has 5 fields, and SWF has 18"),
            (
                "1 0 0 x 4 -1 -1 4 -1 -1 1 1 1 2 -1 -1 -1 -1",
                1,
                "`x`, is no number",
            ),
            (
                "1 0 0 9 0 -1 -1 0 -1 -1 1 1 1 2 -1 -1 -1 -1",
                1,
                "no processors",
            ),
            (
                "1 0 -1 -1 4 -1 -1 4 -1 -1 5 1 1 2 -1 -1 -1 -1",
                1,
                "no job in it ever ran",
            ),
            (
                "JobID|Start\n1|x\n",
                1,
                "lacks the columns Submit, End and NNodes or NCPUS",
            ),
            (
                "JobID|Submit|Start|End|NNodes\n1|2026-01-01T00:00:00|2026-13-01T00:00:00|2026-01-01T00:00:00|1\n",
                2,
                "`2026-13-01T00:00:00`",
            ),
            (
                "JobID|Submit|Start|End|NNodes\n1|2026-01-01T00:00:00|2026-01-02T00:00:00|2026-01-01T00:00:00|1\n",
                2,
                "ends before it starts",
            ),
            (
                "JobID|Submit|Start|End|NNodes\n1|2026-01-01T00:00:00|2026-01-02T00:00:00\n",
                2,
                "has 3 fields, and the head has 5",
            ),
        ] {
            let found = read(text).unwrap_err();
            assert_eq!(found.place, Place::Line(line), "{text}");
            assert!(found.message.contains(problem), "{text}: {found}");
        }
    }
}
