//! One run of an experiment: it is simulated, and its result is written and printed.

use super::console::{print, print_summary};
use super::error::CliError;
use super::out::{Part, Target};
use super::progress::Shown;
use super::repeat::{Compared, Repeated};
use super::run::{
    RunArgs, committed, failed, for_output, options_of, outcome_of, say_written, scratch,
    series_files, write_result,
};
use super::timeline::Watching;
use super::warnings;
use flitwise::config::Plan;
use flitwise::results::document::Document;
use flitwise::results::{SeriesFiles, result_json, summary};
use flitwise::run::{Control, RunResult, Session};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// An experiment, and how it runs.
pub(super) struct OneRun<'a> {
    pub args: &'a RunArgs,
    pub file: &'a Path,
    pub sets: &'a [String],
    pub plan: &'a Plan,
    /// The result that it repeats.
    pub repeated: Option<&'a Repeated>,
    /// It ends when it is found saturated.
    pub until_saturated: bool,
}

impl OneRun<'_> {
    /// Simulates it, and writes and prints its result.
    pub(super) fn execute(
        &self,
        mut session: Session,
        target: Option<Target>,
        stop: &'static AtomicBool,
    ) -> Result<(), CliError> {
        let (args, plan) = (self.args, self.plan);
        // Opens the files before the run: a long run must not fail at its end.
        let part = target.map(Target::begin).transpose()?;
        // A result that is only compared is written, too.
        let scratch = match (self.repeated, &part) {
            (Some(_), None) => Some(scratch()?),
            _ => None,
        };
        let kept = part.as_ref().map(Part::path);
        let dir = kept.or(scratch.as_ref().map(TempDir::path));
        let series = series_files(plan, dir)?;
        let watching = args.timeline.begin(plan, self.file, kept)?;
        let result = self.simulate(&mut session, series.as_ref(), &watching, stop)?;

        warnings::tell_all(plan, &result);
        warnings::tell_of_one_thread(args.threads, &plan.experiment);
        let text = summary(plan, &result, plan.explain);
        let json = result_json(plan, &result);
        // Its overview is one of the files of the result.
        let drawn = watching.finish();
        let files = dir.map_or(Ok(()), |dir| {
            let options = options_of(plan, self.until_saturated);
            write_result(dir, plan, &result, &json, &text, options)?;
            series.map_or(Ok(()), |series| series.finish(&result))
        });
        let files = files.map_err(|e| match &part {
            Some(part) => part.failed(format_args!("{e:#}")),
            None => CliError::Failed(format!("{e:#}")),
        });
        let compared = match (self.repeated, dir, &files) {
            (Some(repeated), Some(dir), Ok(())) => Some(repeated.compare(dir)),
            _ => None,
        };
        let written = files.and_then(|()| part.map(committed).transpose());
        // Printed even if the files could not be written, so that a long run is not lost.
        let printed = self.print(&text, &json);
        let quiet = args.quiet || args.json;
        if let (Some(names), Some(dir), false) = (written?, &args.out, quiet) {
            say_written(dir, &names);
        }
        drawn?;
        args.timeline.say_written(quiet);
        compared.map_or(Ok(()), Compared::tell)?;
        // A closed terminal takes no results.
        outcome_of(&result.status(plan)).and(printed)
    }

    fn simulate(
        &self,
        session: &mut Session,
        series: Option<&SeriesFiles<'_>>,
        watching: &Watching<'_>,
        stop: &'static AtomicBool,
    ) -> Result<RunResult, CliError> {
        let plan = self.plan;
        let shown = Shown::new(self.args.quiet);
        let mut control = Control::default().stopped_by(stop).reporting_to(&shown);
        if let Some(files) = series {
            control = control.recorded_by(files);
        }
        if self.until_saturated {
            control = control.ending_when_saturated();
        }
        let outcome = watching.with(|watch| {
            if plan.origin.is_some() {
                session.prepare(plan, &control)?;
            }
            if let Some(repeated) = self.repeated {
                repeated.tell_of_changes(plan, &*session);
            }
            match watch {
                Some(watch) => session.run(plan, &control.seen_by(watch)),
                None => session.run(plan, &control),
            }
        });
        shown.finish();
        outcome.map_err(|e| failed(&e, self.file, self.sets))
    }

    /// Prints the result as the options want it.
    fn print(&self, summary: &str, json: &Document) -> Result<(), CliError> {
        match (self.args.json, self.args.quiet) {
            (true, _) => print(&for_output(json)?),
            (false, false) => print_summary(summary),
            (false, true) => Ok(()),
        }
    }
}
