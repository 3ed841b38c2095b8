//! The page: figures, tables, configuration and commands in one HTML document that loads nothing.

mod congestion;
mod explanation;
mod facts;
mod interactions;
mod section;
mod tables;

use super::charts;
use super::charts::Kind;
use super::error::ReportError;
use super::source::Source;
use crate::figure::PALETTE_CSS;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use section::{Section, of_kind};
use serde::Serialize;

/// A section that shows figures: its anchor, its head, and the kinds in it.
type Figures = (&'static str, &'static str, &'static [Kind]);

/// The sections of runs and studies.
const SECTIONS: [Figures; 12] = [
    (
        "slowdown",
        "Slowdown",
        &[Kind::Slowdown, Kind::Interference],
    ),
    ("time", "Execution time", &[Kind::Time, Kind::Split]),
    ("differences", "Paired differences", &[Kind::Differences]),
    (
        "curves",
        "Throughput and latency",
        &[Kind::Throughput, Kind::Latency],
    ),
    ("energy", "Energy", &[Kind::Energy]),
    ("why", "Why it takes so long", &[Kind::Explanation]),
    ("ranks", "What the ranks do", &[Kind::Timeline]),
    (
        "communication",
        "Messages between ranks",
        &[Kind::Matrix, Kind::Messages],
    ),
    ("waits", "Waits between ranks", &[Kind::Waits]),
    ("links", "Links", &[Kind::Links]),
    (
        "latencies",
        "How latencies are distributed",
        &[Kind::Distribution],
    ),
    (
        "series",
        "Over time: flows and congestion control",
        &[Kind::Series],
    ),
];

/// The sections of static analyses.
const STATIC_SECTIONS: [Figures; 3] = [
    (
        "bandwidth",
        "Bandwidth and congestion of connections",
        &[Kind::Bandwidth, Kind::Congestion],
    ),
    ("delay", "Longest path through the levels", &[Kind::Delay]),
    ("cables", "Hot cables", &[Kind::Cables]),
];

/// A part of the page that is missing, and the command that adds it.
#[derive(Serialize)]
struct Missing {
    title: &'static str,
    what: &'static str,
    command: String,
}

/// The page about `sources`, called `title`, or by their names.
///
/// # Errors
/// If the template is broken, which tests exclude.
pub fn page(sources: &[Source], title: Option<&str>) -> Result<String, ReportError> {
    let mut sections: Vec<Section> = vec![facts::overview(sources)];
    let mut missing = Vec::new();
    let analyses = charts::analyses(sources).len();
    let of_runs = SECTIONS.iter().filter(|_| analyses < sources.len());
    let is_static = !charts::figures(Kind::Bandwidth, sources).is_empty();
    let of_analyses = STATIC_SECTIONS.iter().filter(|_| is_static);
    for &(id, title, kinds) in of_runs.chain(of_analyses) {
        match of_kind(id, title, kinds, sources) {
            Some(section) => sections.push(section),
            None if kinds
                .iter()
                .any(|kind| !charts::figures(*kind, sources).is_empty()) => {}
            None => {
                let (what, command) = charts::needs(kinds[0], sources);
                missing.push(Missing {
                    title,
                    what,
                    command,
                });
            }
        }
    }
    sections.extend(congestion::check(sources));
    if analyses < sources.len() {
        sections.push(facts::configuration(sources));
    }
    sections.push(facts::commands(sources));
    let names: Vec<&str> = sources.iter().map(Source::label).collect();
    let title = title.map_or_else(|| names.join(", "), str::to_owned);
    let page = context! {
        title,
        sections => Serde(&sections),
        missing => Serde(&missing),
        palette => PALETTE_CSS,
        style => include_str!("page.css"),
        script => include_str!("page.js"),
        figures => include_str!("figures.js"),
        version => env!("CARGO_PKG_VERSION"),
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let drawn = environment.render_str(include_str!("page.html"), page);
    drawn.map_err(|e| ReportError(format!("cannot make the page: {e:#}")))
}
