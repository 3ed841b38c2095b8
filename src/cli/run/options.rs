//! Which options of `flitwise run` belong together.

use super::{CliError, EXPLAIN, NO_SPLIT, RunArgs, UNTIL_SATURATED};

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

/// Refuses the first option that `work` would ignore.
pub(super) fn check(args: &RunArgs, work: Work) -> Result<(), CliError> {
    let [timeline, messages] = args.timeline.files();
    let of_one_run = [
        (EXPLAIN, args.explain),
        (timeline.0, timeline.1.is_some()),
        (messages.0, messages.1.is_some()),
    ];
    let of_jobs = [
        (NO_SPLIT, args.no_split),
        (UNTIL_SATURATED, args.stop_when_saturated),
    ];
    let printed = [("--json", args.json), ("--quiet", args.quiet)];
    let kept = [
        ("--out", args.out.is_some()),
        ("--records", args.records.is_some()),
    ];
    let (options, problem) = match work {
        Work::Loads => (
            [&of_one_run[..], &of_jobs].concat(),
            "is for jobs, and the experiment measures background traffic without one: leave out the option, or add a [[job]]",
        ),
        Work::ManyRuns => (
            of_one_run.to_vec(),
            "is for one run; leave out --seeds, --vary and --until-ci, or give the option to one of the runs: with --out \
             the study keeps the command of the slowest in slowest-run/command.txt",
        ),
        Work::ListOfRuns => (
            [&of_one_run[..], &printed].concat(),
            "does nothing where runs are only listed; leave out the option, or --dry-run and --estimate",
        ),
        Work::Estimate => (
            [&of_one_run[..], &of_jobs, &printed, &kept].concat(),
            "does nothing in an estimate, which keeps no result; leave out the option, or --estimate",
        ),
    };
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(CliError::BadInput(format!("{option} {problem}"))),
        None => Ok(()),
    }
}
