//! The files of `flitwise congestion --out`.

use super::{Analysed, CongestionArgs, document};
use crate::cli::{CliError, command_line, json_text, unwritable};
use flitwise::figure::{Figure, Theme};
use flitwise::oblivious::{
    Distributions, Outcome, bandwidth_figure, cables_figure, congestion_figure, delay_figure,
    write_tables,
};
use flitwise::results::COMMAND_FILE;
use flitwise::run::{Check, check_figure, write_check_table};
use flitwise_formats::sink::Sink;
use std::io::Write;
use std::path::Path;

/// Width of figures in pixels.
const WIDTH: u32 = 720;
/// The number of cables for which connections are written, unless more are asked for.
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
    let document = json_text(&document::of(results).map_err(unwritable)?)?;
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("congestion.json".into(), document.into_bytes()),
        (COMMAND_FILE.into(), command_line::typed().into_bytes()),
    ];
    let outcomes: Vec<Outcome<'_>> = results.iter().map(Analysed::outcome).collect();
    write_tables(dir, &outcomes, args.format).map_err(|e| CliError::Failed(format!("{e:#}")))?;
    for (number, (one, outcome)) in (1..).zip(results.iter().zip(&outcomes)) {
        let name = |extension: &str| match results.len() {
            1 => format!("cables.{extension}"),
            _ => format!("cables-{number}.{extension}"),
        };
        let mut coloured = Vec::new();
        let cables = &one.analysis.cables;
        let written = one.candidate.network.write_coloured(&mut coloured, cables);
        written.map_err(|e| failed(&dir.join(name("dot")), &e))?;
        files.push((name("dot"), coloured));
        let figure = cables_figure(outcome, one.candidate.topology());
        files.extend(figure.map(|figure| (name("svg"), drawn(&figure))));
    }
    let checks: Vec<(&str, &Check)> = (results.iter())
        .filter_map(|one| Some((one.label.as_str(), one.check.as_ref()?)))
        .collect();
    write_check_table(dir, &checks, args.format).map_err(|e| CliError::Failed(format!("{e:#}")))?;
    let spreads: Vec<Distributions<'_>> = outcomes.iter().map(Outcome::distributions).collect();
    let figures = [
        ("bandwidth.svg", bandwidth_figure(&spreads)),
        ("congestion.svg", congestion_figure(&spreads)),
        ("delay.svg", delay_figure(&spreads)),
        ("check.svg", check_figure(&checks)),
    ];
    for (name, figure) in figures {
        files.extend(figure.map(|figure| (name.to_owned(), drawn(&figure))));
    }
    remove_stale(dir, &files).map_err(|e| failed(dir, &e))?;
    for (name, content) in files {
        let path = dir.join(name);
        let mut sink = Sink::create(&path).map_err(|e| failed(&path, &e))?;
        sink.write_all(&content).map_err(|e| failed(&path, &e))?;
        sink.finish().map_err(|e| failed(&path, &e))?;
    }
    Ok(())
}

/// Removes the drawings and checks that an earlier analysis left in `dir` and this one does not write.
fn remove_stale(dir: &Path, files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some((stem, "svg" | "dot")) = name.split_once('.') else {
            continue;
        };
        let of_candidate = stem.strip_prefix("cables-");
        let known = ["bandwidth", "cables", "check", "congestion", "delay"].contains(&stem)
            || of_candidate.is_some_and(|number| number.parse::<usize>().is_ok());
        if known && files.iter().all(|(written, _)| written != name) {
            std::fs::remove_file(dir.join(name))?;
        }
    }
    Ok(())
}

fn drawn(figure: &Figure) -> Vec<u8> {
    figure.draw(WIDTH, Theme::File).into_bytes()
}
