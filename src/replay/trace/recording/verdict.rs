//! Verdict on a recording: what its streams say, then whether the ranks agree on messages and collectives.

use super::{RecordingFile, remarks};
use crate::trace::summary::sent;
use crate::trace::verdict::{Count, Verdict, whole};
use crate::trace::{Reading, TraceFile};
use flitwise_base::stop::Stop;
use flitwise_formats::recording::{Set, check};
use flitwise_formats::source::Input;
use flitwise_formats::{Error, Problem, Problems};

pub(super) fn verdict(input: &Input) -> anyhow::Result<Verdict> {
    let set = match Set::of_input(input, Stop::never()) {
        Ok(set) => set,
        Err(e) => {
            let errors = one(refusal(input, anyhow::Error::new(e))?);
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
                // Calls that can't be replayed are no fault of the recording.
                if let Err(e) = file.open(&Reading::default(), Stop::never()) {
                    let problem = whole(&path, &format!("{e:#}"));
                    verdict.warnings.extend(one(problem));
                }
                for remark in remarks(&found) {
                    verdict.warnings.extend(one(whole(&path, &remark)));
                }
                match agree(&file, &mut verdict) {
                    Ok(sent) => counts.extend(sent),
                    Err(e) => verdict.errors.extend(one(refusal(input, e)?)),
                }
            }
            Err(e) => verdict.errors = one(refusal(input, e)?),
        }
    }
    verdict.counts = Some(counts);
    Ok(verdict)
}

/// Compares the ranks, and counts their messages and bytes.
fn agree(file: &RecordingFile, verdict: &mut Verdict) -> anyhow::Result<[Count; 2]> {
    let agreement = file.agreement(Stop::never())?;
    verdict.errors.extend(agreement.errors);
    verdict.warnings.extend(agreement.warnings);
    for remark in file.reach_remarks() {
        verdict.warnings.extend(one(whole(file.set.path(), remark)));
    }
    let (traffic, _) = sent(file, None)?;
    Ok([
        Count::new("messages", traffic.messages),
        Count::new("bytes", traffic.bytes),
    ])
}

fn one(problem: Problem) -> Problems {
    Problems {
        first: vec![problem],
        total: 1,
    }
}

/// The problem for which the recording is refused; an error if it is not at fault.
fn refusal(input: &Input, error: anyhow::Error) -> anyhow::Result<Problem> {
    if let Some(problem) = error.downcast_ref::<Problem>() {
        return Ok(problem.clone());
    }
    match error.downcast_ref::<Error>() {
        Some(e) if e.is_full_disk() => Err(error),
        _ => Ok(whole(input.path(), &format!("{error:#}"))),
    }
}
