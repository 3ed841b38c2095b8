//! Tables of static analyses: the settings, the figures, the hot cables, and predictions beside the flit level.

use super::section::{Section, Table};
use super::tables::texts;
use crate::oblivious::{Spread, SpreadRow};
use crate::report::source::{CongestionSource, Source, analyses, networks};
use crate::results::document::{AnalysedNetwork, RankedCable};
use crate::run::Check;
use crate::run::Prediction;
use crate::units::{human_count, percent};

/// The most connections that a row of a cable names.
const MOST_FLOWS: usize = 8;
const NONE: &str = "–";

/// Writes the settings of the analysis, and the candidates side by side.
pub(super) fn overview(analysis: &CongestionSource, section: &mut Section) {
    let document = &analysis.document;
    let count = |number: Option<u64>, one: &str, more: &str| {
        number.map(|n| format!("{} {}", human_count(n), if n == 1 { one } else { more }))
    };
    let level = document.level.map(|level| format!("only level {level}"));
    let parts = [
        document.pattern.clone().map(|p| format!("pattern {p}")),
        count(document.ranks, "rank", "ranks"),
        count(document.levels, "level", "levels"),
        level,
        count(document.runs, "run", "runs"),
        document.seed.map(|seed| format!("seed {seed}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    section.lead.push(format!(
        "{}: {}. Figures are means ± half of their 95 % intervals.",
        analysis.label,
        parts.join(", ")
    ));
    section.tables.push(side_by_side(analysis));
}

/// A property of a network in a row of the overview; `None` if no network has it.
type Property<'a> = (&'a str, &'a dyn Fn(&AnalysedNetwork) -> Option<String>);

fn side_by_side(analysis: &CongestionSource) -> Table {
    let networks = &analysis.document.networks;
    let number = |n: u64| Some(human_count(n));
    let properties: [Property<'_>; 13] = [
        ("pattern", &|n| {
            let differs = Some(&n.pattern) != analysis.document.pattern.as_ref();
            (differs || networks.len() > 1).then(|| n.pattern.clone())
        }),
        ("hosts", &|n| number(n.hosts)),
        ("switches", &|n| number(n.switches)),
        ("cables", &|n| number(n.cables)),
        ("pairs of hosts", &|n| number(n.pairs)),
        ("pairs without a route", &|n| number(n.pairs_without_route)),
        ("pairs of the pattern left out", &|n| {
            (n.lost > 0).then(|| human_count(n.lost))
        }),
        ("routes on a cable between switches", &routes_between),
        ("longest route, cables", &|n| number(n.longest_route_cables)),
        ("failed", &failed),
        ("routes changed or lost", &|n| {
            n.failed.as_ref()?.routes_changed.map(human_count)
        }),
        ("VLs without a deadlock", &vls),
        ("worst permutation", &worst),
    ];
    let mut rows = Vec::new();
    for (name, of) in properties {
        let cells: Vec<Option<String>> = networks.iter().map(of).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells
                .into_iter()
                .map(|cell| cell.unwrap_or(NONE.to_owned()));
            rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
        }
    }
    for name in figure_names(networks) {
        let cell = |network: &AnalysedNetwork| {
            let row = figure_rows(network)
                .into_iter()
                .find(|row| row.name == name);
            // On one line, on phones too.
            let whole = |row: SpreadRow| row.mean_text().replace(' ', "\u{a0}");
            row.map_or(NONE.to_owned(), whole)
        };
        let cells = networks.iter().map(cell);
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    let mut head = vec![String::new()];
    head.extend(networks.iter().map(|network| network.label.clone()));
    Table {
        caption: format!("Networks: {}", analysis.label),
        head,
        rows,
    }
}

fn figure_rows(network: &AnalysedNetwork) -> Vec<SpreadRow> {
    network.figures.rows(network.loads_in_bytes)
}

/// Names of all figures, in the order of their appearance.
fn figure_names(networks: &[AnalysedNetwork]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for row in networks.iter().flat_map(figure_rows) {
        if !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    names
}

fn routes_between(network: &AnalysedNetwork) -> Option<String> {
    let least = network.least_routes_between_switches?;
    let most = network.most_routes_between_switches?;
    let [low, high] = [least, most].map(human_count);
    Some(if least == most {
        low
    } else {
        format!("{low} to {high}")
    })
}

fn failed(network: &AnalysedNetwork) -> Option<String> {
    let failed = network.failed.as_ref()?;
    Some(format!("{} cables, {} hosts", failed.cables, failed.hosts))
}

fn vls(network: &AnalysedNetwork) -> Option<String> {
    let vls = network.vls.as_ref()?;
    match vls.cycle_on_one {
        None => Some("1".to_owned()),
        Some(_) => vls.enough.map(|enough| enough.to_string()),
    }
}

fn worst(network: &AnalysedNetwork) -> Option<String> {
    let worst = network.worst_permutation.as_ref()?;
    let congestion = if worst.congestion == worst.bound {
        worst.congestion.to_string()
    } else {
        format!("{} to {}", worst.congestion, worst.bound)
    };
    let at = worst.at.as_ref();
    Some(at.map_or(congestion.clone(), |at| format!("{congestion}, at {at}")))
}

/// The figures with their quantiles over runs, a table for each network.
pub(super) fn figures(sources: &[Source]) -> Vec<Table> {
    let head = [
        "", "mean", "± 95 %", "least", "5 %", "median", "95 %", "most",
    ];
    let table = |caption: String, network: &AnalysedNetwork| {
        let row = |row: &SpreadRow| {
            let s: Spread = row.spread;
            let half = s.half_width.map_or(NONE.to_owned(), |half| row.text(half));
            let mut cells = vec![row.name.to_owned(), row.text(s.mean), half];
            cells.extend([s.least, s.p05, s.median, s.p95, s.most].map(|value| row.text(value)));
            cells
        };
        Table {
            caption,
            head: texts(&head),
            rows: figure_rows(network).iter().map(row).collect(),
        }
    };
    each(sources, |name, network| {
        Some(table(format!("Over runs: {name}"), network))
    })
}

/// The fullest cables, numbered as in the drawing, with the connections that cross them.
pub(super) fn hot_cables(sources: &[Source]) -> Vec<Table> {
    each(sources, |name, network| {
        let unit = if network.loads_in_bytes {
            "bytes"
        } else {
            "connections"
        };
        let head = [
            "cable",
            &format!("mean {unit} of a level"),
            "most",
            "in run, level",
            "then crossed by",
        ];
        let row = |(number, cable): (usize, &RankedCable)| {
            vec![
                format!("{number}: {} → {}", cable.from, cable.to),
                crate::units::number(cable.mean),
                human_count(cable.most),
                format!("{}, {}", cable.most_in_run, cable.most_in_level),
                crossed_by(cable),
            ]
        };
        let rows: Vec<_> = (1..).zip(&network.cables_ranked).map(row).collect();
        (!rows.is_empty()).then(|| Table {
            caption: format!("Fullest cables: {name}"),
            head: texts(&head),
            rows,
        })
    })
}

fn crossed_by(cable: &RankedCable) -> String {
    let flows = cable.flows.iter().take(MOST_FLOWS);
    let mut named: Vec<String> = flows
        .map(|flow| format!("{} → {}", flow.from, flow.to))
        .collect();
    let more = cable.crossed_by.saturating_sub(named.len() as u64);
    if more > 0 {
        named.push(format!("{} more", human_count(more)));
    }
    named.join(", ")
}

/// Predictions beside the flit level, if an analysis has them.
pub(super) fn check(sources: &[Source]) -> Option<Section> {
    let mut section = Section {
        id: "check".to_owned(),
        title: "Predictions and the flit level".to_owned(),
        ..Section::default()
    };
    section.tables = each(sources, |name, network| {
        Some(predictions(name, network.check.as_ref()?))
    });
    let checks = analyses(sources);
    let networks = checks.flat_map(|analysis| &analysis.document.networks);
    for check in networks.filter_map(|network| network.check.as_ref()) {
        section.lead.push(words(check));
    }
    (!section.tables.is_empty()).then_some(section)
}

fn words(check: &Check) -> String {
    let sum = |of: fn(&crate::run::Completion) -> u64| -> f64 {
        let levels = check.levels.iter();
        levels.map(|level| of(&level.completion) as f64).sum()
    };
    let simulated = sum(|c| c.simulated_ps);
    let predicted = sum(|c| c.by_congestion_ps);
    let mut words = format!(
        "Simulated flit by flit: {} {}, messages of {} B, payload {} of a link.",
        check.runs,
        if check.runs == 1 { "run" } else { "runs" },
        check.lengths.message_bytes,
        percent(check.payload_efficiency)
    );
    if predicted > 0.0 {
        words += &format!(
            " One message each, level by level, takes {:.3} µs, {:.3} times what the largest congestions predict.",
            simulated / 1e6,
            simulated / predicted
        );
    }
    if check.runs > 1 {
        let error = |spread: &Spread| {
            let half = spread.half_width.unwrap_or_default();
            format!("{:+.2} ± {:.2} %", 100.0 * spread.mean, 100.0 * half)
        };
        words += &format!(
            " The relative error of the mean, run by run, is {} for 1/congestion and {} for the fair share.",
            error(&check.over_runs.by_congestion),
            error(&check.over_runs.by_fair_share)
        );
    }
    words
}

fn predictions(name: String, check: &Check) -> Table {
    Table {
        caption: format!("Bandwidth of connections, predicted and simulated: {name}"),
        head: texts(&Prediction::HEADER),
        rows: vec![
            check.by_congestion.row("1/congestion", NONE),
            check.by_fair_share.row("max-min fair share", NONE),
        ],
    }
}

/// A table of each network that has one.
fn each(
    sources: &[Source],
    table: impl Fn(String, &AnalysedNetwork) -> Option<Table>,
) -> Vec<Table> {
    let tables = networks(sources).filter_map(|(name, _, network)| table(name, network));
    tables.collect()
}
