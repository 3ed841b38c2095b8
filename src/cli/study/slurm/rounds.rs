//! The submitted arrays, on disk: a directory for each, `DIR/cluster/N`, with the list of its tasks. The directory is
//! written before the array is submitted, and the name of the array leads back to it. So nothing is lost, whenever this
//! process ends.

use super::client::Element;
use crate::cli::command_line::quoted;
use crate::cli::error::CliError;
use flitwise::run::TaskId;
use flitwise::study::StudyTask;
use flitwise_formats::sink::{Batch, Sink};
use flitwise_formats::source::{read_regular, read_regular_text};
use flitwise_formats::temporary;
use hashbrown::HashSet;
use std::path::{Path, PathBuf};

/// All arrays of a study.
pub(super) struct Rounds {
    dir: PathBuf,
    /// Name of the study in names of arrays, with a suffix that distinguishes it from others of that name.
    id: String,
    all: Vec<Round>,
}

/// An array.
pub(super) struct Round {
    dir: PathBuf,
    /// Name of the array.
    pub name: String,
    /// Pattern of its logs.
    pub log: PathBuf,
    /// Tasks of an element.
    size: usize,
    tasks: Vec<StudyTask>,
}

/// Writes a file, which appears only when it is complete.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut files = Batch::default();
    files.add(Sink::replace(path)?, text.as_bytes())?;
    Ok(files.finish()?)
}

impl Rounds {
    /// The arrays of the study called `name` in `dir`; the first time none.
    pub(super) fn open(dir: &Path, name: &str) -> Result<Self, CliError> {
        let bad = |e: anyhow::Error| {
            CliError::BadInput(format!("--out: cannot write `{}`: {e:#}", dir.display()))
        };
        let dir = std::path::absolute(dir.join("cluster")).map_err(|e| bad(e.into()))?;
        if dir.to_str().is_none() {
            return Err(bad(anyhow::anyhow!(
                "scripts of Slurm name the directory, which is no text in UTF-8; name another one"
            )));
        }
        std::fs::create_dir_all(&dir).map_err(|e| bad(e.into()))?;
        let file = dir.join("name");
        if !file.exists() {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let name: String = name.chars().take(40).map(plain).collect();
            let random = temporary::unique();
            let random = random.rsplit('-').next().unwrap_or_default();
            write(&file, &format!("{name}.{random}\n")).map_err(bad)?;
        }
        // Running a cancelled study again revokes the cancellation; mostly there is no such file.
        let _ = std::fs::remove_file(dir.join("cancelled"));
        Self::read(dir)
    }

    /// The arrays of the study in `dir`.
    pub(super) fn existing(dir: &Path) -> Result<Self, CliError> {
        if dir.join("cluster").join("name").is_file() {
            Self::read(dir.join("cluster"))
        } else {
            Err(CliError::BadInput(format!(
                "`{}` is not the directory of a study that ran with --engine slurm",
                dir.display()
            )))
        }
    }

    fn read(dir: PathBuf) -> Result<Self, CliError> {
        let bad = |e: std::io::Error| {
            CliError::BadInput(format!(
                "cannot read `{}`: {e}; remove the directory to begin anew",
                dir.display()
            ))
        };
        let id = read_regular_text(&dir.join("name")).map_err(bad)?;
        let id = id.trim().to_owned();
        let mut numbers: Vec<u32> = std::fs::read_dir(&dir)
            .map_err(bad)?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let all = numbers.iter().map(|&number| Round::read(&dir, &id, number));
        let all = all.collect();
        Ok(Self { dir, id, all })
    }

    /// Ends every process that follows the study.
    pub(super) fn cancel(&self) -> anyhow::Result<()> {
        write(&self.dir.join("cancelled"), "")
    }

    /// Whether the study was cancelled since this command began.
    pub(super) fn is_cancelled(&self) -> bool {
        self.dir.join("cancelled").exists()
    }

    /// The prefix of the names of all arrays of the study.
    pub(super) fn prefix(&self) -> String {
        format!("{}.", self.id)
    }

    /// Records an array with `size` of `tasks` per element.
    pub(super) fn add(&mut self, tasks: &[StudyTask], size: usize) -> anyhow::Result<&Round> {
        let last = self.all.last().and_then(Round::number).unwrap_or(0);
        let mut round = Round::named(&self.dir, &self.id, last + 1);
        std::fs::create_dir_all(&round.dir)?;
        let mut text = format!("{size}\n");
        for task in tasks {
            text += &format!("{task}\n");
        }
        write(&round.list(), &text)?;
        (round.size, round.tasks) = (size, tasks.to_vec());
        let at = self.all.len();
        self.all.push(round);
        Ok(&self.all[at])
    }

    /// The tasks that these elements have.
    pub(super) fn tasks_of(&self, live: &[Element]) -> HashSet<TaskId> {
        let tasks = live.iter().flat_map(|element| {
            let round = self.all.iter().rfind(|round| round.name == element.name);
            round.map_or(&[][..], |round| round.element(element.index))
        });
        tasks.map(|task| task.id).collect()
    }

    /// The last line printed by the last element with this task, and the file with its whole output.
    pub(super) fn last_words(&self, id: TaskId) -> String {
        let mut rounds = self.all.iter().rev();
        let found = rounds.find_map(|round| {
            let at = round.tasks.iter().position(|task| task.id == id)?;
            Some(round.dir.join(format!("log-{}", at / round.size.max(1))))
        });
        let Some(path) = found else {
            return "no log".to_owned();
        };
        let text = read_regular(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        let last = last.unwrap_or("it printed nothing");
        format!("{} ({})", last.trim(), path.display())
    }
}

impl Round {
    fn named(dir: &Path, id: &str, number: u32) -> Self {
        let dir = dir.join(number.to_string());
        Self {
            name: format!("{id}.{number}"),
            log: dir.join("log-%a"),
            dir,
            size: 1,
            tasks: Vec::new(),
        }
    }

    /// Reads a recorded array. An array without a list was never submitted.
    fn read(dir: &Path, id: &str, number: u32) -> Self {
        let mut round = Self::named(dir, id, number);
        let text = read_regular_text(&round.list()).unwrap_or_default();
        let mut lines = text.lines();
        let size = lines.next().and_then(|line| line.parse().ok());
        round.size = size.unwrap_or(1);
        round.tasks = lines.filter_map(|line| line.parse().ok()).collect();
        round
    }

    fn number(&self) -> Option<u32> {
        self.dir.file_name()?.to_str()?.parse().ok()
    }

    fn list(&self) -> PathBuf {
        self.dir.join("tasks")
    }

    /// The tasks of an element.
    fn element(&self, index: usize) -> &[StudyTask] {
        let chunk = self.tasks.chunks(self.size.max(1)).nth(index);
        chunk.unwrap_or(&[])
    }

    /// Writes the script of an element: `command` with the tasks of the element.
    pub(super) fn script(&self, command: &[String]) -> anyhow::Result<PathBuf> {
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let list = self.list().display().to_string();
        let text = format!(
            "#!/bin/sh\n# The first line of the list is the number of tasks of an element.\n\
             first=$((SLURM_ARRAY_TASK_ID * {size} + 2))\n\
             exec {} $(tail -n +\"$first\" {list} | head -n {size})\n",
            words.join(" "),
            list = quoted(&list),
            size = self.size,
        );
        let path = self.dir.join("script.sh");
        write(&path, &text)?;
        Ok(path)
    }
}
