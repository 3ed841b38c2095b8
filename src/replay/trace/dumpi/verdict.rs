//! Verdict on a DUMPI trace: what its files say, then whether the ranks agree on their communicators, on messages and
//! on collectives.

use super::Dumpi;
use crate::trace::summary::sent;
use crate::trace::verdict::{Count, Verdict, whole};
use crate::trace::{Reading, TraceFormat};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::dumpi::{self, Set, check_seen};
use flitwise_formats::source::Input;
use flitwise_formats::{Error, Problem, Problems};

pub(super) fn verdict(input: &Input) -> anyhow::Result<Verdict> {
    let set = Set::of_input(input, Stop::never())?;
    let found = check_seen(&set, &mut |_, _| {}, Stop::never())?;
    let mut verdict = Verdict {
        errors: located(&set, &found.errors, found.error_total),
        warnings: located(&set, &found.warnings, found.warnings.len() as u64),
        ..Verdict::default()
    };
    let mut counts = vec![
        Count::new("ranks", set.ranks().into()),
        Count::new("calls", found.calls.iter().sum()),
    ];
    if verdict.errors.is_empty() {
        match Dumpi.check(input, Stop::never()) {
            Ok(file) => {
                // Calls that can't be replayed are no fault of the trace.
                if let Err(e) = file.open(&Reading::default(), Stop::never()) {
                    let problem = whole(set.path(), &format!("{e:#}"));
                    verdict.warnings.extend(one(problem));
                }
                let agreement = file.agreement(Stop::never())?;
                verdict.errors.extend(agreement.errors);
                verdict.warnings.extend(agreement.warnings);
                if let Some(left_out) = polls_left_out(&set)? {
                    verdict.warnings.extend(one(whole(set.path(), &left_out)));
                }
                let (traffic, _) = sent(&*file, None)?;
                counts.push(Count::new("messages", traffic.messages));
                counts.push(Count::new("bytes", traffic.bytes));
            }
            Err(e) => verdict.errors = one(refusal(&set, e)?),
        }
    }
    verdict.counts = Some(counts);
    Ok(verdict)
}

/// The problems in the files of `set`, of `total` ones.
pub(super) fn located(set: &Set, first: &[dumpi::Problem], total: u64) -> Problems {
    let first = first.iter().map(|problem| problem.of(set)).collect();
    Problems { first, total }
}

fn one(problem: Problem) -> Problems {
    Problems {
        first: vec![problem],
        total: 1,
    }
}

/// The problem for which the trace is refused; an error if the trace is not at fault.
fn refusal(set: &Set, error: anyhow::Error) -> anyhow::Result<Problem> {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        return Ok(problem.clone());
    }
    match error.downcast_ref::<Error>() {
        Some(e) if e.is_full_disk() => Err(error),
        Some(e) => Ok(whole(set.path(), &e.to_string())),
        None => Ok(whole(set.path(), &format!("{error:#}"))),
    }
}

/// The warning that polls are not in the recording, if some are not.
pub(super) fn polls_left_out(set: &Set) -> Result<Option<String>, Error> {
    let mut polls = 0_u64;
    for rank in 0..set.ranks() {
        polls = polls.saturating_add(set.reader(rank)?.trailer().polls_left_out());
    }
    Ok((polls > 0).then(|| {
        format!(
            "{} polls that found nothing are not recorded: the time of their loops counts as computation if it is longer than the job's poll_gap",
            human_count(polls)
        )
    }))
}
