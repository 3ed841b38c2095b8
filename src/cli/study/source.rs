//! The study, and where it is kept.

use super::dir;
use crate::cli::console::tell;
use crate::cli::error::{CliError, bad_config, no_result};
use crate::cli::instead::{self, Wanted};
use clap::Args;
use flitwise::config::Study;
use flitwise::run::RunError;
use flitwise::study::{Grid, STUDY_FILE};
use std::path::{Path, PathBuf};

/// A study, and where it is kept.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// Study file (docs/reference/study.md describes every key), or the directory of a study that has run.
    #[arg(required = true)]
    pub(super) study: Option<PathBuf>,
    /// Directory for records and tables [default: NAME.study, where NAME is the study's, with - for blanks]. A stopped study
    /// resumes there.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Sets a key of the experiment for all runs: background.0.rate=0.1.
    #[arg(long = "set", value_name = "a.b=c")]
    pub(super) sets: Vec<String>,
    /// Seeds instead of the file's: 1..5 with both ends, or 1,2,7.
    #[arg(long, value_name = "SEEDS")]
    pub(super) seeds: Option<String>,
}

impl Source {
    fn named(&self) -> &Path {
        self.study.as_deref().unwrap_or(Path::new(""))
    }

    /// The file of the study, which a directory of a study has, too.
    fn file(&self) -> PathBuf {
        match self.directory() {
            Some(dir) => dir.join(STUDY_FILE),
            None => self.named().to_owned(),
        }
    }

    /// The directory that is named in place of a file.
    fn directory(&self) -> Option<&Path> {
        let dir = Some(self.named()).filter(|dir| dir.is_dir());
        dir.filter(|dir| dir.join(STUDY_FILE).is_file())
    }

    /// The directory whose study is repeated in another one.
    pub(super) fn repeats(&self) -> Option<PathBuf> {
        let (from, to) = (self.directory()?, self.out.as_deref()?);
        let changed = !self.sets.is_empty() || self.seeds.is_some();
        let same = from.canonicalize().ok() == to.canonicalize().ok();
        (!changed && !same).then(|| from.to_owned())
    }

    pub(super) fn load(&self) -> Result<Study, CliError> {
        let file = self.file();
        let mut study = Study::load(&file)
            .map_err(|e| instead::error("study", Wanted::Study, Some(&file), &e))?;
        for set in &self.sets {
            study.set(set);
        }
        if let Some(seeds) = &self.seeds {
            set_seeds(&mut study, seeds)?;
        }
        Ok(study)
    }

    pub(super) fn out(&self, study: &Study) -> PathBuf {
        let default = || dir::usual(&study.name);
        let here = || self.directory().map(Path::to_owned);
        self.out.clone().or_else(here).unwrap_or_else(default)
    }

    /// The command that does tasks of this study in `out`, `jobs` at a time.
    pub(super) fn task_command(&self, out: &Path, jobs: u16) -> std::io::Result<Vec<String>> {
        let absolute = |path: &Path| -> std::io::Result<String> {
            let path = std::path::absolute(path)?;
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| {
                let shown = path.display();
                let problem = format!(
                    "scripts of Slurm name `{shown}`, which is no text in UTF-8; rename it"
                );
                std::io::Error::new(std::io::ErrorKind::InvalidInput, problem)
            })
        };
        let mut words = vec![
            absolute(&std::env::current_exe()?)?,
            "study".to_owned(),
            "task".to_owned(),
            absolute(&self.file())?,
            format!("--out={}", absolute(out)?),
            format!("--jobs={jobs}"),
        ];
        words.extend(self.sets.iter().map(|set| format!("--set={set}")));
        Ok(words)
    }
}

/// Gives `study` the seeds of `--seeds`. A single number is easily taken for a number of seeds.
pub(in crate::cli) fn set_seeds(study: &mut Study, seeds: &str) -> Result<(), CliError> {
    study.set_seeds(seeds).map_err(|e| bad_config(None, &e))?;
    if let [seed] = study.seeds[..]
        && seed > 1
    {
        tell(format_args!(
            "note: --seeds {seed} is one seed, number {seed}; --seeds 1..{seed} runs {seed} of them"
        ));
    }
    Ok(())
}

pub(super) fn grid_of(study: Study) -> Result<Grid, CliError> {
    Grid::of(study).map_err(|e| bad_config(None, &e))
}

pub(super) fn bad_run(e: RunError) -> CliError {
    no_result(&e, |e| bad_config(None, e))
}
