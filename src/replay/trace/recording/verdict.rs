//! Verdict on a recording: what its streams say, then whether the ranks agree on messages and collectives.

use super::{RecordingFile, remarks};
use crate::trace::recorded::{add_agreement, refused, sent_counts, warn, warn_of_opening};
use crate::trace::verdict::{Count, Verdict};
use flitwise_base::stop::Stop;
use flitwise_formats::Problems;
use flitwise_formats::recording::{Set, check};
use flitwise_formats::source::Input;

pub(super) fn verdict(input: &Input) -> anyhow::Result<Verdict> {
    let set = match Set::of_input(input, Stop::never()) {
        Ok(set) => set,
        Err(e) => {
            let errors = Problems::one(refused(input.path(), anyhow::Error::new(e))?);
            return Ok(Verdict {
                errors,
                ..Verdict::default()
            });
        }
    };
    let (found, path) = (check(&set)?, set.path().to_owned());
    let mut verdict = Verdict {
        errors: found.errors.clone(),
        warnings: found.warnings.clone(),
        ..Verdict::default()
    };
    let mut counts = vec![
        Count::new("ranks", set.ranks().into()),
        Count::new("calls", found.total(|rank| rank.calls)),
    ];
    if verdict.errors.is_empty() {
        match RecordingFile::of(set, Stop::never()) {
            Ok(file) => {
                warn_of_opening(&mut verdict, &path, &file);
                for remark in remarks(&found) {
                    warn(&mut verdict, &path, &remark);
                }
                match agree(&file, &mut verdict) {
                    Ok(sent) => counts.extend(sent),
                    Err(e) => (verdict.errors).extend(Problems::one(refused(input.path(), e)?)),
                }
            }
            Err(e) => verdict.errors = Problems::one(refused(input.path(), e)?),
        }
    }
    verdict.counts = Some(counts);
    Ok(verdict)
}

/// Compares the ranks, and counts their messages and bytes.
fn agree(file: &RecordingFile, verdict: &mut Verdict) -> anyhow::Result<[Count; 2]> {
    add_agreement(verdict, file)?;
    for remark in file.reach_remarks() {
        warn(verdict, file.set.path(), remark);
    }
    sent_counts(file)
}
