//! The property of the reader of a batch system's records that holds for any text.

use flitwise_formats::schedule;

/// Refused at one of its lines, or jobs in the order of their starts.
pub fn job_schedule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match schedule::read(text) {
        Ok((jobs, _)) => {
            assert!(jobs.is_sorted_by_key(|job| job.started_s));
            for job in jobs {
                assert!(job.started_s <= job.ended_s && job.processors > 0 && job.nodes != Some(0));
            }
        }
        Err(e) => assert!(
            (1..=text.lines().count().max(1) as u64).contains(&e.place.number()),
            "{e}"
        ),
    }
}
