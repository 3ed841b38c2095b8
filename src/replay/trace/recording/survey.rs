//! The facts about a recording that its replay needs beforehand, found while the recording is checked.

use super::communicators::Comms;
use super::outcomes::{Lookup, Outcomes};
use super::unsupported::UnsupportedKind;
use crate::program::RankId;
use crate::trace::recorded::Unsupported;
use crate::trace::regions::Regions;
use flitwise_base::quote::cut;
use flitwise_base::stop::Stop;
use flitwise_formats::limits::MAX_OUTCOMES;
use flitwise_formats::recording::{
    Call, Check, Item, Matching, Phase, Record, Refusal, Set, check_seen,
};
use std::borrow::Cow;

/// The facts about a recording.
pub(super) struct Known {
    pub comms: Comms,
    /// By rank.
    pub outcomes: Vec<Outcomes>,
    pub unsupported: Unsupported,
    /// Messages and collectives between ranks.
    pub communication: u64,
    /// The marks that the program set by MPI_Pcontrol.
    pub marks: u64,
    pub regions: Regions,
}

/// Looks at the calls of all ranks.
struct Survey {
    matching: Matching,
    outcomes: Vec<Outcomes>,
    lookup: Lookup,
    found_before: usize,
    communication: u64,
    marks: u64,
    regions: Regions,
    rank: u32,
}

/// Checks a recording and finds the facts about it.
///
/// # Errors
/// If a file can't be read, the user stops the check, or there is too much to keep. Problems of the recording are in the
/// check; without any there are facts.
pub(super) fn survey(set: &Set, stop: Stop<'_>) -> anyhow::Result<(Check, Option<Known>)> {
    let mut survey = Survey {
        matching: Matching::new(set.ranks()),
        outcomes: Vec::new(),
        lookup: Lookup::default(),
        found_before: 0,
        communication: 0,
        marks: 0,
        regions: Regions::default(),
        rank: 0,
    };
    let mut see = |rank: u32, phase: Phase, item: &Item<'_>| survey.see(rank, phase, item);
    let mut check = check_seen(set, &mut see, stop)?;
    if !check.is_clean() {
        return Ok((check, None));
    }
    survey.reach(set.ranks());
    let made = match survey.matching.finish() {
        Ok(made) => made,
        Err((rank, why)) => {
            check.errors.add(|| flitwise_formats::Problem {
                path: set
                    .file(rank)
                    .map_or_else(|| set.path().into(), std::sync::Arc::clone),
                place: None,
                message: format!(
                    "rank {rank}: {why}; the streams are not of one run, or one is damaged"
                ),
            });
            return Ok((check, None));
        }
    };
    let mut known = Known {
        comms: Comms::new(made),
        outcomes: survey.outcomes,
        unsupported: Unsupported::default(),
        communication: survey.communication,
        marks: survey.marks,
        regions: survey.regions,
    };
    known.find_unsupported(set, &check, stop)?;
    Ok((check, Some(known)))
}

/// The region that a call of `MPI_Pcontrol` marks, and whether it enters it.
pub(super) fn mark(level: i64, text: &str) -> Option<(Cow<'_, str>, bool)> {
    // The standard gives the levels 0 to 2 a meaning.
    let name = match level.unsigned_abs() {
        0 => return None,
        _ if !text.is_empty() => Cow::Borrowed(text),
        1 | 2 => return None,
        number => Cow::Owned(number.to_string()),
    };
    Some((name, level > 0))
}

/// Whether a call communicates with another process: MPI_COMM_SELF has none.
fn communicates(call: &Call<'_>) -> bool {
    call.communicates() && call.comm() != Some(1)
}

impl Survey {
    fn see(&mut self, rank: u32, phase: Phase, item: &Item<'_>) -> Refusal {
        self.reach(rank);
        match item {
            Item::Communicator(comm) => self.matching.add(rank, comm),
            Item::Call(record) => {
                self.lookup.see(phase, record);
                if phase != Phase::End {
                    self.count(record)?;
                }
                if self.found_before + self.lookup.len() > MAX_OUTCOMES {
                    return Err(
                        "the ranks post too many receives from anyone to follow them".to_owned(),
                    );
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, record: &Record<'_>) -> Refusal {
        self.communication += u64::from(communicates(&record.call));
        if let Call::Control(level, text) = &record.call {
            self.marks += 1;
            if let Some((name, _)) = mark(*level, text) {
                self.regions.add(&name)?;
            }
        }
        Ok(())
    }

    /// Ends the ranks before `rank`, which may have no calls at all.
    fn reach(&mut self, rank: u32) {
        while self.rank < rank {
            let outcomes = std::mem::take(&mut self.lookup).finish();
            self.found_before += outcomes.len();
            self.outcomes.push(outcomes);
            self.rank += 1;
        }
    }
}

impl Known {
    /// Finds the calls that can't be replayed: in a second pass, when communicators are known, and only if there may be any.
    fn find_unsupported(&mut self, set: &Set, check: &Check, stop: Stop<'_>) -> anyhow::Result<()> {
        let may = check.has_outside || self.comms.are_odd();
        for rank in (0..set.ranks()).filter(|_| may) {
            stop.check()?;
            let mut stop = stop.every(crate::program::STOP_EVERY);
            let id = RankId::new(rank);
            let mut reader = set.reader(rank)?;
            while reader
                .next(|phase, item| {
                    if let (Item::Call(record), true) = (item, phase != Phase::End) {
                        let comm = record.call.comm();
                        let comm = comm.and_then(|comm| self.comms.get(id, comm));
                        if let Some(kind) =
                            UnsupportedKind::of(&record.call, comm.map(|comm| &**comm))
                        {
                            let first = || {
                                let name = cut(&record.function.name);
                                format!("{name} of rank {rank} at byte {}", record.offset)
                            };
                            self.unsupported.add(kind as usize, record.repeats, first);
                            let counted = u64::from(communicates(&record.call));
                            self.communication = self.communication.saturating_sub(counted);
                        }
                    }
                })?
                .is_some()
            {
                stop.check()?;
            }
        }
        Ok(())
    }
}
