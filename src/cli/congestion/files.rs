//! The files of `flitwise congestion --out`.

use super::analysed::Analysed;
use super::args::CongestionArgs;
use super::document;
use super::repeated::Source;
use crate::cli::command_line;
use anyhow::Context;
use flitwise::figure::{Figure, Theme};
use flitwise::oblivious::{
    Distributions, Outcome, bandwidth_figure, cables_figure, congestion_figure, delay_figure,
    write_tables,
};
use flitwise::results::{ANALYSIS_FIGURES, ANALYSIS_FILE, COMMAND_FILE, EXPERIMENT_FILE};
use flitwise::run::{Check, check_figure, write_check_table};
use std::path::Path;

/// Width of figures in pixels.
const WIDTH: u32 = 720;
/// The number of cables for which connections are written, unless more are asked for.
pub(super) const CABLES_WITH_FLOWS: usize = 20;

/// Writes the files of an analysis into `dir`.
pub(super) fn write(
    dir: &Path,
    args: &CongestionArgs,
    source: &Source<'_>,
    results: &[Analysed],
) -> anyhow::Result<()> {
    let write = |name: &str, content: &[u8]| {
        let written = std::fs::write(dir.join(name), content);
        written.with_context(|| format!("cannot write `{name}`"))
    };
    let document = serde_json::to_string_pretty(&document::of(results)?)? + "\n";
    write(ANALYSIS_FILE, document.as_bytes())?;
    write(COMMAND_FILE, command_line::typed().as_bytes())?;
    write(EXPERIMENT_FILE, source.text(dir).as_bytes())?;
    let outcomes: Vec<Outcome<'_>> = results.iter().map(Analysed::outcome).collect();
    write_tables(dir, &outcomes, args.format)?;
    for (number, (one, outcome)) in (1..).zip(results.iter().zip(&outcomes)) {
        let name = |extension: &str| match results.len() {
            1 => format!("cables.{extension}"),
            _ => format!("cables-{number}.{extension}"),
        };
        let mut coloured = Vec::new();
        let cables = &one.analysis.cables;
        (one.candidate.network).write_coloured(&mut coloured, cables)?;
        write(&name("dot"), &coloured)?;
        if let Some(figure) = cables_figure(outcome, one.candidate.topology()) {
            write(&name("svg"), drawn(&figure).as_bytes())?;
        }
    }
    let checks: Vec<(&str, &Check)> = (results.iter())
        .filter_map(|one| Some((one.label.as_str(), one.check.as_ref()?)))
        .collect();
    write_check_table(dir, &checks, args.format)?;
    let spreads: Vec<Distributions<'_>> = outcomes.iter().map(Outcome::distributions).collect();
    let figures = [
        bandwidth_figure(&spreads),
        check_figure(&checks),
        congestion_figure(&spreads),
        delay_figure(&spreads),
    ];
    for (stem, figure) in ANALYSIS_FIGURES.into_iter().zip(figures) {
        if let Some(figure) = figure {
            write(&format!("{stem}.svg"), drawn(&figure).as_bytes())?;
        }
    }
    Ok(())
}

fn drawn(figure: &Figure) -> String {
    figure.draw(WIDTH, Theme::File)
}
