//! The Standard Workload Format, version 2.2: a line of 18 numbers per job; -1 is unknown, and `;` begins a comment.
//!
//! Source: Chapin et al., *Benchmarks and Standards for the Evaluation of Parallel Job Schedulers*, 1999, and the pages of
//! the Parallel Workloads Archive.

use super::Ran;
use crate::{PlaceError, at_line};

/// Fields of a line.
const FIELDS: usize = 18;

/// A row per job; `None` for one that never ran.
pub(super) fn rows(text: &str) -> Result<Vec<Option<Ran>>, PlaceError> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let jobs = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with(';'));
    jobs.map(|(line, text)| row(line, text)).collect()
}

fn row(line: usize, text: &str) -> Result<Option<Ran>, PlaceError> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS {
        let problem = format!("has {} fields, and SWF has {FIELDS}", fields.len());
        return at_line(line, problem);
    }
    // `None` is unknown. Averages may have a fraction, but no field that is read here is one.
    let number = |at: usize| match fields[at].parse::<i64>() {
        Ok(number) => Ok(u64::try_from(number).ok()),
        Err(_) => at_line(
            line,
            format!("field {}, `{}`, is no number", at + 1, fields[at]),
        ),
    };
    let [submitted, waited, lasted] = [number(1)?, number(2)?, number(3)?];
    let [allocated, requested, program] = [number(4)?, number(7)?, number(13)?];
    let (Some(submitted_s), Some(waited), Some(lasted)) = (submitted, waited, lasted) else {
        return Ok(None);
    };
    let processors = allocated.or(requested).and_then(|n| u32::try_from(n).ok());
    let Some(processors) = processors.filter(|&n| n > 0) else {
        return at_line(
            line,
            "has no processors, neither allocated (field 5) nor requested (field 8)",
        );
    };
    let started_s = submitted_s.saturating_add(waited);
    Ok(Some(Ran {
        id: fields[0].to_owned(),
        program: program.map(|number| number.to_string()),
        submitted_s,
        started_s,
        ended_s: started_s.saturating_add(lasted),
        processors,
        nodes: None,
        line,
    }))
}
