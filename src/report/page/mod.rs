//! The page: figures, tables, configuration and commands in one HTML document that loads nothing.

mod congestion;
mod explanation;
mod facts;
mod interactions;
mod section;
mod tables;

use super::charts;
use super::charts::FigureKind;
use super::error::ReportError;
use super::source::{Source, analyses};
use crate::figure::PALETTE_CSS;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use section::{Section, of_kinds};
use serde::Serialize;

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
    let analyses = analyses(sources).count();
    let has_runs = analyses < sources.len();
    let is_static = !charts::figures(FigureKind::Bandwidth, sources).is_empty();
    for kinds in FigureKind::ALL.chunk_by(|a, b| a.heading() == b.heading()) {
        let heading = kinds[0].heading();
        let is_asked = if heading.of_analyses {
            is_static
        } else {
            has_runs
        };
        if !is_asked {
            continue;
        }
        match of_kinds(kinds, sources) {
            Some(section) => sections.push(section),
            None if kinds
                .iter()
                .any(|kind| !charts::figures(*kind, sources).is_empty()) => {}
            None => {
                let (what, command) = charts::needs(kinds[0], sources);
                missing.push(Missing {
                    title: heading.title,
                    what,
                    command,
                });
            }
        }
    }
    sections.extend(congestion::check(sources));
    if has_runs {
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
