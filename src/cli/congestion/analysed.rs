//! The results of one candidate.

use super::candidates::Candidate;
use flitwise::oblivious::{Analysis, HotCable, Outcome, Settings, Spreads, WorstCase};
use flitwise::run::{Check, TraceDigest};
use std::rc::Rc;

/// The results of one candidate.
pub(super) struct Analysed {
    /// Its name in tables and figures.
    pub(super) label: String,
    pub(super) candidate: Rc<Candidate>,
    pub(super) settings: Settings,
    pub(super) analysis: Analysis,
    /// The cables that the text, the JSON and the tables list, at least as many as each asks for.
    pub(super) hottest: Vec<HotCable>,
    pub(super) spreads: Spreads,
    pub(super) worst: Option<WorstCase>,
    pub(super) check: Option<Check>,
    /// The trace whose messages are analysed.
    pub(super) trace: Option<TraceDigest>,
}

impl Analysed {
    pub(super) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            label: &self.label,
            network: &self.candidate.network,
            survey: &self.candidate.survey,
            settings: &self.settings,
            analysis: &self.analysis,
            hottest: &self.hottest,
        }
    }
}
