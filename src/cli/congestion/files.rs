//! The files of `flitwise congestion --out`.

use super::{Analysed, CongestionArgs, document};
use crate::cli::out::Part;
use crate::cli::{CliError, command_line, json_text, unwritable};
use flitwise::config::{Base, Override, experiment_hash, resolve_with};
use flitwise::figure::{Figure, Theme};
use flitwise::oblivious::{
    Distributions, Outcome, bandwidth_figure, cables_figure, congestion_figure, delay_figure,
    write_tables,
};
use flitwise::results::{ANALYSIS_FIGURES, COMMAND_FILE, EXPERIMENT_FILE, experiment_toml};
use flitwise::run::{Check, check_figure, write_check_table};
use std::path::Path;

/// Width of figures in pixels.
const WIDTH: u32 = 720;
/// The number of cables for which connections are written, unless more are asked for.
pub(super) const CABLES_WITH_FLOWS: usize = 20;

/// Writes the files of an analysis, which take the place of the directory.
pub(super) fn write(
    part: Part,
    args: &CongestionArgs,
    results: &[Analysed],
) -> Result<(), CliError> {
    let failed = |e: anyhow::Error| part.failed(format_args!("{e:#}"));
    let dir = part.path();
    let document = json_text(&document::of(results).map_err(unwritable)?)?;
    part.write("congestion.json", document)?;
    part.write(COMMAND_FILE, command_line::typed())?;
    if let Some(text) = experiment(args, dir) {
        part.write(EXPERIMENT_FILE, text)?;
    }
    let outcomes: Vec<Outcome<'_>> = results.iter().map(Analysed::outcome).collect();
    write_tables(dir, &outcomes, args.format).map_err(failed)?;
    for (number, (one, outcome)) in (1..).zip(results.iter().zip(&outcomes)) {
        let name = |extension: &str| match results.len() {
            1 => format!("cables.{extension}"),
            _ => format!("cables-{number}.{extension}"),
        };
        let mut coloured = Vec::new();
        let cables = &one.analysis.cables;
        let written = one.candidate.network.write_coloured(&mut coloured, cables);
        written.map_err(|e| failed(e.into()))?;
        part.write(&name("dot"), coloured)?;
        if let Some(figure) = cables_figure(outcome, one.candidate.topology()) {
            part.write(&name("svg"), drawn(&figure))?;
        }
    }
    let checks: Vec<(&str, &Check)> = (results.iter())
        .filter_map(|one| Some((one.label.as_str(), one.check.as_ref()?)))
        .collect();
    write_check_table(dir, &checks, args.format).map_err(failed)?;
    let spreads: Vec<Distributions<'_>> = outcomes.iter().map(Outcome::distributions).collect();
    let figures = [
        bandwidth_figure(&spreads),
        check_figure(&checks),
        congestion_figure(&spreads),
        delay_figure(&spreads),
    ];
    for (stem, figure) in ANALYSIS_FIGURES.into_iter().zip(figures) {
        if let Some(figure) = figure {
            part.write(&format!("{stem}.svg"), drawn(&figure))?;
        }
    }
    part.commit().map(drop)
}

/// The experiment of the analysis, with all overrides and options, for a result in `into`; `None` if the network is no
/// experiment, or an option is no key.
fn experiment(args: &CongestionArgs, into: &Path) -> Option<String> {
    let has_keys = args.tables.is_empty() && args.routing.is_empty() && args.fail.is_empty();
    if !has_keys || args.options.without_key().is_some() || !args.options.axes().is_empty() {
        return None;
    }
    let mut base = match args.fabric.as_deref() {
        Some(file) => Base::of_file(file).ok()?,
        None => Base::of_text("no experiment file", "", Path::new("")),
    };
    base.for_analyses = true;
    let sets: Vec<Override> = (args.options.sets().iter().chain(&args.sets))
        .map(|set| Override::typed(set))
        .collect();
    let empty = Override::typed("congestion={}");
    let given: Vec<&Override> = sets.iter().collect();
    let asked = resolve_with(&base, &given).ok();
    let asked = asked.filter(|plan| plan.experiment.congestion.is_some());
    let plan = asked.or_else(|| {
        let all: Vec<&Override> = std::iter::once(&empty).chain(given).collect();
        resolve_with(&base, &all).ok()
    })?;
    let hash = experiment_hash(&plan.experiment);
    Some(experiment_toml(&plan, &[], &hash, into, Vec::new()))
}

fn drawn(figure: &Figure) -> String {
    figure.draw(WIDTH, Theme::File)
}
