//! Which options of `flitwise run` belong together.

use crate::cli::error::CliError;

// A result depends on these.
pub(super) const NO_SPLIT: &str = "--no-split";
pub(super) const EXPLAIN: &str = "--explain";
pub(super) const UNTIL_SATURATED: &str = "--stop-when-saturated";

const OF_ONE_RUN: &[&str] = &[EXPLAIN, "--timeline", "--messages"];
const OF_JOBS: &[&str] = &[NO_SPLIT, UNTIL_SATURATED];
const OF_RESULTS: &[&str] = &["--json", "--quiet"];
const KEPT: &[&str] = &["--out", "--records"];

/// The work of a command, on which it depends which options mean something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// A load curve: there is no job.
    Loads,
    /// A study.
    ManyRuns,
    /// The plan of a study.
    ListOfRuns,
    /// The estimate of a single run.
    Estimate,
}

/// Refuses the first of the options `given` that `work` would ignore.
pub(super) fn check(given: &[&str], work: Work) -> Result<(), CliError> {
    let (idle, problem): (&[&[&str]], _) = match work {
        Work::Loads => (
            &[OF_ONE_RUN, OF_JOBS],
            "is for jobs, and the experiment measures background traffic without one: leave out the option, or add a [[job]]",
        ),
        Work::ManyRuns => (
            &[OF_ONE_RUN],
            "is for one run; leave out --seeds, --vary and --until-ci, or give the option to one of the runs: with --out \
             the study keeps the command of the slowest in slowest-run/command.txt",
        ),
        Work::ListOfRuns => (
            &[OF_ONE_RUN, OF_RESULTS],
            "does nothing where runs are only listed; leave out the option, or --dry-run and --estimate",
        ),
        Work::Estimate => (
            &[OF_ONE_RUN, OF_JOBS, OF_RESULTS, KEPT],
            "does nothing in an estimate, which keeps no result; leave out the option, or --estimate",
        ),
    };
    match idle.concat().iter().find(|option| given.contains(option)) {
        Some(option) => Err(CliError::BadInput(format!("{option} {problem}"))),
        None => Ok(()),
    }
}
