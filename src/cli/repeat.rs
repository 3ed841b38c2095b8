//! `flitwise run DIR`: repeats the result in a directory, and compares the two.

use super::{CliError, tell};
use flitwise::config::{Origin, Plan};
use flitwise::results::document::Engine;
use flitwise::results::{COMMAND_FILE, EXPERIMENT_FILE};
use flitwise::run::{Session, TraceDigest};
use flitwise::study::{STUDY_FILE, TABLE_FILES};
use flitwise_base::quote::cut;
use std::path::{Path, PathBuf};

/// The file that is compared.
const RESULT: &str = "result.json";

/// A result that is repeated.
#[derive(Debug)]
pub(super) struct Repeated {
    /// Its file.
    result: PathBuf,
    /// The text of the file before the run; `None`: there is no such file.
    before: Option<String>,
}

/// The file of the experiment that `path` names, and the result that it repeats, if `path` is a result or its directory.
pub(super) fn experiment(path: &Path) -> Result<(PathBuf, Option<Repeated>), CliError> {
    let dir = if path.is_dir() {
        path
    } else if path.file_name().is_some_and(|name| name == RESULT) {
        path.parent().unwrap_or(Path::new(""))
    } else {
        return Ok((path.to_owned(), None));
    };
    let (file, result) = (dir.join(EXPERIMENT_FILE), dir.join(RESULT));
    if file.is_file() {
        let before = std::fs::read_to_string(&result).ok();
        return Ok((file, Some(Repeated { result, before })));
    }
    let shown = path.display();
    if dir.join(STUDY_FILE).is_file() {
        return Err(CliError::BadInput(format!(
            "`{shown}` holds a study; `flitwise study {shown}` repeats it"
        )));
    }
    if result.is_file() {
        return Err(CliError::BadInput(format!(
            "`{shown}` holds a result without {EXPERIMENT_FILE}, which earlier versions did not write; take the command \
             in command.txt"
        )));
    }
    Ok((path.to_owned(), None))
}

/// The options of the result that `plan` repeats.
pub(super) fn has_option(plan: &Plan, option: &str) -> bool {
    let origin = plan.origin.as_ref();
    origin.is_some_and(|origin| origin.options.iter().any(|other| other == option))
}

/// Tells which traces, of those with these digests, have changed since `origin` was written.
pub(super) fn tell_of_changes(origin: &Origin, digests: &[TraceDigest]) -> bool {
    let mut changed = false;
    for TraceDigest { trace, xxh3, .. } in digests {
        let hash = format!("{xxh3:032x}");
        let before = origin.trace.iter().find(|other| other.name == *trace);
        if let Some(before) = before.filter(|before| before.xxh3 != hash) {
            changed = true;
            tell(format_args!(
                "warning: the trace `{}` has changed since the result was written: its content has the hash {hash}, and had {}",
                cut(trace),
                cut(&before.xxh3)
            ));
        }
    }
    let here = env!("CARGO_PKG_VERSION");
    if let Some(version) = origin.version.as_deref().filter(|&version| version != here) {
        changed = true;
        tell(format_args!(
            "warning: Flitwise {} wrote the result, and this is Flitwise {here}",
            cut(version)
        ));
    }
    changed
}

impl Repeated {
    /// Tells before the run what has changed since the result was written. The traces of `plan` are read.
    pub(super) fn tell_of_changes(&self, plan: &Plan, session: &Session) {
        let Some(origin) = &plan.origin else {
            return;
        };
        if tell_of_changes(origin, &session.digests(plan)) {
            return;
        }
        let hash = session.experiment_hash(plan);
        if (origin.experiment_hash.as_ref()).is_some_and(|before| *before != hash) {
            tell(format_args!(
                "warning: the experiment has changed since the result was written: {EXPERIMENT_FILE}, or a file that it names"
            ));
        }
    }

    /// Says whether the new result.json, `text`, is the same as the old one.
    ///
    /// # Errors
    /// If it is not.
    pub(super) fn compare(&self, text: &str) -> Result<(), CliError> {
        let result = self.result.display();
        let Some(before) = &self.before else {
            tell(format_args!("there is no `{result}` to compare with"));
            return Ok(());
        };
        let (before, now) = (without_speed(before), without_speed(text));
        if before == now {
            tell(format_args!(
                "the same bytes as `{result}`, except for the times of `engine`"
            ));
            return Ok(());
        }
        let mut lines = (1..).zip(before.lines().zip(now.lines()));
        let differs = lines.find(|(_, (before, now))| before != now);
        Err(CliError::Failed(match differs {
            Some((line, (before, now))) => format!(
                "the result differs from `{result}`, first in line {line}: `{}` there, `{}` here",
                cut(before.trim()),
                cut(now.trim())
            ),
            None => format!("the result differs from `{result}`: one of them is longer"),
        }))
    }
}

/// Says whether the tables of the study in `now` are the same as those in `before`.
///
/// # Errors
/// If one of them is not.
pub(super) fn compare_tables(before: &Path, now: &Path) -> Result<(), CliError> {
    let own = [STUDY_FILE, COMMAND_FILE];
    let tables = TABLE_FILES.iter().filter(|name| !own.contains(name));
    let read = |dir: &Path, name: &str| std::fs::read(dir.join(name)).ok();
    let mut differ = tables.filter(|name| read(before, name) != read(now, name));
    let shown = before.display();
    match differ.next() {
        None => {
            tell(format_args!(
                "the tables are the same bytes as those in `{shown}`"
            ));
            Ok(())
        }
        Some(name) => Err(CliError::Failed(format!(
            "`{name}` differs from the one in `{shown}`"
        ))),
    }
}

/// `result.json` without the values that differ from run to run.
fn without_speed(text: &str) -> String {
    let mut in_engine = false;
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        match line {
            "  \"engine\": {" => in_engine = true,
            "  }," | "  }" => in_engine = false,
            _ => {}
        }
        let key = line.trim_start().split('"').nth(1).unwrap_or_default();
        if in_engine && Engine::SPEED_KEYS.contains(&key) {
            continue;
        }
        // A study leaves these values out, and what is then last has no comma.
        kept += if in_engine {
            line.trim_end_matches(',')
        } else {
            line
        };
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_of_the_engine_may_differ() {
        let text = |seed: u32, wall: &str| {
            format!(
                "{{\n  \"seed\": {seed},\n  \"engine\": {{\n    \"threads\": 1{wall}\n  }},\n  \"wall_s\": 1\n}}\n"
            )
        };
        let with_wall = text(1, ",\n    \"wall_s\": 1.5");
        assert_eq!(without_speed(&with_wall), without_speed(&text(1, "")));
        assert_ne!(without_speed(&text(1, "")), without_speed(&text(2, "")));
    }
}
