//! The plan of a study: what it would run, and how long that would take.

use super::measured::Measured;
use flitwise::config::Setting;
use flitwise::study::{Estimate, Grid};
use flitwise::units::counted;
use flitwise_base::quote::cut;
use std::time::Duration;

/// Most labels of an axis that a plan lists.
const MOST_LABELS: usize = 50;

/// The first labels of an axis, and how many there are if that is not all.
fn listed(settings: &[Setting]) -> String {
    let first = settings.iter().take(MOST_LABELS);
    let first: Vec<String> = first.map(|s| cut(&s.label).to_string()).collect();
    match settings.len() {
        0..=MOST_LABELS => first.join(", "),
        all => format!("{}, … ({all} values)", first.join(", ")),
    }
}

/// The text about the runs that a study would make.
pub(super) fn text(
    grid: &Grid,
    plan: &Estimate,
    measured: Option<Measured>,
    threads: usize,
) -> String {
    let study = &grid.study;
    let mut text = format!("{}\n", study.name);
    if let Some(description) = &study.description {
        text += &format!("{}\n", description.trim());
    }
    for axis in &study.axes {
        text += &format!("  {}: {}\n", cut(&axis.name), listed(&axis.settings));
    }
    let counts = [
        (grid.points.len(), "point"),
        (plan.runs, "run"),
        (plan.tasks, "task"),
    ];
    let [points, runs, tasks] = counts.map(|(n, one)| counted(n as u64, one));
    text += &format!(
        "{points}, {runs}, {tasks}, of which {} are recorded\n",
        plan.recorded
    );
    if let Some(until) = &study.until_ci {
        text += &format!(
            "and more seeds, up to {}, until intervals are within {} % of the mean\n",
            until.max_seeds,
            100.0 * until.part
        );
    }
    text += &match plan.left {
        Some(Duration::ZERO) => "nothing is left to run\n".to_owned(),
        Some(left) => format!(
            "about {} on {threads} threads, if tasks take as long as recorded ones\n",
            crate::cli::progress::short(left / u32::try_from(threads).unwrap_or(u32::MAX))
        ),
        None => match measured {
            Some(measured) => measured.text(threads),
            None => "the time is unknown, because no run could be measured: start the study, stop it with Ctrl-C, and ask again\n"
                .to_owned(),
        },
    };
    text
}
