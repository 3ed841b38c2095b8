//! The tables and the figure of `docs/evidence/performance.md`, from the newest record.

use crate::bless;
use flitwise::figure::{Axis, BarGroup, BarPanel, Bars, Chart, Estimate, Figure, Theme};
use flitwise::units::number;
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A row of a record, as the benchmarks write it.
#[derive(Deserialize)]
struct Measured {
    program: String,
    group: String,
    case: String,
    unit: String,
    median: f64,
}

/// A row of the table of budgets.
struct Budget {
    case: &'static str,
    what: &'static str,
    /// Two bounds in the unit of the case, the required one and the goal: the most seconds, or the lowest rate.
    bounds: [f64; 2],
}

const fn budget(case: &'static str, what: &'static str, bounds: [f64; 2]) -> Budget {
    Budget { case, what, bounds }
}

const BUDGETS: [Budget; 9] = [
    budget("1a 0.4", "`opasim`, 8×8 torus, load 0.4", [90.0, 120.0]),
    budget("1a 0.1", "the same at 0.1", [90.0, 120.0]),
    budget(
        "1b 0.7",
        "`opa-gen1`, 512 NICs, five SLs, DTable",
        [125.0, 160.0],
    ),
    budget("1f idle 65536", "a tree read and built", [10.0, 3.0]),
    budget("3c 0.4", "1a on `voq` switches", [160.0, 220.0]),
    budget("iq 0.4", "1a on `input-queued` switches", [100.0, 100.0]),
    budget("1e hpl", "HPL of 64 ranks, with its baseline", [1.2, 0.5]),
    budget("1g all-to-all", "100 among 64 ranks", [5.0, 2.6]),
    budget("1g halo", "1,000 exchanges among them", [1.0, 0.5]),
];

/// The cases that other simulators run, too: their name there, and ours of each of our switches.
const SHARED: [(&str, [Option<&str>; 3]); 3] = [
    (
        "8×8 torus, 0.4",
        [Some("1a 0.4"), Some("3c 0.4"), Some("iq 0.4")],
    ),
    ("8×8 torus, 0.1", [Some("1a 0.1"), Some("3c 0.1"), None]),
    ("512-node tree, 0.4", [Some("1c tree 512"), None, None]),
];
const SWITCHES: [&str; 3] = ["hierarchical", "`voq`", "`input-queued`"];
const US: &str = "Flitwise";

fn find<'a>(measured: &'a [Measured], program: &str, case: &str) -> Option<&'a Measured> {
    (measured.iter()).find(|row| row.program == program && row.case == case)
}

/// The budgets beside the medians; a bound that does not hold is bold.
fn budgets(measured: &[Measured]) -> String {
    let mut text = String::from("| case | what | median | must | goal |\n|---|---|---|---|---|\n");
    for Budget { case, what, bounds } in &BUDGETS {
        let Some(row) = find(measured, US, case) else {
            continue;
        };
        let is_rate = row.unit.ends_with("/s");
        let [must, goal] = bounds.map(|bound| {
            let holds = if is_rate {
                row.median >= bound
            } else {
                row.median <= bound
            };
            if holds {
                bound.to_string()
            } else {
                format!("**{bound}**")
            }
        });
        let unit = if is_rate { "M" } else { "s" };
        let median = number(row.median);
        let _ = writeln!(
            text,
            "| {case} | {what} | {median} {unit} | {must} | {goal} |"
        );
    }
    text
}

/// Programs that ran shared cases, with the median of each.
fn programs(measured: &[Measured]) -> Vec<(String, [Option<f64>; SHARED.len()])> {
    let ours = SWITCHES.iter().enumerate().map(|(at, switch)| {
        let medians = SHARED.map(|(_, cases)| Some(find(measured, US, cases[at]?)?.median));
        (format!("{US}, {switch}"), medians)
    });
    let mut programs: Vec<_> = ours.collect();
    let mut others: Vec<&str> = (measured.iter())
        .filter(|row| row.group == "peers")
        .map(|row| row.program.as_str())
        .collect();
    others.dedup();
    programs.extend(others.into_iter().map(|program| {
        let medians = SHARED.map(|(case, _)| Some(find(measured, program, case)?.median));
        (program.to_owned(), medians)
    }));
    programs
}

fn peers(measured: &[Measured]) -> String {
    let mut text = String::from("| M flit-hops/s |");
    for (case, _) in SHARED {
        let _ = write!(text, " {case} |");
    }
    text += "\n|---|---|---|---|\n";
    for (program, medians) in programs(measured) {
        let cells = medians.map(|median| median.map_or_else(|| "–".to_owned(), number));
        let _ = writeln!(text, "| {program} | {} |", cells.join(" | "));
    }
    text
}

fn figure(date: &str, measured: &[Measured]) -> String {
    let programs = programs(measured);
    let groups = (SHARED.iter().enumerate()).map(|(at, (case, _))| BarGroup {
        name: (*case).to_owned(),
        bars: (programs.iter())
            .map(|(_, medians)| medians[at].map(|mean| Estimate { mean, half: None }))
            .collect(),
    });
    let bars = Bars {
        axis: Axis::new("rate", "M flit-hops per CPU second"),
        log: true,
        groups: "case".to_owned(),
        series: programs
            .iter()
            .map(|(name, _)| name.replace('`', ""))
            .collect(),
        panels: vec![BarPanel {
            name: String::new(),
            groups: groups.collect(),
        }],
        ..Bars::default()
    };
    let figure = Figure {
        title: "Speed beside other simulators".to_owned(),
        note: format!("One thread each, on one machine, {date}."),
        chart: Chart::Bars(bars),
    };
    figure.draw(760, Theme::File)
}

/// The date of the newest record, and its rows.
fn newest() -> (String, Vec<Measured>) {
    let records = std::fs::read_dir(Path::new(ROOT).join("benches/records")).unwrap();
    let newest = records.map(|entry| entry.unwrap().path()).max().unwrap();
    let date = newest.file_stem().unwrap().to_string_lossy().into_owned();
    let rows = csv::Reader::from_path(&newest).unwrap().into_deserialize();
    (date, rows.map(|row| row.unwrap()).collect())
}

/// `text` with another table behind the comment with its name.
fn replaced(text: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- measured: {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap();
    let behind = &rest[rest.find("\n\n").unwrap() + 1..];
    format!("{before}{begin}{table}{behind}")
}

#[test]
fn the_page_shows_the_newest_record() {
    let (date, measured) = newest();
    let page = Path::new(ROOT).join("docs/evidence/performance.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let text = replaced(&text, "budgets", &budgets(&measured));
    let text = replaced(&text, "peers", &peers(&measured));
    let drawn = Path::new(ROOT).join("docs/evidence/performance/speed.svg");
    for (file, wanted) in [(page, text), (drawn, figure(&date, &measured))] {
        if bless::is_on() {
            bless::write(&file, &wanted);
        }
        let is = std::fs::read_to_string(&file).unwrap();
        assert!(
            is == wanted,
            "{}: FLITWISE_BLESS=1 writes it",
            file.display()
        );
    }
}
