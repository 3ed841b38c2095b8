//! The study that a directory holds before this one.

use crate::cli::console::tell;
use crate::cli::error::CliError;
use crate::cli::out::{difference, refuse};
use flitwise::config::Study;
use flitwise::study::{Grid, Prepared, STUDY_FILE, STUDY_RESULT_FILE, base_experiments};
use flitwise_base::quote::cut;
use flitwise_formats::source::read_regular;
use hashbrown::HashSet;
use serde_json::Value;
use std::path::Path;

/// A directory, and the study that is to fill it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub path: &'a Path,
    pub study: &'a Study,
    /// The runs of the study.
    pub runs: &'a [Prepared],
    /// Whether the study replaces any other; `None`: its command has no option for that.
    pub force: Option<bool>,
}

impl Place<'_> {
    /// Refuses a directory with another study: one of another name, with other axes or another base experiment. Further
    /// seeds and settings extend a study; a note tells which ones the tables lose.
    ///
    /// # Errors
    /// If it holds another study.
    pub(super) fn check(self) -> Result<(), CliError> {
        if self.force == Some(true) {
            return Ok(());
        }
        let text = read_regular(&self.path.join(STUDY_RESULT_FILE)).unwrap_or_default();
        let there: Value = serde_json::from_slice(&text).unwrap_or_default();
        let file = self.path.join(STUDY_FILE);
        if file.is_file() {
            let earlier = Study::load(&file).map_err(|e| {
                let why = format!("`{}` is damaged ({})", file.display(), e.problem);
                self.refused(&why, "study")
            })?;
            let axes = earlier.axes.iter().map(|axis| &*axis.name);
            self.check_names(&earlier.name, axes)?;
            self.check_base(&earlier)?;
            if !there.is_null() {
                self.tell_of_losses(&earlier);
            }
            return Ok(());
        }
        // Tables of a version that wrote no study.toml.
        let Some(name) = there["name"].as_str() else {
            return Ok(());
        };
        let axes = there["axes"].as_array().into_iter().flatten();
        self.check_names(name, axes.filter_map(|axis| axis["name"].as_str()))?;
        let topology = self.runs.first().map_or(Value::Null, Prepared::topology);
        match there.get("topology") {
            Some(other) if *other != topology => Err(self.same_name("another topology")),
            _ => Ok(()),
        }
    }

    fn check_names<'a>(
        &self,
        name: &str,
        axes: impl Iterator<Item = &'a str>,
    ) -> Result<(), CliError> {
        if name != self.study.name {
            let why = format!(
                "`{}` holds the study `{}`, and this one is called `{}`",
                self.path.display(),
                cut(name),
                cut(&self.study.name)
            );
            return Err(self.refused(&why, "study"));
        }
        if !axes.eq(self.study.axes.iter().map(|axis| &*axis.name)) {
            return Err(self.same_name("other axes"));
        }
        Ok(())
    }

    fn check_base(&self, earlier: &Study) -> Result<(), CliError> {
        let shown = self.path.display();
        let both = base_experiments(earlier, self.study).map_err(|e| {
            let (key, problem) = (&e.key, &e.problem);
            let why = format!(
                "`{shown}` holds a study that cannot be compared with this one ({key}: {problem})"
            );
            self.refused(&why, "study")
        })?;
        // A static analysis replaces any other one of the same fabric.
        let [there, here] = both.map(|mut experiment| {
            experiment["congestion"] = Value::Null;
            experiment
        });
        match difference(&there, &here) {
            None => Ok(()),
            Some(differs) => {
                let why = format!(
                    "`{shown}` holds the result of another experiment than `{}`, {differs}",
                    self.study.base.name
                );
                Err(self.refused(&why, "result"))
            }
        }
    }

    fn same_name(&self, differs: &str) -> CliError {
        let shown = self.path.display();
        let why = format!("`{shown}` holds a study of the same name with {differs}");
        self.refused(&why, "study")
    }

    /// An error about the directory, with its cure; `what` the directory holds.
    fn refused(&self, why: &str, what: &str) -> CliError {
        let cure = match self.force {
            Some(_) => format!("replace the {what} with --force"),
            None => "remove it".to_owned(),
        };
        refuse(format_args!("{why}; name another directory, or {cure}"))
    }

    /// Tells which points and seeds of `earlier` the new tables do not have.
    fn tell_of_losses(&self, earlier: &Study) {
        let (Ok(before), Ok(now)) = (Grid::of(earlier.clone()), Grid::of(self.study.clone()))
        else {
            return;
        };
        let names: HashSet<String> = (0..now.points.len()).map(|at| now.name(at)).collect();
        let points = (0..before.points.len()).map(|at| before.name(at));
        let points: Vec<String> = points.filter(|name| !names.contains(name)).collect();
        let seeds = before.seeds().unwrap_or_default().into_iter();
        let seeds = seeds.filter(|seed| self.runs.iter().all(|run| run.seed != *seed));
        let seeds = seeds.map(|seed| format!("seed {seed}"));
        let lost: Vec<String> = points.into_iter().chain(seeds).collect();
        let Some(first) = lost.first() else {
            return;
        };
        let more = match lost.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        tell(format_args!(
            "note: the tables in `{}` lose {}{more}; the records stay",
            self.path.display(),
            cut(first)
        ));
    }
}
