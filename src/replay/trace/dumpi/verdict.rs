//! Verdict on a DUMPI trace: what its files say, then whether the ranks agree on their communicators, on messages and
//! on collectives.

use super::DUMPI;
use crate::trace::recorded::{add_agreement, refused, sent_counts, warn, warn_of_opening};
use crate::trace::verdict::{Count, Verdict};
use flitwise_base::stop::Stop;
use flitwise_base::units::human_count;
use flitwise_formats::dumpi::{Set, check_seen};
use flitwise_formats::source::Input;
use flitwise_formats::{Error, Problems};

pub(super) fn verdict(input: &Input) -> anyhow::Result<Verdict> {
    let set = Set::of_input(input, Stop::never())?;
    let found = check_seen(&set, &mut |_, _| {}, Stop::never())?;
    let calls = found.total(|rank| rank.calls);
    let mut verdict = Verdict {
        errors: found.errors,
        warnings: found.warnings,
        ..Verdict::default()
    };
    let mut counts = vec![
        Count::new("ranks", set.ranks().into()),
        Count::new("calls", calls),
    ];
    if verdict.errors.is_empty() {
        match (DUMPI.check)(input, Stop::never()) {
            Ok(file) => {
                warn_of_opening(&mut verdict, set.path(), &*file);
                add_agreement(&mut verdict, &*file)?;
                if let Some(left_out) = polls_left_out(&set)? {
                    warn(&mut verdict, set.path(), &left_out);
                }
                counts.extend(sent_counts(&*file)?);
            }
            Err(e) => verdict.errors = Problems::one(refused(set.path(), e)?),
        }
    }
    verdict.counts = Some(counts);
    Ok(verdict)
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
