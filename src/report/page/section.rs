//! Sections of the page, as its template takes them.

use super::{congestion, explanation, interactions, tables};
use crate::figure::{Chart, Figure, Theme};
use crate::report::charts::{FigureKind, details, of_page};
use crate::report::source::{RunSource, Source};
use serde::Serialize;

/// Width of figures on a wide screen and on paper, in pixels.
const WIDE: u32 = 920;
/// Width on a phone.
const NARROW: u32 = 350;
/// A drawing beyond this size is included only once; on a phone it scrolls.
const LARGE: usize = 150_000;

/// A section.
#[derive(Debug, Default, Serialize)]
pub(super) struct Section {
    pub id: String,
    pub title: String,
    /// Paragraphs.
    pub lead: Vec<String>,
    pub figures: Vec<Shown>,
    pub tables: Vec<Table>,
    /// Text to be copied: commands, files.
    pub texts: Vec<Text>,
}

/// A figure.
#[derive(Debug, Default, Serialize)]
pub(super) struct Shown {
    pub title: String,
    pub note: String,
    pub wide: String,
    /// For narrow screens; empty: the wide one scrolls.
    pub narrow: String,
    pub table: Option<Table>,
}

/// A table; the first column names its rows.
#[derive(Debug, Default, Serialize)]
pub(super) struct Table {
    pub caption: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A text to be copied.
#[derive(Debug, Default, Serialize)]
pub(super) struct Text {
    pub title: String,
    pub text: String,
    /// Closed until it is asked for.
    pub closed: bool,
}

/// The section of kinds with the same heading; `None` if there is nothing to show.
pub(super) fn of_kinds(kinds: &[FigureKind], sources: &[Source]) -> Option<Section> {
    let found = kinds.iter().flat_map(|kind| of_page(*kind, sources));
    // A single bar adds nothing to the overview, which has no differences.
    let found: Vec<Figure> = found.filter(|figure| !is_single_bar(figure)).collect();
    let first = kinds[0];
    let tables = match first {
        FigureKind::Bandwidth => congestion::figures(sources),
        FigureKind::Cables => congestion::hot_cables(sources),
        FigureKind::Differences => interactions::tables(sources),
        _ => Vec::new(),
    };
    if found.is_empty() && tables.is_empty() {
        return None;
    }
    let heading = first.heading();
    let mut section = Section {
        id: heading.anchor.to_owned(),
        title: heading.title.to_owned(),
        figures: found.iter().map(shown).collect(),
        tables,
        ..Section::default()
    };
    section.explain(first, sources);
    for run in details(sources) {
        section.add_details(first, run);
    }
    if let [Source::Run(only)] = sources {
        section.leave_out(&only.label);
    }
    Some(section)
}

impl Section {
    /// Adds the remarks that figures of this kind need.
    fn explain(&mut self, kind: FigureKind, sources: &[Source]) {
        if kind == FigureKind::Cables && self.figures.is_empty() {
            let why =
                "There is no drawing without cables.csv: `--format both` writes it beside Parquet.";
            self.lead.push(why.to_owned());
        }
        let mut sources = sources.iter();
        let studied = sources.any(|source| matches!(source, Source::Study(_)));
        let of_runs = matches!(
            kind,
            FigureKind::Links
                | FigureKind::Distribution
                | FigureKind::Matrix
                | FigureKind::Timeline
                | FigureKind::Explanation
        );
        if studied && of_runs {
            let which = "Of a study its slowest run is shown: the one with the largest slowdown, or without a baseline \
                         the longest.";
            self.lead.push(which.to_owned());
        }
        if kind == FigureKind::Differences && self.has_ties() {
            let ties = "In tables, a difference in brackets is a tie: its interval contains 0.";
            self.lead.push(ties.to_owned());
        }
    }

    /// Adds the tables of a run.
    fn add_details(&mut self, kind: FigureKind, run: &RunSource) {
        match kind {
            FigureKind::Links => self.tables.extend(tables::links(run)),
            FigureKind::Explanation => {
                let compared = explanation::compared(run);
                let compared = compared.map(|words| format!("{}: {words}", run.label));
                self.lead.extend(compared);
                self.tables.extend(explanation::tables(run));
            }
            FigureKind::Distribution => self.tables.extend(tables::latencies(run)),
            _ => {}
        }
    }

    fn has_ties(&self) -> bool {
        let of_figures = self
            .figures
            .iter()
            .filter_map(|figure| figure.table.as_ref());
        let mut rows = of_figures.chain(&self.tables).flat_map(|table| &table.rows);
        rows.any(|row| row.iter().skip(1).any(|cell| cell.starts_with('(')))
    }

    /// Leaves the name of the only run out of titles: the page has it at the top.
    fn leave_out(&mut self, name: &str) {
        let end = format!(": {name}");
        let shorten = |title: &mut String| {
            if let Some(rest) = title.strip_suffix(&end) {
                *title = rest.to_owned();
            }
        };
        for figure in &mut self.figures {
            shorten(&mut figure.title);
            if let Some(table) = &mut figure.table {
                shorten(&mut table.caption);
            }
        }
        for table in &mut self.tables {
            shorten(&mut table.caption);
        }
    }
}

fn is_single_bar(figure: &Figure) -> bool {
    match &figure.chart {
        Chart::Bars(bars) if !bars.signed => {
            let groups = bars.panels.iter().flat_map(|panel| &panel.groups);
            groups.flat_map(|group| &group.bars).flatten().count() < 2
        }
        _ => false,
    }
}

fn shown(figure: &Figure) -> Shown {
    let wide = figure.draw(WIDE, Theme::Page);
    let folds = !matches!(figure.chart, Chart::Network(_)) && wide.len() <= LARGE;
    Shown {
        title: figure.title.clone(),
        note: figure.note.clone(),
        narrow: if folds {
            figure.draw(NARROW, Theme::Page)
        } else {
            String::new()
        },
        wide,
        table: tables::of_figure(figure),
    }
}
