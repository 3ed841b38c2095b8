//! The files of `flitwise congestion --out`.

use super::{Analysed, CongestionArgs, document};
use crate::cli::{CliError, command_line};
use flitwise::figure::Theme;
use flitwise::oblivious::{
    Distributions, Outcome, bandwidth_figure, congestion_figure, delay_figure, write_tables,
};
use flitwise::results::COMMAND_FILE;
use flitwise_formats::sink::Sink;
use std::io::Write;
use std::path::Path;

/// Width of figures in pixels.
const WIDTH: u32 = 720;
/// Cables whose connections are written, unless more are asked for.
pub(super) const CABLES_WITH_FLOWS: usize = 20;

pub(super) fn write(
    dir: &Path,
    args: &CongestionArgs,
    results: &[Analysed],
) -> Result<(), CliError> {
    let failed = |what: &Path, e: &dyn std::fmt::Display| {
        CliError::Failed(format!("cannot write `{}`: {e}", what.display()))
    };
    std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    let document = format!("{:#}\n", document::of(results));
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("congestion.json".into(), document.into_bytes()),
        (COMMAND_FILE.into(), command_line::typed().into_bytes()),
    ];
    let outcomes: Vec<Outcome<'_>> = results.iter().map(Analysed::outcome).collect();
    write_tables(dir, &outcomes, args.format.into())
        .map_err(|e| CliError::Failed(format!("{e:#}")))?;
    for (number, one) in (1..).zip(results) {
        let name = match results.len() {
            1 => "cables.dot".to_owned(),
            _ => format!("cables-{number}.dot"),
        };
        let mut drawing = Vec::new();
        let written = one
            .candidate
            .network
            .write_coloured(&mut drawing, &one.analysis.cables);
        written.map_err(|e| failed(&dir.join(&name), &e))?;
        files.push((name, drawing));
    }
    let spreads: Vec<Distributions<'_>> = outcomes.iter().map(Outcome::distributions).collect();
    let figures = [
        ("bandwidth.svg", bandwidth_figure(&spreads)),
        ("congestion.svg", congestion_figure(&spreads)),
        ("delay.svg", delay_figure(&spreads)),
    ];
    for (name, figure) in figures {
        let drawn = figure.map(|figure| figure.draw(WIDTH, Theme::File).into_bytes());
        files.extend(drawn.map(|drawn| (name.to_owned(), drawn)));
    }
    for (name, content) in files {
        let path = dir.join(name);
        let mut sink = Sink::create(&path).map_err(|e| failed(&path, &e))?;
        sink.write_all(&content).map_err(|e| failed(&path, &e))?;
        sink.finish().map_err(|e| failed(&path, &e))?;
    }
    Ok(())
}
