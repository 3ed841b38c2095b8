//! The slowest run of a study, whose details reports show.

use super::bad_run;
use crate::cli::command_line;
use crate::cli::error::{CliError, bad_config};
use crate::cli::run::{options_of, write_result};
use flitwise::config::Study;
use flitwise::results::{COMMAND_FILE, EXPERIMENT_FILE, result_json, summary};
use flitwise::run::{Control, Session};
use flitwise::study::Studied;
use std::path::Path;

/// Writes the results of the slowest run into `dir`, which becomes `place`. Its tasks are recorded,
/// so nothing is simulated.
pub(super) fn write(
    dir: &Path,
    place: &Path,
    studied: &Studied,
    session: &mut Session,
) -> Result<(), CliError> {
    let Some((point, seed)) = studied.slowest() else {
        return Ok(());
    };
    let grid = &studied.grid;
    let mut plan = grid
        .plan(point, Some(seed))
        .map_err(|e| bad_config(None, &e))?;
    let varies = Some(grid.name(point)).filter(|name| !name.is_empty());
    let name = varies.map_or_else(
        || grid.study.name.clone(),
        |point| format!("{}, {point}", grid.study.name),
    );
    plan.set_name(&format!("{name}, seed {seed}"));
    let result = session.run(&plan, &Control::default()).map_err(bad_run)?;
    let (mut json, text) = (result_json(&plan, &result), summary(&plan, &result, false));
    // Its wall-clock time differs each time, and nothing else in the directory of a study does.
    json.engine.without_speed();
    let write_all = || -> anyhow::Result<()> {
        let options = options_of(&plan, false);
        write_result(dir, &plan, &result, &json, &text, options)?;
        let command = run_command(&grid.study, &grid.points[point].choice, seed, place);
        Ok(std::fs::write(dir.join(COMMAND_FILE), command)?)
    };
    write_all().map_err(|e| CliError::Failed(format!("cannot write `{}`: {e:#}", dir.display())))
}

/// The command that repeats a run alone: with the file of its experiment, or with the one in `place` if it has no other.
fn run_command(study: &Study, choice: &[usize], seed: u64, place: &Path) -> String {
    const OPTIONS: &str = "--explain --timeline ranks.pftrace --out DIR";
    if study.base.key.is_some() {
        let file = place.join(EXPERIMENT_FILE).display().to_string();
        return format!("flitwise run {} {OPTIONS}\n", command_line::quoted(&file));
    }
    let axes = study.axes.iter().zip(choice);
    let chosen = axes.flat_map(|(axis, &setting)| &axis.settings[setting].overrides);
    let mut command = format!("flitwise run {}", command_line::quoted(&study.base.name));
    for set in study.sets.iter().chain(chosen) {
        command += &format!(" --set {}", command_line::quoted(&set.text));
    }
    format!("{command} --seed {seed} {OPTIONS}\n")
}
